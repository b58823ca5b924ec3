//! What was seen of one run, of a program or of a server.

use crate::compare::execute::program;
use crate::compare::execute::server;
use crate::compare::execute::words;
use crate::compare::plan::Effort;
use crate::compare::results::{Figure, Run, finding};
use jeshim_host::launch::Ended;
use std::collections::{BTreeMap, BTreeSet};

/// All that is made of it.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) run: Run,
    /// Figures that are known only now: their rows, and their values.
    pub(super) readings: Vec<(Figure, f64)>,
    /// `None`: it never started.
    pub(super) ended: Option<Ended>,
    pub(super) pid: u32,
    /// What came on standard error, statistics included.
    pub(super) printed: Vec<u8>,
    /// Programs that were certainly without the library.
    pub(super) without: Vec<String>,
    /// Metrics that were found, and why others were not.
    pub(super) found: BTreeSet<String>,
    pub(super) missing: BTreeMap<String, String>,
    /// What a reader has to know: ids of findings, and texts.
    pub(super) remarks: Vec<(&'static str, String)>,
}

impl Seen {
    /// Of a program that has ended.
    pub(super) fn of_program(observed: program::Observed, effort: &Effort) -> Seen {
        let ended = observed.finished.ended;
        let failure = if observed.timed_out {
            let limit = effort.timeout;
            Some(format!("it took longer than {limit:?}, and was ended; give it longer with --timeout"))
        } else if ended != Ended::Exited(0) && !effort.ignore_failure {
            let said = words::last_line(&observed.errors).map(|line| format!(": {line}")).unwrap_or_default();
            Some(format!("it {}{said}", words::ended(ended)))
        } else {
            not_mapped(observed.loaded)
        };
        let mut remarks = Vec::new();
        if !observed.finished.left_running.is_empty() {
            let text = "processes ran on after its end, and were ended before the next run; run it in the foreground";
            remarks.push((finding::LEFT_RUNNING, text.to_owned()));
        }
        let figures = program::figures(&observed);
        let run = Run { figures, failure, memory: observed.memory, ..Run::default() };
        Seen { run, ended: Some(ended), pid: observed.pid, remarks, without: observed.without, ..Seen::default() }
    }

    /// Of a server that has ended.
    pub(super) fn of_server(observed: server::Observed) -> Seen {
        let mut readings = observed.figures;
        if let Some(finished) = &observed.finished {
            let mut used = program::used(finished, observed.tree_peak);
            // Of the whole life, in which it waited for the phases: wall time says nothing.
            used.remove("wall");
            for mut figure in program::standard_figures() {
                if let Some(value) = used.remove(&figure.id) {
                    figure.headline = figure.id == "peak_rss";
                    readings.push((figure, value));
                }
            }
        }
        let failure = observed.failure.or_else(|| not_mapped(observed.loaded));
        Seen {
            run: Run { failure, memory: observed.memory, marks: observed.marks, ..Run::default() },
            readings,
            ended: observed.finished.map(|finished| finished.ended),
            pid: observed.pid,
            printed: observed.errors,
            without: observed.without,
            found: observed.found,
            missing: observed.missing,
            remarks: observed.remarks,
        }
    }
}

/// A run in which the allocator was looked for and was not there is not the allocator's.
fn not_mapped(loaded: Option<bool>) -> Option<String> {
    (loaded == Some(false)).then(|| {
        "its library was not in the program's processes; 'jeshim check -- CMD' says why with jeshim's own".to_owned()
    })
}
