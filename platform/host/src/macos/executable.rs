//! What the kernel makes of the file of a program, before anything of it runs: `man 2 execve`.

use std::ffi::CString;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// `#!` lines that the kernel follows: an interpreter must not be a script itself (`exec_shell_imgact`).
pub const MOST_INTERPRETERS: usize = 1;
/// As much of a file's start does the kernel look at, in bytes, `#!` included (IMG_SHSIZE).
pub const FIRST_LINE: usize = 512;
/// Where programs are looked for when PATH is not set (`_PATH_DEFPATH`).
pub const DEFAULT_PATH: &str = "/usr/bin:/bin";

/// What a process gains by executing a file. For such a process dyld ignores inserted libraries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privilege {
    /// The setuid bit: it becomes this user.
    User(u32),
    /// The setgid bit: it becomes of this group.
    Group(u32),
    /// File capabilities: not on this system.
    Capabilities,
}

/// Opens a regular file for reading. Never waits, and never touches anything else: opening a device may do something,
/// and opening a FIFO waits for its writer.
///
/// # Errors
/// The system's; `InvalidInput` for what is not a regular file.
pub fn open(path: &Path) -> io::Result<File> {
    let regular = |metadata: &Metadata| {
        if metadata.is_file() { Ok(()) } else { Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")) }
    };
    regular(&std::fs::metadata(path)?)?;
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    // It may be another by now.
    regular(&file.metadata()?)?;
    Ok(file)
}

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

/// The kernel's size of a page, in bytes.
pub fn page_size() -> u64 {
    // SAFETY: asks for a number.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(0)
}
