//! What is said of a comparison, whatever it is written in.

use super::{changes, memory, sentences, served, table, verdicts};
use crate::compare::against::Against;
use crate::compare::analysis::Analysis;
use crate::compare::results::Comparison;
use crate::terminal::printable;
use serde::Serialize;

/// All of it, in the order in which it is shown.
#[derive(Debug, Serialize)]
pub(super) struct Document {
    /// Name and subject of the scenario.
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) verdicts: Vec<VerdictLine>,
    pub(super) tables: Vec<Table>,
    /// What the signs in the tables mean; empty without tables.
    pub(super) key: String,
    /// Figures that are not in the tables.
    pub(super) left_out: usize,
    pub(super) memory: Vec<Table>,
    pub(super) memory_key: &'static str,
    /// What has changed since an older result.
    pub(super) since: Option<Since>,
    pub(super) served: Vec<Piece>,
    pub(super) findings: Vec<String>,
    pub(super) machine: String,
    pub(super) measured: String,
    /// The command that does it again; `None` when it is not known.
    pub(super) repeat: Option<String>,
}

/// What has changed since an older result.
#[derive(Debug, Serialize)]
pub(super) struct Since {
    pub(super) table: Table,
    /// What else is different: reasons to doubt the changes.
    pub(super) warnings: Vec<String>,
}

/// How something is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Tone {
    Good,
    Bad,
    Note,
    Plain,
}

/// Text with its tone.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Piece {
    pub(super) tone: Tone,
    pub(super) text: String,
}

/// One participant at one point.
#[derive(Debug, Clone, Serialize)]
pub(super) struct VerdictLine {
    /// The point's name; empty for the only one.
    pub(super) point: String,
    /// Index.
    pub(super) participant: usize,
    /// "jeshim against system".
    pub(super) start: String,
    pub(super) pieces: Vec<Piece>,
}

/// A table: the first `names` columns are text, the others numbers.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Table {
    /// Empty: it needs none.
    pub(super) title: String,
    pub(super) names: usize,
    pub(super) header: Vec<String>,
    pub(super) rows: Vec<Vec<Entry>>,
}

/// A field of a table.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Entry {
    pub(super) text: String,
    /// Against the baseline, with its mark.
    pub(super) change: Option<Piece>,
}

impl Entry {
    pub(super) fn text(text: impl Into<String>) -> Entry {
        Entry { text: text.into(), change: None }
    }
}

impl Document {
    /// With all figures, or with those that matter most; with what has changed since an older result, where there is one.
    pub(super) fn of(comparison: &Comparison, analysis: &Analysis, older: Option<&Against>, all: bool) -> Document {
        let shown = table::shown(comparison, analysis, all);
        let tables = table::tables(comparison, analysis, &shown);
        let key = if tables.is_empty() { String::new() } else { table::key(comparison, &tables) };
        Document {
            title: comparison.name.as_deref().map(printable),
            description: comparison.description.as_deref().map(printable),
            verdicts: verdicts::lines(comparison, analysis),
            tables,
            key,
            left_out: table::shown(comparison, analysis, true).len().saturating_sub(shown.len()),
            memory: memory::tables(comparison),
            memory_key: memory::KEY,
            since: older.map(|older| changes::since(older, comparison, all)),
            served: served::lines(comparison),
            findings: comparison.findings.iter().map(|finding| sentences::finding(comparison, finding)).collect(),
            machine: sentences::machine(comparison),
            measured: sentences::measured(comparison),
            repeat: sentences::repeat(comparison),
        }
    }
}
