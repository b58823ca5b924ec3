//! What can be typed behind `jeshim compare`.

use super::duration;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Measure which allocator is better for a program
#[derive(Debug, Clone, Args)]
#[command(after_help = "examples:
  jeshim compare -- python3 app.py                          the system's allocator against jeshim
  jeshim compare --with system --with mimalloc --with jeshim -- ./benchmark
  jeshim compare --with small=tcmalloc,TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES=16777216 --with tcmalloc -- ./server-test
  jeshim compare --metric 'rate=(\\d+) requests/s' --higher-is-better -P threads=1,2,4,8 -- ./load --threads {threads}
  jeshim compare --html report.html                         no CMD: the workloads that come with jeshim
  jeshim compare --scenario scenarios/redis/redis.toml

exit status: 0 compared, whatever the outcome; 1 runs of a participant failed, or it does not serve, or a part only;
125 jeshim could not do its work; 126, 127 CMD cannot be executed, is not found; 130 interrupted, what was measured is kept")]
pub struct Compare {
    /// An allocator that takes part: NAME, or LABEL=NAME, or LABEL=PATH of a library; then settings of its own:
    /// variables, and conf= and preset= for jemalloc's options. The first one is the baseline. Without any: system, jeshim
    #[arg(long = "with", value_name = "NAME[=LIB][,ENV=..,conf=..]")]
    pub participants: Vec<String>,
    /// Which participant the others are measured against, instead of the first
    #[arg(long, value_name = "LABEL")]
    pub baseline: Option<String>,
    /// Show the allocators that this machine has, and run nothing
    #[arg(long)]
    pub list: bool,
    /// jeshim's library; without it, it is looked for as `run` does
    #[arg(long, value_name = "PATH")]
    pub lib: Option<PathBuf>,
    /// Take what is to be compared, and how, from a file (docs/scenarios.md); options given here win
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    pub scenario: Option<PathBuf>,
    /// Values for {NAME} in CMD; every value is compared. Several: every combination
    #[arg(long = "parameter", short = 'P', value_name = "NAME=VALUE,..")]
    pub parameters: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub effort: EffortArguments,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub figures: FigureArguments,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub server: ServerArguments,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub output: OutputArguments,
    /// The program and its arguments; without it, the workloads that come with jeshim
    #[arg(value_name = "CMD", trailing_var_arg = true)]
    pub command: Vec<OsString>,
}

/// How long, and how carefully.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Effort")]
pub struct EffortArguments {
    /// Measured rounds; in each, every participant runs once. Without it: until the precision is reached
    #[arg(long, value_name = "NUMBER", conflicts_with = "budget", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rounds: Option<u32>,
    /// Runs before the measured ones, for each participant; at least one, in which the allocator is proven to serve
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub warmup: Option<u32>,
    /// Stop when the interval of every ratio of wall time and memory is no wider than this to each side, in per cent [default: 1]
    #[arg(long, value_name = "PERCENT")]
    pub precision: Option<f64>,
    /// Stop when so much time is over, such as 30s, 10m, after three rounds at the earliest [default: 2m]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub budget: Option<Duration>,
    /// End a run that takes longer [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub timeout: Option<Duration>,
    /// How often memory is looked at during a run; 0 for never [default: 10ms]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub sample: Option<Duration>,
    /// Compare also runs that end with another status than 0
    #[arg(long)]
    pub ignore_failure: bool,
    /// Compare also participants of which it was seen that they serve a part of the memory, or of the processes, only
    #[arg(long)]
    pub in_part: bool,
    /// Leave out the run with the heap profiler that tells how many bytes were asked for
    #[arg(long)]
    pub no_requested: bool,
}

/// Figures of the program itself.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Figures of the program itself")]
pub struct FigureArguments {
    /// A figure in what CMD prints: the regular expression's first group. With groups called <name> and <value> each
    /// match is a figure; otherwise every named group is one
    #[arg(long = "metric", value_name = "NAME=REGEX")]
    pub metrics: Vec<String>,
    /// A figure in JSON that CMD prints: the way to it, parted by dots, as in latency.p99
    #[arg(id = "metric_json", long = "metric-json", value_name = "[NAME=]PATH")]
    pub json: Vec<String>,
    /// More is better: of every --metric and --metric-json, or of those that are named
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "*")]
    pub higher_is_better: Vec<String>,
}

/// CMD is a server.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Servers")]
pub struct ServerArguments {
    /// CMD is a server: it is started, waited for, driven by the phases, and stopped
    #[arg(long)]
    pub server: bool,
    /// It is ready when this TCP port of 127.0.0.1 takes connections; the port must be free before
    #[arg(long, value_name = "PORT")]
    pub ready_port: Option<u16>,
    /// It is ready when it has printed a line that this regular expression matches
    #[arg(long, value_name = "REGEX")]
    pub ready_log: Option<String>,
    /// It is ready when this shell command succeeds
    #[arg(long, value_name = "CMD")]
    pub ready_cmd: Option<String>,
    /// A shell command that is run against it, without the allocator; memory and metrics are read after each
    #[arg(long = "phase", value_name = "NAME=CMD")]
    pub phases: Vec<String>,
    /// A shell command whose output the metrics are read from after each phase, besides the phase's own
    #[arg(long, value_name = "CMD")]
    pub probe: Option<String>,
    /// Let it rest that long after the last phase, and read once more
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub settle: Option<Duration>,
    /// How long it may take to become ready [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub ready_timeout: Option<Duration>,
    /// How long it may take to end on SIGTERM, before SIGKILL [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub stop_timeout: Option<Duration>,
}

impl ServerArguments {
    /// The first of the options that need a server, as it is typed.
    pub fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--ready-port", self.ready_port.is_some()),
            ("--ready-log", self.ready_log.is_some()),
            ("--ready-cmd", self.ready_cmd.is_some()),
            ("--phase", !self.phases.is_empty()),
            ("--probe", self.probe.is_some()),
            ("--settle", self.settle.is_some()),
            ("--ready-timeout", self.ready_timeout.is_some()),
            ("--stop-timeout", self.stop_timeout.is_some()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }
}

/// Where the result goes.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArguments {
    /// The whole result for machines, and for --against: on standard output, or in a file
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub json: Option<PathBuf>,
    /// A line for every run and figure
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub csv: Option<PathBuf>,
    /// The tables, for a report or an issue
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub markdown: Option<PathBuf>,
    /// One page with plots, complete in itself
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Compare with an older result (--json=FILE)
    #[arg(long, value_name = "FILE")]
    pub against: Option<PathBuf>,
    /// Show every figure, not only those that matter most
    #[arg(long)]
    pub all: bool,
    /// Print no progress
    #[arg(long, short)]
    pub quiet: bool,
}
