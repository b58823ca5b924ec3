//! What there is to ask on macOS, where nothing of the machine is in files: the size of its pages.

use crate::machine::{CLibrary, Confinement, Memory};
use std::io;
use std::path::Path;

/// Whether there is /proc, /sys, and what is in them.
pub const HAS_PROC: bool = false;

/// Not asked for here.
///
/// # Errors
/// Always.
pub fn memory(_root: &Path) -> io::Result<Memory> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Not asked for here.
///
/// # Errors
/// Always.
pub fn confinement(_root: &Path) -> io::Result<Confinement> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The system's own.
pub fn c_library() -> CLibrary {
    CLibrary::Other
}

/// The size of the kernel's pages, in bytes.
pub fn page_size() -> u64 {
    // SAFETY: takes and gives a number.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(size).unwrap_or(0)
}
