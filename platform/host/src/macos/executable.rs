//! What the kernel makes of the file of a program, before anything of it runs: `man 2 execve`.

use crate::executable::Privilege;
use std::ffi::CString;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// `#!` lines that the kernel follows: an interpreter must not be a script itself (`exec_shell_imgact`).
pub const MOST_INTERPRETERS: usize = 1;
/// As much of a file's start does the kernel look at, in bytes, `#!` included (IMG_SHSIZE).
pub const FIRST_LINE: usize = 512;
/// Where programs are looked for when PATH is not set (`_PATH_DEFPATH`).
pub const DEFAULT_PATH: &str = "/usr/bin:/bin";

/// Whether this process may execute the file.
pub fn may_execute(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: a string that ends with a zero and outlives the call.
    unsafe { libc::access(path.as_ptr(), libc::X_OK) == 0 }
}

/// What this process would gain by executing the file.
pub fn privilege(_path: &Path, metadata: &Metadata) -> Option<Privilege> {
    // SAFETY: asks for two numbers.
    let (user, group) = unsafe { (libc::getuid(), libc::getgid()) };
    let mode = metadata.permissions().mode();
    if mode & u32::from(libc::S_ISUID) != 0 && metadata.uid() != user {
        return Some(Privilege::User(metadata.uid()));
    }
    (mode & u32::from(libc::S_ISGID) != 0 && metadata.gid() != group).then(|| Privilege::Group(metadata.gid()))
}
