//! Which allocators there are, and what a program is run with for each.

use std::ffi::OsString;
use std::path::PathBuf;

/// An allocator with its settings: one that takes part.
#[derive(Debug, Clone)]
pub struct Allocator {
    /// What it is called in the tables; unique.
    pub label: String,
    /// Which one it is.
    pub kind: Kind,
    /// Name of the kind for tables and results: "system", "jeshim", "tcmalloc", or the file name of a library.
    pub name: String,
    /// Version as far as the file tells.
    pub version: Option<String>,
    /// Variables for the program, LD_PRELOAD included, on top of an environment without LD_PRELOAD and MALLOC_CONF.
    pub variables: Vec<(OsString, OsString)>,
}

/// Which allocator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Whatever the program uses when nothing is preloaded.
    System,
    /// Our library.
    Jeshim(PathBuf),
    /// A library with jemalloc in it that reads plain MALLOC_CONF and can print its statistics.
    Jemalloc(PathBuf),
    /// Any other library.
    Other(PathBuf),
}

impl Kind {
    /// The library that is preloaded.
    pub fn library(&self) -> Option<&PathBuf> {
        match self {
            Kind::System => None,
            Kind::Jeshim(path) | Kind::Jemalloc(path) | Kind::Other(path) => Some(path),
        }
    }
}
