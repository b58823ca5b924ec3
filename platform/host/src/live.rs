//! What can be seen of a live process from outside, without stopping it.

pub use crate::system::live_process::Process;

use std::ffi::OsString;

/// One mapping of a process's memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// First address behind it.
    pub end: u64,
    /// May be read.
    pub readable: bool,
    /// May be written.
    pub writable: bool,
    /// May be executed.
    pub executable: bool,
    /// What is written is seen by others.
    pub shared: bool,
    /// Where in the file it begins, in bytes.
    pub offset: u64,
    /// Device of the file: major and minor number.
    pub device: (u32, u32),
    /// Of the file; 0 when there is none.
    pub inode: u64,
    /// Path of the file, or the kernel's name in brackets, or nothing.
    pub name: OsString,
    /// Memory in it that no other process uses, swapped-out pages included, in bytes.
    pub private: u64,
}

impl Mapping {
    /// The size in bytes.
    pub fn size(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Whether there is no file behind it.
    pub fn is_anonymous(&self) -> bool {
        self.inode == 0 && (self.name.is_empty() || self.name.as_encoded_bytes().starts_with(b"[anon"))
    }

    /// Whether nobody may read, write or execute it: reserved addresses, or a guard.
    pub fn is_forbidden(&self) -> bool {
        !self.readable && !self.writable && !self.executable
    }
}

/// Why a process cannot be looked at: a cause, with a remedy where there is one.
#[derive(Debug, thiserror::Error)]
#[error("{cause}; {remedy}")]
pub struct LookError {
    /// For machines: `no_process`, `ended`, `zombie`, `kernel_thread`, `permission`, `not_on_this_system`, `unreadable`.
    pub id: &'static str,
    /// A sentence without a full stop.
    pub cause: String,
    /// What to do, in a sentence without a full stop.
    pub remedy: String,
}

impl LookError {
    pub(crate) fn new(id: &'static str, cause: String, remedy: &str) -> LookError {
        LookError { id, cause, remedy: remedy.to_owned() }
    }
}
