//! The report: for people, a line, a table and notes; for machines, JSON.

use super::judgement::{Judgement, name_of};
use super::processes::{End, Image, Processes};
use super::standing::{Reason, Standing};
use crate::examine::{Examination, Step};
use crate::library::Library;
use crate::record::Record;
use crate::terminal::{BAD, BOLD, GOOD, NOTE, bytes, count, printable, style_of, styled};
use comfy_table::{ContentArrangement, Table, presets};
use jeshim_host::launch::{self, Ended};
use serde::Serialize;
use std::fmt::Write;

/// So many rows are shown unless `--all` asks for the rest.
const ROWS: usize = 20;

/// Everything that a check found out.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The answer.
    #[serde(flatten)]
    pub judgement: Judgement,
    /// How the program ended, when it was run.
    pub ended: Option<String>,
    /// Path of the library.
    pub library: String,
    /// What the program's file tells.
    pub file: Option<Examination>,
    /// Every process, in the order in which they began.
    pub processes: Vec<Row>,
    /// Whether no process can have been missed; if so, why.
    pub may_have_missed: Option<String>,
    /// What is worth knowing.
    pub notes: Vec<String>,
}

/// One process.
#[derive(Debug, Serialize)]
#[allow(missing_docs)] // Members of the same names are described with `Image`.
pub struct Row {
    pub pid: u32,
    pub parent: u32,
    pub program: Option<String>,
    pub forked: bool,
    pub loaded: bool,
    /// Names bound to the library, and all of them.
    pub bound: Option<[u64; 2]>,
    /// `served`, `part`, `not_served`, `idle`, `unknown`, `passing`.
    pub standing: &'static str,
    pub reason: Option<Reason>,
    pub small_allocations: Option<u64>,
    pub small_bytes: Option<u64>,
    pub large_allocations: Option<u64>,
    pub large_bytes: Option<u64>,
    pub end: &'static str,
    #[serde(skip)]
    name: String,
    #[serde(skip)]
    is_served: bool,
}

impl Row {
    fn of(image: &Image, standing: &Standing) -> Row {
        let served = image.record.as_ref().and_then(|record| record.served.as_ref());
        let (word, reason) = match standing {
            Standing::Served => ("served", None),
            Standing::Part(reason) => ("part", Some(reason)),
            Standing::NotServed(reason) => ("not_served", Some(reason)),
            Standing::Idle => ("idle", None),
            Standing::Unknown(reason) => ("unknown", Some(reason)),
            Standing::Passing => ("passing", None),
        };
        Row {
            pid: image.pid,
            parent: image.parent,
            program: image.program.as_deref().map(printable),
            forked: image.forked,
            loaded: image.loaded,
            bound: image.record.as_ref().map(|record| [record.bound.ours, record.bound.of]),
            standing: word,
            reason: reason.cloned(),
            small_allocations: served.map(|served| served.small_allocations),
            small_bytes: served.map(|served| served.small_bytes),
            large_allocations: served.map(|served| served.large_allocations),
            large_bytes: served.map(|served| served.large_bytes),
            end: match image.end {
                End::Running => "running",
                End::Replaced => "executed another program",
                End::Ended(_) => "ended",
            },
            name: name_of(image),
            is_served: image.record.as_ref().is_some_and(Record::is_served),
        }
    }

    /// What is said of it in the table; rows in which it is the same are shown as one.
    fn words(&self) -> String {
        match (self.standing, self.small_allocations) {
            ("served", Some(small)) => format!(
                "{} ({}), {} ({})",
                count(small, "small allocation", "small allocations"),
                bytes(self.small_bytes.unwrap_or(0)),
                count(self.large_allocations.unwrap_or(0), "large one", "large ones"),
                bytes(self.large_bytes.unwrap_or(0)),
            ),
            ("served", None) => "small allocations; not counted, since it did not end by exit".to_owned(),
            ("idle", _) => "nothing: it asked for no small block".to_owned(),
            ("passing", _) if self.is_served => "small allocations, until it went on as another program".to_owned(),
            ("passing", _) => "it went on as another program".to_owned(),
            _ => self.reason.as_ref().map(|reason| reason.cause.clone()).unwrap_or_default(),
        }
    }
}

/// The rows of a tree.
pub fn rows(processes: &Processes, standings: &[Standing]) -> Vec<Row> {
    let shown = |(image, standing): &(&Image, &Standing)| {
        // A copy of a process that lived for the step to another program only.
        !(image.forked && **standing == Standing::Passing)
    };
    processes.images.iter().zip(standings).filter(shown).map(|(image, standing)| Row::of(image, standing)).collect()
}

/// How a program ended, in words.
pub fn ended_in_words(ended: Ended) -> String {
    match ended {
        Ended::Exited(status) => format!("ended with status {status}"),
        Ended::Killed(signal) => format!("was ended by signal {signal} ({})", launch::signal_name(signal)),
    }
}

impl Report {
    /// For a report on a file: no process.
    pub fn of_file(judgement: Judgement, library: &Library, examination: Examination) -> Report {
        Report {
            judgement,
            ended: None,
            library: printable(&library.path),
            notes: examination.notes.clone(),
            file: Some(examination),
            processes: Vec::new(),
            may_have_missed: None,
        }
    }

    /// The report for people.
    pub fn text(&self, all: bool) -> String {
        let mut text = String::new();
        let verdict = self.judgement.verdict;
        let _ = writeln!(text, "{}: {}", styled(style_of(verdict), verdict.words()), self.judgement.cause);
        if let Some(remedy) = &self.judgement.remedy {
            let _ = writeln!(text, "{} {remedy}", styled(BOLD, "Remedy:"));
        }
        if let Some(ended) = &self.ended {
            let _ = writeln!(text, "It {ended}");
        }
        if let Some(file) = &self.file {
            show_file(&mut text, file, self.processes.is_empty());
        }
        if !self.processes.is_empty() {
            let _ = writeln!(text, "{}", self.table(all));
        }
        for note in self.notes.iter().chain(&self.may_have_missed) {
            let _ = writeln!(text, "{} {note}", styled(BOLD, "Note:"));
        }
        text
    }

    fn table(&self, all: bool) -> Table {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING);
        // A terminal that says that it has no columns does not know how many.
        if table.width().is_some_and(|width| width >= 40) {
            table.set_content_arrangement(ContentArrangement::Dynamic);
        }
        table.set_header(["process", "loaded", "bound", "served"].map(|name| styled(BOLD, name)));
        let alike = self.alike(all);
        let most = if all { usize::MAX } else { ROWS };
        for (row, number, words) in alike.iter().take(most) {
            let loaded = if row.loaded { styled(GOOD, "yes") } else { styled(BAD, "no") };
            let bound = row.bound.map_or("-".to_owned(), |[ours, of]| format!("{ours} of {of}"));
            let style = match row.standing {
                "served" => GOOD,
                "not_served" => BAD,
                "part" | "unknown" => NOTE,
                _ => anstyle::Style::new(),
            };
            let name = match (*number, row.forked) {
                (1, false) => row.name.clone(),
                (1, true) => format!("{}, forked by {}", row.name, row.parent),
                (number, _) => format!("{} and {} more", row.name, number.saturating_sub(1)),
            };
            table.add_row([name, loaded, bound, styled(style, words)]);
        }
        if alike.len() > most {
            table.add_row([format!("… {} more (--all)", alike.len().saturating_sub(most))]);
        }
        if let Some(column) = table.column_mut(2) {
            column.set_cell_alignment(comfy_table::CellAlignment::Right);
        }
        table
    }

    /// Rows with how many there are like it, and what is said of them: those that are not served first say so once.
    fn alike(&self, all: bool) -> Vec<(&Row, usize, String)> {
        let mut alike: Vec<(&Row, usize, String)> = Vec::new();
        for row in &self.processes {
            let words = row.words();
            let same = |(other, _, other_words): &&mut (&Row, usize, String)| {
                let counted = row.small_allocations.is_some() && row.standing == "served";
                other.program == row.program && other.standing == row.standing && (*other_words == words || counted)
            };
            match alike.iter_mut().find(same).filter(|_| !all) {
                Some((_, number, _)) => *number = number.saturating_add(1),
                None => alike.push((row, 1, words)),
            }
        }
        alike
    }
}

fn show_file(text: &mut String, file: &Examination, alone: bool) {
    if alone || file.steps.len() > 1 {
        for Step { path, because } in &file.steps {
            let _ = writeln!(text, "  {} {}", printable(path), styled(anstyle::Style::new().dimmed(), because));
        }
    }
    if alone {
        for obstacle in &file.obstacles {
            let _ = writeln!(text, "  {} {}", styled(NOTE, format!("{}:", obstacle.id)), obstacle.cause);
            let _ = writeln!(text, "    {}", obstacle.remedy);
        }
    }
}
