//! The proof record that a process on the library writes about itself: `docs/proof-record.md`. Read so that a record of
//! a newer library, or of a process that has not finished, is no error.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A record is a few kilobytes; what is larger is something else.
const LARGEST: u64 = 1 << 20;

/// What one process says about itself. Members that a record lacks are empty, zero or `false`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Record {
    /// Version of the form.
    pub record: u64,
    /// Whether the process has exited by `exit` or by returning from `main`.
    pub finished: bool,
    /// Whether jemalloc was seen to hand out small blocks; `None` in records of libraries that do not say it.
    pub serving: Option<bool>,
    /// The process.
    pub pid: u32,
    /// Its parent.
    pub parent_pid: u32,
    /// Whether it was forked and did not `exec`.
    pub forked: bool,
    /// Path of its executable.
    pub program: String,
    /// When it began, in seconds since 1970.
    pub started: u64,
    /// Path of the library.
    pub library: String,
    /// The library's version.
    pub library_version: String,
    /// That of the jemalloc in it.
    pub jemalloc_version: String,
    /// jemalloc's options.
    pub options: Options,
    /// Who has the names that the library exports.
    pub bound: Bound,
    /// macOS: whether `malloc` leads to jemalloc (`docs/macos.md`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<serde_json::Value>,
    /// What jemalloc did; `None` until the process has finished.
    pub served: Option<Served>,
}

/// jemalloc's options in a process.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Options {
    /// Option strings by where they come from.
    pub sources: BTreeMap<String, Option<String>>,
    /// The values in effect.
    pub effective: serde_json::Map<String, serde_json::Value>,
}

/// Who has the names that the library exports.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Bound {
    /// By name.
    pub names: BTreeMap<String, Binding>,
    /// How many are the library's.
    pub ours: u64,
    /// Of how many.
    pub of: u64,
}

/// Who has a name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Binding {
    /// The library, or, with `false`, nobody.
    Ours(bool),
    /// Another object: its path.
    Other(String),
}

/// What jemalloc did for a process until it exited. Counts, and bytes of jemalloc's size classes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
#[allow(missing_docs)] // The names are those of jemalloc's manual and of docs/proof-record.md.
pub struct Served {
    pub small_allocations: u64,
    pub small_bytes: u64,
    pub small_frees: u64,
    pub small_freed_bytes: u64,
    pub large_allocations: u64,
    pub large_bytes: u64,
    pub large_frees: u64,
    pub large_freed_bytes: u64,
    pub allocated: u64,
    pub active: u64,
    pub metadata: u64,
    pub resident: u64,
    pub mapped: u64,
    pub retained: u64,
    // `None`, all of these, in records of libraries that do not say it.
    pub thread_caches: Option<u64>,
    pub internal: Option<u64>,
    pub dirty: Option<u64>,
    pub muzzy: Option<u64>,
    /// `None` also unless the heap profiler ran, with statistics.
    pub requested: Option<u64>,
    pub rounded: Option<u64>,
    pub deepbind_cleared: u64,
}

/// Why a file gives no record.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The system's message.
    #[error("{}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's message.
        error: std::io::Error,
    },
    /// It is something else, or not written to its end.
    #[error("{} is not a proof record: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl Record {
    /// Reads a record.
    ///
    /// # Errors
    /// When it cannot be read, or is not one.
    pub fn read(path: &Path) -> Result<Record, RecordError> {
        let unreadable = |error| RecordError::Unreadable { path: path.to_owned(), error };
        let malformed = |reason: String| RecordError::Malformed { path: path.to_owned(), reason };
        // Asked before it is opened: to open a FIFO would wait.
        if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
            return Err(malformed("it is not a file".into()));
        }
        let mut bytes = Vec::new();
        let file = std::fs::File::open(path).map_err(unreadable)?;
        file.take(LARGEST.saturating_add(1)).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() as u64 > LARGEST {
            return Err(malformed("it is too large".into()));
        }
        let text = String::from_utf8_lossy(&bytes);
        // serde would take a list of members, too.
        if !text.trim_start().starts_with('{') {
            return Err(malformed("it is not a JSON object".into()));
        }
        let record: Record = serde_json::from_str(&text).map_err(|error| malformed(error.to_string()))?;
        if record.record == 0 {
            return Err(malformed("it has no member \"record\"".into()));
        }
        Ok(record)
    }

    /// Reads every record in a folder, in the order of the processes' start, and those of one process, which replaced
    /// itself by `exec`, in the order of its programs; other files are passed over.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn read_all(folder: &Path) -> std::io::Result<Vec<Record>> {
        Ok(in_order(aged(folder, |_| true)?))
    }

    /// As [`Record::read_all`], of the files in several folders whose names are wanted. Folders that cannot be read are
    /// passed over.
    pub fn read_some(folders: &[PathBuf], wanted: impl Fn(&OsStr) -> bool) -> Vec<Record> {
        let records = folders.iter().filter_map(|folder| aged(folder, &wanted).ok());
        in_order(records.flatten().collect())
    }

    /// Whether jemalloc was seen to serve the process.
    pub fn is_served(&self) -> bool {
        self.serving == Some(true) || self.served.as_ref().is_some_and(|served| served.small_allocations > 0)
    }
}

/// A record, and what tells it from an earlier one of its process. A program's record is written to while it runs, so the
/// last one of a process is the youngest; and where the clock's ticks do not tell, the one with the longest name, to
/// which the library has appended.
type Aged = (u64, u32, Option<SystemTime>, usize, OsString, Record);

fn aged(folder: &Path, wanted: impl Fn(&OsStr) -> bool) -> std::io::Result<Vec<Aged>> {
    let mut records = Vec::new();
    // A program that puts a link in the folder's place may have it lead anywhere: to files that are read for ever.
    if !std::fs::symlink_metadata(folder)?.is_dir() {
        return Ok(records);
    }
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        // A link is nobody's record: the library does not follow any, and others may write to the folder.
        if !wanted(&entry.file_name()) || !entry.file_type()?.is_file() {
            continue;
        }
        let age = entry.metadata().and_then(|metadata| metadata.modified()).ok();
        let name = entry.file_name();
        records.extend(
            Record::read(&entry.path()).map(|record| (record.started, record.pid, age, name.len(), name, record)),
        );
    }
    Ok(records)
}

fn in_order(mut records: Vec<Aged>) -> Vec<Record> {
    records.sort_by(|a, b| (a.0, a.1, a.2, a.3, &a.4).cmp(&(b.0, b.1, b.2, b.3, &b.4)));
    records.into_iter().map(|(.., record)| record).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Record, RecordError> {
        let folder = std::env::temp_dir().join(format!("jeshim-record-{}-{:p}", std::process::id(), text));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("record.json");
        std::fs::write(&path, text).unwrap();
        let record = Record::read(&path);
        std::fs::remove_dir_all(&folder).unwrap();
        record
    }

    #[test]
    fn a_record_of_a_newer_library_is_read() {
        let record = read(
            r#"{"record": 2, "pid": 7, "news": [1], "bound": {"names": {"malloc": true, "free": "/x", "a": false},
            "ours": 1, "of": 3, "more": 1}, "served": {"small_allocations": 3, "huge": 1}}"#,
        )
        .unwrap();
        assert_eq!((record.pid, record.bound.ours, record.is_served()), (7, 1, true));
        assert_eq!(record.bound.names.get("free"), Some(&Binding::Other("/x".into())));
    }

    #[test]
    fn an_unfinished_record_is_read() {
        let record = read(r#"{"record": 1, "finished": false, "serving": true , "served": null}      "#).unwrap();
        assert_eq!((record.finished, record.served.is_none(), record.is_served()), (false, true, true));
        assert!(!read(r#"{"record": 1}"#).unwrap().is_served());
    }

    #[test]
    fn what_is_no_record_is_refused() {
        for text in ["", "{}", "{\"record\": 1", "[1]", "{\"record\": \"1\"}"] {
            assert!(matches!(read(text), Err(RecordError::Malformed { .. })), "{text}");
        }
        assert!(matches!(Record::read(Path::new("/dev/zero")), Err(RecordError::Malformed { .. })));
        assert!(matches!(Record::read(Path::new("/nonexistent")), Err(RecordError::Unreadable { .. })));
    }
}
