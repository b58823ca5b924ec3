//! What Linux says about itself and about this process. Everything that is a file is read below a root folder, so that
//! tests can lay one out.

use crate::machine::{CLibrary, Confinement, Memory};
use procfs::process::Status;
use procfs::{FromRead, Meminfo};
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Whether there is /proc, /sys, and what is in them.
pub const HAS_PROC: bool = true;

/// The path of a file of the system below `root`.
fn below(root: &Path, absolute: &str) -> PathBuf {
    root.join(absolute.trim_start_matches('/'))
}

fn parse<T: FromRead>(root: &Path, absolute: &str) -> io::Result<T> {
    let file = File::open(below(root, absolute))?;
    T::from_read(file).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
}

/// Reads `/proc/meminfo`.
///
/// # Errors
/// When it cannot be read.
pub fn memory(root: &Path) -> io::Result<Memory> {
    let memory: Meminfo = parse(root, "/proc/meminfo")?;
    Ok(Memory {
        total: memory.mem_total,
        swap: memory.swap_total,
        commit_limit: memory.commit_limit,
        committed: memory.committed_as,
    })
}

const CAP_SYS_PTRACE: u64 = 1 << 19;

/// Reads `/proc/self/status`.
///
/// # Errors
/// When it cannot be read.
pub fn confinement(root: &Path) -> io::Result<Confinement> {
    let status: Status = parse(root, "/proc/self/status")?;
    Ok(Confinement {
        seccomp: status.seccomp,
        no_new_privileges: status.nonewprivs == Some(1),
        cpus_allowed: status.cpus_allowed_list.map(|ranges| {
            ranges
                .iter()
                .fold(0_u32, |sum, (first, last)| sum.saturating_add(last.saturating_sub(*first).saturating_add(1)))
        }),
        may_trace_all: status.capeff & CAP_SYS_PTRACE != 0,
    })
}

/// Asks the C library for its version.
pub fn c_library() -> CLibrary {
    glibc_version().unwrap_or(CLibrary::Other)
}

#[cfg(target_env = "gnu")]
fn glibc_version() -> Option<CLibrary> {
    // SAFETY: no arguments; the result is a static C string (gnu/libc-version.h).
    let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
    let mut numbers = version.to_str().ok()?.split('.');
    let (major, minor) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    Some(CLibrary::Glibc(major, minor))
}

#[cfg(not(target_env = "gnu"))]
fn glibc_version() -> Option<CLibrary> {
    None
}

/// The size of the kernel's pages, in bytes.
pub fn page_size() -> u64 {
    rustix::param::page_size() as u64
}
