//! What the checks look at: files below a root folder, variables, the library and its trial. All of it is given, so
//! that tests can bring another machine.

use super::trial::Trial;
use crate::library::Library;
use jeshim_host::machine::{self, CLibrary};
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// One machine, as this process sees it.
#[derive(Debug)]
pub struct Machine {
    /// Below which `/proc`, `/sys` and `/etc` are read; `/` for the real ones.
    pub root: PathBuf,
    /// The environment.
    pub variables: Vec<(OsString, OsString)>,
    /// The library, or why there is none.
    pub library: Result<Library, String>,
    /// What became of the test program.
    pub trial: Trial,
    /// Of the kernel, in bytes.
    pub page_size: u64,
    /// Of this command.
    pub c_library: CLibrary,
}

/// No file that a check reads is longer.
const LONGEST: u64 = 1 << 20;

impl Machine {
    /// This machine, with the library that is named, or found.
    pub fn this(named: Option<&Path>) -> Machine {
        let library = Library::find(named).map_err(|error| error.to_string());
        let variables: Vec<_> = std::env::vars_os().collect();
        let trial = library.as_ref().map_or(Trial::NoLibrary, |library| Trial::run(library, &variables));
        Machine {
            root: PathBuf::from("/"),
            variables,
            library,
            trial,
            page_size: machine::page_size(),
            c_library: machine::c_library(),
        }
    }

    /// An absolute path as it is below the root.
    pub fn path(&self, absolute: impl AsRef<Path>) -> PathBuf {
        let absolute = absolute.as_ref();
        self.root.join(absolute.strip_prefix("/").unwrap_or(absolute))
    }

    /// Whether there is such a file or folder.
    pub fn has(&self, absolute: impl AsRef<Path>) -> bool {
        self.path(absolute).exists()
    }

    /// A file's text, without white space around it.
    ///
    /// # Errors
    /// When it cannot be read, with the path in the message; `NotFound` keeps its kind.
    pub fn text(&self, absolute: &str) -> io::Result<String> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{absolute}: {}", cause(&error)));
        let path = self.path(absolute);
        // Opening a FIFO would wait.
        if !path.metadata().map_err(named)?.is_file() {
            return Err(io::Error::other(format!("{absolute} is not a regular file")));
        }
        let mut bytes = Vec::new();
        std::fs::File::open(path).and_then(|file| file.take(LONGEST).read_to_end(&mut bytes)).map_err(named)?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// A number that is all of a file.
    ///
    /// # Errors
    /// As [`Machine::text`], and when it is no number.
    pub fn number(&self, absolute: &str) -> io::Result<i64> {
        let text = self.text(absolute)?;
        text.parse().map_err(|_| io::Error::other(format!("{absolute} is not a number")))
    }

    /// The value of a variable that is set and not empty.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        let found = self.variables.iter().find(|(found, _)| found == name);
        found.map(|(_, value)| value.as_os_str()).filter(|value| !value.is_empty())
    }
}

/// An error in words, without Rust's "(os error 2)".
pub fn cause(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
