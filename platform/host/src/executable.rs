//! What the system makes of the file of a program, before anything of it runs.

pub use crate::system::executable::{DEFAULT_PATH, FIRST_LINE, MOST_INTERPRETERS, may_execute, privilege};
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// What a process gains by executing a file. For such a process the dynamic linker ignores preloaded libraries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privilege {
    /// The setuid bit: it becomes this user.
    User(u32),
    /// The setgid bit: it becomes of this group.
    Group(u32),
    /// File capabilities (`getcap`); Linux only.
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
