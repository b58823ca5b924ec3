//! What there is to ask on macOS, where nothing of the machine is in files: its limits and the size of its pages.

use crate::machine::{CLibrary, Confinement, Limits, Memory};
use std::io;
use std::path::Path;

/// Whether there is /proc, /sys, and what is in them.
pub const HAS_PROC: bool = false;

/// Asks for the limits; they are in no file, and `root` does not matter.
///
/// # Errors
/// When the system does not answer.
pub fn limits(_root: &Path) -> io::Result<Limits> {
    Ok(Limits {
        address_space: limit(libc::RLIMIT_AS)?,
        data: limit(libc::RLIMIT_DATA)?,
        stack: limit(libc::RLIMIT_STACK)?,
        file_size: limit(libc::RLIMIT_FSIZE)?,
        core: limit(libc::RLIMIT_CORE)?,
    })
}

fn limit(which: libc::c_int) -> io::Result<Option<u64>> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a rlimit that the call may write.
    if unsafe { libc::getrlimit(which, &raw mut limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur))
}

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
