//! `--stats`: jeshim stays as the program's parent, and tells from the proof records what jemalloc did.

use super::{failure, summary};
use crate::examine::Obstacle;
use crate::record::Record;
use crate::records;
use crate::settings::Settings;
use anyhow::Context;
use jeshim_host::launch::{self, Ended};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{SystemTime, UNIX_EPOCH};

/// What is known when the program has ended.
pub(super) struct Outcome {
    pub(super) program: OsString,
    pub(super) ended: Ended,
    /// What its files have in the way of the library.
    pub(super) obstacle: Option<Obstacle>,
    /// The records of its process, one for each program that it executed, the last one last.
    pub(super) own: Vec<Record>,
    /// Those of other processes.
    pub(super) others: Vec<Record>,
    /// Processes that still run, and where their records will be.
    pub(super) running: Option<(u64, PathBuf)>,
}

/// Runs the command as a child, prints the summary, and ends as the child did.
pub(super) fn run(command: &mut Command, settings: &Settings, obstacle: Option<Obstacle>) -> anyhow::Result<ExitCode> {
    let program = command.get_program().to_owned();
    let asked = settings.variables.iter().find(|(name, _)| *name == "JESHIM_REPORT").map(|(_, path)| path.clone());
    let records = match asked.or_else(|| std::env::var_os("JESHIM_REPORT").filter(|path| !path.is_empty())) {
        Some(path) => Records::Named(path),
        None => Records::Private(records::Folder::new()?),
    };
    if let Records::Private(folder) = &records {
        command.env("JESHIM_REPORT", folder.template());
    }
    let began = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let mut child = match launch::start(command) {
        Ok(child) => child,
        Err(error) => return Ok(failure::report(&program, &error)),
    };
    let ended = child.wait().context("the program cannot be waited for; run it without --stats")?;
    let found = records.read().into_iter().filter(|record| record.started.saturating_add(1) >= began);
    let (own, others) = found.partition(|record| record.pid == child.pid());
    let mut outcome = Outcome { program, ended, obstacle, own, others, running: None };
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
    Private(records::Folder),
    /// The user's JESHIM_REPORT.
    Named(OsString),
}

impl Records {
    fn read(&self) -> Vec<Record> {
        match self {
            Records::Private(folder) => Record::read_all(&folder.path()).unwrap_or_default(),
            Records::Named(path) => records::read(path),
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
