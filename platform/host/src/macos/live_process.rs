//! A live process from outside: not on macOS yet.

use crate::live::{LookError, Mapping};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A process that is looked at; there is none.
pub struct Process {
    /// Its pid.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Its parent's pid.
    pub parent: u32,
    /// Its effective user.
    pub user: u32,
    never: Never,
}

enum Never {}

impl Process {
    /// Finds the process.
    ///
    /// # Errors
    /// Always: `task_for_pid` would need an entitlement, or root, and stops at protected programs.
    pub fn open(pid: u32) -> Result<Process, LookError> {
        Err(LookError::new(
            "not_on_this_system",
            format!("process {pid} cannot be looked at: a live process cannot be looked at on macOS yet"),
            "run the program under 'jeshim check -- CMD'",
        ))
    }

    /// What is mapped.
    ///
    /// # Errors
    /// None.
    pub fn mappings(&self) -> Result<Vec<Mapping>, LookError> {
        match self.never {}
    }

    /// Why this user may not look at the process.
    pub fn denied(&self) -> LookError {
        match self.never {}
    }

    /// That it is not there any more.
    pub fn ended(&self) -> LookError {
        match self.never {}
    }

    /// Whether it is still the same process.
    pub fn is_still_there(&self) -> bool {
        match self.never {}
    }

    /// Whether its memory can be read.
    pub fn is_readable(&self) -> bool {
        match self.never {}
    }

    /// Fills a buffer from its memory.
    ///
    /// # Errors
    /// None.
    pub fn read(&self, _: u64, _: &mut [u8]) -> io::Result<()> {
        match self.never {}
    }

    /// How many bytes in a range of its memory are private to it.
    pub fn private_in(&self, _: Range<u64>) -> Option<u64> {
        match self.never {}
    }

    /// The file of a mapping.
    pub fn open_mapped(&self, _: &Mapping) -> Option<(File, bool)> {
        match self.never {}
    }

    /// A path of the process's own view of files.
    pub fn inside(&self, _: &Path) -> PathBuf {
        match self.never {}
    }

    /// The program that it executes.
    pub fn executable(&self) -> Option<PathBuf> {
        match self.never {}
    }

    /// The environment with which its program was started.
    pub fn environment(&self) -> Option<Vec<(OsString, OsString)>> {
        match self.never {}
    }

    /// The environment with which its parent's program was started.
    pub fn environment_of_parent(&self) -> Option<Vec<(OsString, OsString)>> {
        match self.never {}
    }

    /// Whether the program was started in secure execution mode.
    pub fn is_secure(&self) -> Option<bool> {
        match self.never {}
    }

    /// Where the stacks of its threads are.
    pub fn stack_pointers(&self) -> Vec<u64> {
        match self.never {}
    }

    /// The size of a thread's stack unless the program asks for another.
    pub fn stack_size(&self) -> Option<u64> {
        match self.never {}
    }
}
