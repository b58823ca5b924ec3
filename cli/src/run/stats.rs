//! `--stats`: jeshim stays as the program's parent, and tells from the proof records what jemalloc did.

use super::{failure, summary};
use crate::record::Record;
use crate::settings::Settings;
use anyhow::Context;
use jeshim_host::launch::{self, Ended};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{SystemTime, UNIX_EPOCH};

/// What is known when the program has ended.
pub(super) struct Outcome {
    pub(super) program: OsString,
    pub(super) ended: Ended,
    /// The records of its process, one for each program that it executed, the last one last.
    pub(super) own: Vec<Record>,
    /// Those of other processes.
    pub(super) others: Vec<Record>,
    /// Processes that still run, and where their records will be.
    pub(super) running: Option<(u64, PathBuf)>,
}

/// Runs the command as a child, prints the summary, and ends as the child did.
pub(super) fn run(command: &mut Command, settings: &Settings) -> anyhow::Result<ExitCode> {
    let program = command.get_program().to_owned();
    let asked = settings.variables.iter().find(|(name, _)| *name == "JESHIM_REPORT").map(|(_, path)| path.clone());
    let records = match asked.or_else(|| std::env::var_os("JESHIM_REPORT").filter(|path| !path.is_empty())) {
        Some(path) => Records::Named(path),
        None => Records::Private(private_folder()?),
    };
    if let Records::Private(folder) = &records {
        command.env("JESHIM_REPORT", folder.path().join("record-%p.json"));
    }
    let began = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let mut child = match launch::start(command) {
        Ok(child) => child,
        Err(error) => return Ok(failure::report(&program, &error)),
    };
    let ended = child.wait().context("waiting for the program failed")?;
    let found = records.read(child.pid()).into_iter().filter(|record| record.started.saturating_add(1) >= began);
    let (own, others) = found.partition(|record| record.pid == child.pid());
    let mut outcome = Outcome { program, ended, own, others, running: None };
    let is_running = |record: &&Record| !record.finished && launch::is_alive(record.pid);
    let running: BTreeSet<u32> = outcome.others.iter().filter(is_running).map(|record| record.pid).collect();
    if running.is_empty() {
        // Not left to the end of the block: this process may end by a signal before.
        drop(records);
    } else if let Some(folder) = records.keep() {
        outcome.running = Some((running.len() as u64, folder));
    }
    summary::print(&outcome);
    Ok(ExitCode::from(launch::end_as(ended)))
}

/// Where the records are.
enum Records {
    /// A folder of ours; it is removed in the end.
    Private(tempfile::TempDir),
    /// The user's JESHIM_REPORT.
    Named(OsString),
}

impl Records {
    fn read(&self, pid: u32) -> Vec<Record> {
        match self {
            Records::Private(folder) => Record::read_all(folder.path()).unwrap_or_default(),
            Records::Named(path) => {
                let (folder, beginning) = place(path, pid);
                let named = |name: &OsStr| name.as_bytes().starts_with(&beginning);
                Record::read_some(&folder, named).unwrap_or_default()
            }
        }
    }

    /// Leaves the folder to processes that still run. Tells where it is.
    fn keep(self) -> Option<PathBuf> {
        match self {
            Records::Private(folder) => Some(folder.keep()),
            Records::Named(path) => Path::new(&path).parent().map(Path::to_owned),
        }
    }
}

/// A folder for the records. Where root starts a program, processes of it may become other users', and have to be able
/// to put theirs there; they cannot list or remove what others have.
fn private_folder() -> anyhow::Result<tempfile::TempDir> {
    let problem = "no folder for the records; set TMPDIR to one that this user may write, or use --report PATH";
    let folder = tempfile::Builder::new().prefix("jeshim-").tempdir().context(problem)?;
    if folder.path().metadata().context(problem)?.uid() == 0 {
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o1733)).context(problem)?;
    }
    Ok(folder)
}

/// In which folder the records of a JESHIM_REPORT are, and how the names of their files begin: up to the pid or the
/// program's name, which differ.
fn place(path: &OsStr, pid: u32) -> (PathBuf, Vec<u8>) {
    let bytes = path.as_bytes();
    let slash = bytes.iter().rposition(|byte| *byte == b'/');
    let (folder, name) = slash.and_then(|at| bytes.split_at_checked(at)).unwrap_or((b".", bytes));
    let folder = if folder.is_empty() { b"/" } else { folder };
    let mut expanded = Vec::new();
    let mut rest = folder.iter();
    while let Some(byte) = rest.next() {
        match if *byte == b'%' { rest.next() } else { None } {
            Some(b'p') => expanded.extend_from_slice(pid.to_string().as_bytes()),
            Some(b'%') | None => expanded.push(*byte),
            Some(other) => expanded.extend_from_slice(&[b'%', *other]),
        }
    }
    let name = name.strip_prefix(b"/").unwrap_or(name);
    let beginning = name.split(|byte| *byte == b'%').next().unwrap_or_default().to_owned();
    (PathBuf::from(OsStr::from_bytes(&expanded)), beginning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_report_is_found() {
        let place = |path: &str| {
            let (folder, beginning) = place(OsStr::new(path), 7);
            (folder.display().to_string(), String::from_utf8(beginning).unwrap())
        };
        assert_eq!(place("/a/r-%p.json"), ("/a".into(), "r-".into()));
        assert_eq!(place("/a/%p/%%/%e"), ("/a/7/%".into(), String::new()));
        assert_eq!(place("/r"), ("/".into(), "r".into()));
        assert_eq!(place("r"), (".".into(), "r".into()));
        assert_eq!(place("/a%"), ("/".into(), "a".into()));
    }
}
