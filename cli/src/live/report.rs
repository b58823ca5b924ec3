//! What is found out about a live process, as it is printed with `--json`.

use crate::verdict::Verdict;
use jeshim_host::live::LookError;
use serde::Serialize;
use std::path::PathBuf;

/// All of it.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The answer.
    pub verdict: Verdict,
    /// The answer in a sentence, without a full stop.
    pub line: String,
    /// What takes away from it.
    pub reasons: Vec<Reason>,
    /// Which process.
    pub process: Looked,
    /// The library in it.
    pub library: Option<LoadedLibrary>,
    /// The program and what it has loaded, those first that take memory from elsewhere.
    pub objects: Vec<LoadedObject>,
    /// Who has its private memory.
    pub memory: Option<PrivateMemory>,
}

/// Why something is not as it could be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// For machines.
    pub id: &'static str,
    /// A sentence without a full stop.
    pub cause: String,
    /// What to do, in a sentence without a full stop.
    pub remedy: String,
}

impl Reason {
    /// A reason.
    pub fn new(id: &'static str, cause: impl Into<String>, remedy: impl Into<String>) -> Reason {
        Reason { id, cause: cause.into(), remedy: remedy.into() }
    }
}

impl From<LookError> for Reason {
    fn from(error: LookError) -> Reason {
        Reason { id: error.id, cause: error.cause, remedy: error.remedy }
    }
}

/// Which process was looked at.
#[derive(Debug, Default, Serialize)]
pub struct Looked {
    /// Its pid.
    pub pid: u32,
    /// Its name.
    pub name: Option<String>,
    /// What it executes.
    #[serde(serialize_with = "lossy")]
    pub program: Option<PathBuf>,
}

/// The library in a process.
#[derive(Debug, Serialize)]
pub struct LoadedLibrary {
    /// As the process sees it.
    #[serde(serialize_with = "crate::terminal::lossy")]
    pub path: PathBuf,
    /// Whether the file has been deleted or replaced since.
    pub deleted: bool,
    /// Its version.
    pub version: String,
    /// That of the jemalloc in it.
    pub jemalloc: String,
    /// How often small blocks were handed out by the slow path: a lower bound of allocations, up to 1000. `None`: not known.
    pub fills: Option<u64>,
    /// Memory of jemalloc that it has not noted, in mappings: counted with that of others.
    pub unknown_mappings: Option<u32>,
}

/// The program, or something that it has loaded.
#[derive(Debug, Serialize)]
pub struct LoadedObject {
    /// As the process sees it.
    #[serde(serialize_with = "crate::terminal::lossy")]
    pub path: PathBuf,
    /// Where it is loaded.
    pub address: u64,
    /// Whether the file has been deleted or replaced since.
    pub deleted: bool,
    /// The functions that it takes; `None` when its tables could not be read.
    pub takes: Option<Vec<Taken>>,
}

/// A function of the malloc family that an object takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Taken {
    /// Its name.
    pub name: &'static str,
    /// From where.
    #[serde(flatten)]
    pub from: Origin,
}

/// From where an object takes a function.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Origin {
    /// From the library.
    Library,
    /// From another object.
    Other {
        /// As the process sees it.
        #[serde(serialize_with = "crate::terminal::lossy")]
        from: PathBuf,
    },
    /// From memory that belongs to no object.
    NoObject {
        /// Where.
        address: u64,
    },
    /// It is bound when it is first called.
    NotCalledYet,
}

/// Who has the private memory.
#[derive(Debug, Serialize)]
pub struct PrivateMemory {
    /// In bytes: what no other process uses, swapped-out pages included, without shared mappings.
    pub private: u64,
    /// jemalloc's share in percent.
    pub jemalloc_percent: f64,
    /// Every owner, largest first.
    pub owners: Vec<OwnersShare>,
}

/// The share of one.
#[derive(Debug, Serialize)]
pub struct OwnersShare {
    /// For machines.
    pub owner: &'static str,
    /// For people.
    pub description: String,
    /// In bytes.
    pub bytes: u64,
    /// Of the private memory.
    pub percent: f64,
}

fn lossy<S: serde::Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_deref().map(|path| path.to_string_lossy()).serialize(serializer)
}
