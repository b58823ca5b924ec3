//! All of jeshim that differs by operating system, behind one interface: the only place with `cfg(target_os)`.
//!
//! | module | Linux | macOS |
//! |---|---|---|
//! | [`binding`] | which object a name resolves to | whether malloc zone 0 is jemalloc's |
//! | [`cpus`] | affinity, cgroup v2 and v1 quota | (no quotas) |
//! | [`install`] | nothing: symbols interpose | gives jemalloc its options, registers its zone |
//! | [`process`] | pid, program, environment, privilege | the same by other means |
//! | [`record`] | a file that is also a shared mapping | the same |
//! | `kernel` | system calls without libc | - |
//! | `thread` | per-thread counter, "is this thread being torn down?" | - |
//! | `vdso` | the clock without system call or libc | - |
//!
//! Nothing here panics, and nothing allocates or takes a lock but [`binding`], as its documentation says: most of it
//! runs while jemalloc initialises, inside `fork`, or at the very end of a process.
#![no_std]

mod environment;
pub mod text;
mod zone;

#[cfg_attr(target_os = "linux", path = "linux/mod.rs")]
#[cfg_attr(target_os = "macos", path = "macos/mod.rs")]
mod system;

pub use system::{binding, cpus, install, process, record};
/// What only Linux has: the seams of the library (linker wraps) are built on it.
#[cfg(target_os = "linux")]
pub use system::{kernel, thread, vdso};
pub use zone::Zone;

use core::ffi::{CStr, c_char, c_void};

/// Whose definition of a name the process uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// This library's.
    Ours,
    /// That of another object, with its path as the dynamic linker knows it.
    Other(&'static CStr),
    /// Nobody's.
    Nobody,
}

/// What jemalloc is to find when it starts, on a system where no seams of the linker lead its questions to the library.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// For its variable `malloc_conf`: NULL or a C string that stays.
    pub conf: *mut c_char,
    /// For its variable `malloc_conf_2_conf_harder`, which wins over every other source.
    pub conf_harder: *mut c_char,
    /// For its variable `malloc_message`: what its messages are given to.
    pub message: unsafe extern "C" fn(*mut c_void, *const c_char),
}

/// An error number of the operating system (`errno.h`), always positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);

impl Errno {
    /// Why a file that has to be new cannot be created under a name that exists: EEXIST for a regular file, ELOOP for a
    /// symbolic link, EISDIR for a directory, ENXIO for anything else.
    pub(crate) fn of_taken_name(path: &CStr) -> Errno {
        let mut status = core::mem::MaybeUninit::<libc::stat>::zeroed();
        // SAFETY: `path` is a C string and `status` writable; zeroed is a valid value of it.
        let kind = unsafe {
            libc::lstat(path.as_ptr(), status.as_mut_ptr());
            status.assume_init().st_mode & libc::S_IFMT
        };
        match kind {
            libc::S_IFLNK => Errno(libc::ELOOP),
            libc::S_IFDIR => Errno(libc::EISDIR),
            libc::S_IFREG => Errno(libc::EEXIST),
            _ => Errno(libc::ENXIO),
        }
    }

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
            libc::EFBIG => ("the limit on the size of files is too small", "raise it (ulimit -f)"),
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
