//! All of jeshim that differs by operating system, behind one interface: the only place with `cfg(target_os)`.
//!
//! | module | Linux | macOS |
//! |---|---|---|
//! | [`binding`] | which object a name resolves to | whether malloc zone 0 is jemalloc's |
//! | [`cpus`] | affinity, cgroup v2 and v1 quota | (no quotas) |
//! | [`install`] | nothing: symbols interpose | registers jemalloc's zone |
//! | [`process`] | pid, program, environment, privilege | the same by other means |
//! | [`record`] | a file that is also a shared mapping | the same |
//! | `kernel` | system calls without libc | - |
//! | `thread` | per-thread counter, "is this thread being torn down?" | - |
//! | `vdso` | the clock without system call or libc | - |
//!
//! Nothing here panics, and nothing allocates or takes a lock but [`binding`], as its documentation says: most of it
//! runs while jemalloc initialises, inside `fork`, or at the very end of a process.
#![no_std]

pub mod text;

#[cfg_attr(target_os = "linux", path = "linux/mod.rs")]
#[cfg_attr(target_os = "macos", path = "macos/mod.rs")]
mod system;

pub use system::{binding, cpus, install, process, record};
/// What only Linux has: the seams of the library (linker wraps) are built on it.
#[cfg(target_os = "linux")]
pub use system::{kernel, thread, vdso};

/// An error number of the operating system (`errno.h`), always positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);

impl Errno {
    /// What went wrong and what to do about it, for the errors that creating or writing a file can give. Not
    /// `strerror`: that may allocate and depends on the locale.
    #[must_use]
    pub fn cause_and_remedy(self) -> (&'static str, &'static str) {
        match self.0 {
            libc::ENOENT => ("no such directory", "create the directory or name another path"),
            libc::ENOTDIR => ("a part of the path is not a directory", "correct the path"),
            libc::EACCES | libc::EPERM => ("permission denied", "name a directory that this user may write to"),
            libc::EROFS => ("the file system is read-only", "name a path on a writable file system"),
            libc::ENOSPC | libc::EDQUOT => ("no space left", "free some space or name another path"),
            libc::ENAMETOOLONG => ("the path is too long", "name a shorter path"),
            libc::ELOOP => ("a symbolic link has this name and is not followed", "name the file itself"),
            libc::EISDIR => ("it is a directory", "name a file"),
            libc::ENXIO => ("a device, FIFO or socket has this name", "name a file"),
            libc::EEXIST => ("the file and its numbered successors exist", "remove old records or use %p in the path"),
            libc::EMFILE | libc::ENFILE => ("too many open files", "raise the limit on open files"),
            libc::ENODEV | libc::EINVAL => ("the file system cannot map files", "name a path on a local file system"),
            _ => ("the system refused", "name another path"),
        }
    }
}
