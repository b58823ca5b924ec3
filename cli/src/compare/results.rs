//! What a comparison has measured: nothing that could be derived from it ([`super::analysis`]). It is what `--json`
//! writes and `--against` reads.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Version of the form: a change of meaning raises it, members may be added.
pub const FORMAT: u32 = 1;

/// A whole comparison.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Comparison {
    /// [`FORMAT`].
    pub comparison: u32,
    /// The command's own version.
    pub jeshim: String,
    /// Name of the scenario, if it has one.
    pub name: Option<String>,
    /// What the scenario is about.
    pub description: Option<String>,
    /// What was typed behind `jeshim`, so that it can be done again; empty: not known.
    pub asked: Vec<String>,
    /// When it began, in seconds since 1970.
    pub started: u64,
    /// How long it took, in seconds.
    pub took: f64,
    /// Whether it was ended by Ctrl-C or a signal before it was complete.
    pub interrupted: bool,
    /// Why jeshim could not go on; `None`: it could.
    pub broken: Option<String>,
    /// Where it was run.
    pub machine: Machine,
    /// Who took part; the order of the columns.
    pub participants: Vec<Participant>,
    /// Index of the participant that the others are measured against.
    pub baseline: usize,
    /// Whether a server was started and driven by phases.
    pub server: bool,
    /// What was run: each command under each combination of parameters.
    pub points: Vec<Point>,
    /// What was measured, in the order of the rows.
    pub figures: Vec<Figure>,
    /// Every measured run, also those that failed, in the order in which they were made.
    pub runs: Vec<Run>,
    /// What was seen in the runs before the measured ones, for each participant and point.
    pub proofs: Vec<Proof>,
    /// What a reader has to know: participants that failed or did not serve, metrics that did not match, a noisy machine.
    pub findings: Vec<Finding>,
    /// The narrowest interval that was asked for, as a share: 0.01 is one per cent to each side.
    pub precision: f64,
}

/// The machine and the state that it was in.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// "Linux 6.1.0 x86_64".
    pub system: String,
    /// "Debian GNU/Linux 12 (bookworm)".
    pub distribution: Option<String>,
    /// The processor's name.
    pub processor: Option<String>,
    /// Processors that this process may use.
    pub processors: u32,
    /// Processors' worth of time that the container has, if it is limited.
    pub quota: Option<f64>,
    /// Scaling governor, such as "performance".
    pub governor: Option<String>,
    /// Whether the processor may change its frequency for a while (turbo, boost).
    pub boost: Option<bool>,
    /// Transparent huge pages: "always", "madvise", "never".
    pub huge_pages: Option<String>,
    /// Bytes.
    pub memory: Option<u64>,
    /// Limit of the container in bytes.
    pub memory_limit: Option<u64>,
    /// Bytes of a page.
    pub page_size: u64,
    /// Load average of one minute, before and after.
    pub load: Option<(f64, f64)>,
    /// "glibc 2.36".
    pub c_library: Option<String>,
}

/// One that takes part: an allocator with its settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Participant {
    /// What it is called in the tables; unique.
    pub label: String,
    /// Which allocator: "system", "jeshim", "tcmalloc", or the file name of a library.
    pub allocator: String,
    /// The library that is preloaded; `None` for the system's.
    pub library: Option<PathBuf>,
    /// Version as far as the file tells.
    pub version: Option<String>,
    /// Variables that were set for it, LD_PRELOAD included.
    pub variables: BTreeMap<String, String>,
}

/// A command under one combination of parameters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Point {
    /// Name of the command: empty when there is only one.
    pub command: String,
    /// What was run: words.
    pub words: Vec<String>,
    /// Parameters in the order in which they were typed, with their value here.
    pub parameters: Vec<(String, String)>,
}

/// Something that is measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Figure {
    /// The key in [`Run::figures`]: "wall", "peak_rss", "metric/iops", "phase/loaded/rss".
    pub id: String,
    /// What it is called in the tables: "wall time", "iops", "loaded: RSS".
    pub name: String,
    /// Unit.
    pub unit: Unit,
    /// Whether more of it is better.
    pub higher_is_better: bool,
    /// Whether it is among those that are shown first, and judged in words.
    pub headline: bool,
}

/// The unit of a figure: how it is written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// How often something happened.
    Count,
    /// A number of the program's own, as it prints it.
    #[default]
    Plain,
}

/// One measured run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Run {
    /// From 0. Runs of one round at one point are neighbours in time, and are compared with each other.
    pub round: u32,
    /// Index of the participant.
    pub participant: usize,
    /// Index of the point.
    pub point: usize,
    /// Why it does not count; `None`: it does.
    pub failure: Option<String>,
    /// By the figure's id.
    pub figures: BTreeMap<String, f64>,
    /// Memory over time: seconds from its start, and bytes resident in the whole tree of processes.
    pub memory: Vec<(f32, u64)>,
    /// Where on that axis phases ended, by name.
    pub marks: Vec<(f32, String)>,
}

/// Whether an allocator serves a command: what was seen in a run before the measured ones.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Proof {
    /// Index of the participant.
    pub participant: usize,
    /// Index of the point.
    pub point: usize,
    /// The answer. Those that are not [`Served::Yes`] or [`Served::Unknown`] are not compared.
    pub served: Served,
    /// Which allocator it really is: "glibc 2.36 (libc.so.6)", "libmimalloc.so.2".
    pub by: Option<String>,
    /// Why, or what was seen: one line without a full stop, with the remedy where there is one.
    pub because: String,
    /// Where the memory was at exit, for jemalloc.
    pub memory: Option<Memory>,
}

/// Whether an allocator serves a program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Served {
    /// It was seen.
    Yes,
    /// It was seen that it does not.
    No,
    /// For some processes or some memory.
    Part,
    /// Nothing was seen that allows an answer.
    #[default]
    Unknown,
}

/// Where the memory of a process is that jemalloc serves, at its exit. Bytes. The parts, from `requested` to `metadata`,
/// add up to `resident` (docs/compare.md).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// What the program asked for and has not freed, estimated by the heap profiler in a run of its own; `None`: not known.
    pub requested: Option<u64>,
    /// Blocks of size classes that the program has not freed (`stats.allocated`, less what thread caches hold).
    pub usable: u64,
    /// Freed blocks that threads keep for themselves (`tcache_bytes`).
    pub thread_caches: u64,
    /// Free blocks in slabs that hold others in use, and the space that large blocks have for their alignment
    /// (`stats.active` less `stats.allocated`).
    pub slab_free: u64,
    /// Unused pages that are kept for a while (`pdirty`).
    pub dirty: u64,
    /// Unused pages that the system may take when it needs them (`pmuzzy`); not in `resident`.
    pub muzzy: u64,
    /// jemalloc's own.
    pub metadata: u64,
    /// `stats.active`.
    pub active: u64,
    /// `stats.resident`: active, dirty and metadata.
    pub resident: u64,
    /// `stats.retained`: addresses kept without memory behind them.
    pub retained: u64,
    /// Allocations served.
    pub allocations: u64,
}

/// The ids of findings (docs/compare.md).
pub mod finding {
    /// Runs of one participant failed where others did not.
    pub const FAILED: &str = "failed";
    /// The allocator was seen not to serve.
    pub const NOT_SERVED: &str = "not_served";
    /// It serves a part of the memory, or of the processes.
    pub const SERVED_IN_PART: &str = "served_in_part";
    /// Nothing was seen that tells whether it serves.
    pub const NOT_PROVEN: &str = "not_proven";
    /// A figure that matters could not be told.
    pub const TOO_NOISY: &str = "too_noisy";
    /// A figure that matters has no ratio: one side alone has 0.
    pub const NO_RATIO: &str = "no_ratio";
    /// The budget was over before the precision was reached.
    pub const SHORT_BUDGET: &str = "short_budget";
    /// A metric was found in no run.
    pub const METRIC: &str = "metric_never_matched";
    /// One participant never printed a metric that others have.
    pub const NOT_PRINTED: &str = "metric_not_printed";
    /// The program left processes running.
    pub const LEFT_RUNNING: &str = "left_running";
    /// A server did not end on SIGTERM.
    pub const KILLED: &str = "killed";
    /// A server ended with another status than 0 when it was asked to end.
    pub const ENDED_BADLY: &str = "ended_badly";
    /// All of them.
    pub const ALL: [&str; 12] = [
        FAILED,
        NOT_SERVED,
        SERVED_IN_PART,
        NOT_PROVEN,
        TOO_NOISY,
        NO_RATIO,
        SHORT_BUDGET,
        METRIC,
        NOT_PRINTED,
        LEFT_RUNNING,
        KILLED,
        ENDED_BADLY,
    ];
}

/// What a reader has to know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Finding {
    /// For machines: one of [`finding`].
    pub id: String,
    /// Index of the participant that it is about.
    pub participant: Option<usize>,
    /// Index of the point that it is about.
    pub point: Option<usize>,
    /// A line: cause; remedy. Whom and which point it is about is not in it.
    pub text: String,
}

impl Comparison {
    /// The index of a figure by its id.
    pub fn figure(&self, id: &str) -> Option<usize> {
        self.figures.iter().position(|figure| figure.id == id)
    }

    /// The measured runs of a participant at a point that count.
    pub fn counted(&self, participant: usize, point: usize) -> impl Iterator<Item = &Run> {
        self.runs
            .iter()
            .filter(move |run| run.participant == participant && run.point == point && run.failure.is_none())
    }

    /// The values of a figure, in the order of the rounds, with the round.
    pub fn values(&self, figure: &str, participant: usize, point: usize) -> Vec<(u32, f64)> {
        self.counted(participant, point).filter_map(|run| Some((run.round, *run.figures.get(figure)?))).collect()
    }
}

impl Point {
    /// What tells it from the others, for a table: "json-rpc", "threads=4", "json-rpc, threads=4"; empty for the only one.
    pub fn name(&self) -> String {
        let parameters = self.parameters.iter().map(|(name, value)| format!("{name}={value}"));
        let command = (!self.command.is_empty()).then(|| self.command.clone());
        command.into_iter().chain(parameters).collect::<Vec<_>>().join(", ")
    }
}
