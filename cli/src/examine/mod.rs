//! What the file of a program tells before it runs: what will be executed in the end, and what stands in the way of a
//! preloaded library.

mod allocator;
mod environment;
mod libraries;
mod loading;
pub mod macho;
mod marks;
mod open;
mod program;
mod script;
mod walk;
mod wrapper;

use crate::library::{Library, Target};
use serde::Serialize;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use walk::Walk;

/// What was found out about a command.
#[derive(Debug, Clone, Serialize)]
pub struct Examination {
    /// How the file asked for leads to the one that runs: each file on the way, the first being that asked for.
    pub steps: Vec<Step>,
    /// What stands in the way, worst first. Empty: nothing that the files show.
    pub obstacles: Vec<Obstacle>,
    /// What is worth knowing and changes nothing: who keeps a heap of its own (CPython, V8, JVM), what could not be
    /// followed (a shell script).
    pub notes: Vec<String>,
    /// Of the file that runs; `None` when it is not an executable of a known format.
    #[serde(skip)]
    pub target: Option<Target>,
}

/// One file on the way to the program that runs.
#[derive(Debug, Clone, Serialize)]
pub struct Step {
    /// Absolute, without symbolic links.
    #[serde(serialize_with = "crate::terminal::lossy")]
    pub path: PathBuf,
    /// How it came to this one: "asked for", "interpreter of …", "started by env", "symbolic link", in a few words.
    pub because: String,
}

/// Something that stands in the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Obstacle {
    /// For machines, and for tests: `static`, `setuid`, `go`, `own_allocator` …
    pub id: &'static str,
    /// How much it takes away.
    pub effect: Effect,
    /// A sentence without a full stop, which names the file.
    pub cause: String,
    /// What to do, in a sentence without a full stop.
    pub remedy: String,
}

/// How much an obstacle takes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The program would not start, or crash, with the library preloaded.
    Breaks,
    /// The library will not be loaded, or will not be used.
    Prevents,
    /// A part of the program's memory will not be served.
    Part,
    /// The file does not show whether it will.
    Unsure,
}

/// For whom a command is examined: what the dynamic linker will ask about besides the file.
#[derive(Debug, Clone)]
pub struct Surroundings<'a> {
    /// What would be preloaded; `None`: anything of this machine's kind.
    pub library: Option<&'a Library>,
    /// The variables with which the command would be started.
    pub variables: Vec<(OsString, OsString)>,
}

/// Why nothing can be said.
#[derive(Debug, thiserror::Error)]
pub enum ExamineError {
    /// No such file, or not on PATH.
    #[error("{0} is not found; look at the spelling and at PATH, or give the whole path")]
    NotFound(String),
    /// It exists, and is not for executing.
    #[error("{path} {cause}; {remedy}")]
    NotExecutable {
        /// As asked for.
        path: String,
        /// "is a directory", "is not executable", "is a FIFO".
        cause: String,
        /// What to do.
        remedy: String,
    },
    /// It cannot be read.
    #[error("{path}: {error}")]
    Unreadable {
        /// As asked for.
        path: String,
        /// The system's message.
        error: std::io::Error,
    },
}

impl Examination {
    fn add(&mut self, id: &'static str, effect: Effect, cause: String, remedy: impl Into<String>) {
        self.obstacles.push(Obstacle { id, effect, cause, remedy: remedy.into() });
    }
}

/// How deep files are looked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// A few milliseconds for most: what the headers and tables of the executable say. [`Effect::Part`] is not complete
    /// then, and an allocator not named.
    Tables,
    /// Its constants too, and its libraries: 50 ms for an executable of 90 MB.
    Whole,
}

/// Examines what `program` with these arguments would execute.
///
/// # Errors
/// When there is nothing to examine. A file that can be read and makes no sense is not an error but an [`Obstacle`].
pub fn command(
    program: &OsStr,
    arguments: &[OsString],
    around: &Surroundings,
    depth: Depth,
) -> Result<Examination, ExamineError> {
    let path = open::find(program, &around.variables)?;
    examine(path, arguments, around, depth)
}

/// Examines a file by its path, which may be of another system and need not have an executable's mode.
///
/// # Errors
/// As [`command`].
pub fn file(path: &Path, around: &Surroundings) -> Result<Examination, ExamineError> {
    examine(path.to_owned(), &[], around, Depth::Whole)
}

fn examine(
    path: PathBuf,
    arguments: &[OsString],
    around: &Surroundings,
    depth: Depth,
) -> Result<Examination, ExamineError> {
    let found = Examination { steps: Vec::new(), obstacles: Vec::new(), notes: Vec::new(), target: None };
    let mut walk = Walk { around, variables: around.variables.clone(), found, preloads: true, depth };
    walk.follow(path, arguments)?;
    let Walk { mut found, preloads, .. } = walk;
    for obstacle in found.obstacles.iter_mut().filter(|_| !preloads) {
        // What is not asked for breaks nothing.
        obstacle.effect = obstacle.effect.max(Effect::Prevents);
    }
    found.obstacles.sort_by_key(|obstacle| obstacle.effect);
    Ok(found)
}
