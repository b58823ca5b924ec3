//! Watching a tree of processes from outside: who is forked, what it executes, which files it maps as code, its end.

use std::path::PathBuf;

/// Something that happened in the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A process was forked (or cloned; threads are not told).
    Forked {
        /// The one that forked.
        parent: u32,
        /// The new one.
        child: u32,
    },
    /// A process executes a program, from now on.
    Executed {
        /// The process.
        pid: u32,
        /// The executable: of a script, its interpreter. Where that is not told (programs with other rights, setuid),
        /// the name that the kernel gives the process, without a folder; `None` when not even that is known.
        program: Option<PathBuf>,
    },
    /// The library that is watched for is mapped.
    Mapped {
        /// The process.
        pid: u32,
    },
    /// The process has ended.
    Ended {
        /// The process.
        pid: u32,
    },
}

pub use crate::system::watch::Watch;
