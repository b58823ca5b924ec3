//! What can be typed. Everything else is in the module of the command's name.

pub mod compare;

pub use compare::Compare;

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Puts jemalloc under a program that is already built, proves that it took, and shows what it changed.
#[derive(Debug, Parser)]
#[command(name = "jeshim", version, propagate_version = true, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "example: jeshim check -- python3 -c 'print(1)'")]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a program on jemalloc
    Run(Run),
    /// Print the settings of `run` as text to paste: for a shell, a service, a container
    Env(Env),
    /// Say whether jemalloc serves a program, and if not, why not
    Check(Check),
    /// Measure which allocator is better for a program
    Compare(Box<Compare>),
    /// Look at this machine: what is in the way of jemalloc, or would surprise
    Doctor(Doctor),
    /// Print the completions for a shell
    Completions(Completions),
    /// Write the manual pages
    Man(Man),
}

/// What a program is run with. Shared by `run`, `env` and `check`.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Settings")]
pub struct Settings {
    /// The library; without it, it is looked for beside this command, in ../lib/jeshim, and in cargo's target folder
    #[arg(long, value_name = "PATH")]
    pub lib: Option<PathBuf>,
    /// A set of options for a purpose; `--preset help` shows what each one trades
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// Options of jemalloc, as in MALLOC_CONF: name:value,name:value; they win over the preset
    #[arg(long, value_name = "NAME:VALUE,...")]
    pub conf: Vec<String>,
    /// Let every process write its proof record there; %p is the pid, %e the program
    #[arg(long, value_name = "PATH")]
    pub report: Option<PathBuf>,
    /// Programs that this one starts do not get the library
    #[arg(long)]
    pub no_children: bool,
}

/// Run a program on jemalloc
#[derive(Debug, Args)]
#[command(after_help = "examples:
  jeshim run -- redis-server
  jeshim run --preset low-rss --stats -- python3 app.py
  jeshim run --conf dirty_decay_ms:1000,narenas:2 -- ./server --port 80

exit status: CMD's own; 125 jeshim could not do its work, or a preload cannot work; 126, 127 CMD cannot be executed, is not found")]
pub struct Run {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub settings: Settings,
    /// Show after the end what jemalloc did for the program; jeshim stays as its parent until then
    #[arg(long)]
    pub stats: bool,
    /// Start the program also when jemalloc cannot serve it
    #[arg(long)]
    pub force: bool,
    /// Print the variables that would be set, and run nothing
    #[arg(long)]
    pub print_env: bool,
    /// The program and its arguments
    #[arg(value_name = "CMD", trailing_var_arg = true, required_unless_present_any = ["print_env", "preset"])]
    pub command: Vec<OsString>,
}

/// Print the settings of `run` as text to paste
#[derive(Debug, Args)]
#[command(after_help = "examples:
  eval \"$(jeshim env)\"
  jeshim env --preset low-rss --format systemd > /etc/systemd/system/app.service.d/jemalloc.conf")]
pub struct Env {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub settings: Settings,
    /// Whose text
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// The formats of `jeshim env`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// POSIX shells: bash, dash, zsh
    #[default]
    Sh,
    /// fish
    Fish,
    /// A drop-in file for a systemd service
    Systemd,
    /// Lines for a Dockerfile
    Docker,
    /// The `environment` and `volumes` of a service in a compose file
    Compose,
    /// A strategic-merge patch for a Kubernetes Deployment
    K8s,
    /// A line for a program in supervisord's configuration
    Supervisord,
    /// Keys for a launchd property list (macOS)
    Launchd,
}

/// Say whether jemalloc serves a program, and if not, why not
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["command", "pid", "file"]))]
#[command(after_help = "examples:
  jeshim check -- python3 -c 'print(1)'      runs it on jemalloc, and shows every process of its tree
  jeshim check --pid $(pidof redis-server)   looks at a process from outside, without stopping it
  jeshim check --file /usr/bin/node          tells from the file what stands in the way

exit status: 0 served, 1 not served, 2 in part, 3 could not tell, 125 jeshim could not do its work,
126, 127 CMD cannot be executed, is not found")]
pub struct Check {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub settings: Settings,
    /// Look at this live process, from outside
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
    /// Look at this file only; nothing is run
    #[arg(long, value_name = "PATH")]
    pub file: Option<PathBuf>,
    /// Follow processes that outlive CMD for that long, such as 500ms, 10s, 2m
    #[arg(long = "for", value_name = "TIME", default_value = "0s", value_parser = duration)]
    pub follow: Duration,
    /// Print facts for machines, on standard output
    #[arg(long)]
    pub json: bool,
    /// Write the report to this file instead of standard error (standard output with --json)
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Show every process, not only the first of those that are alike
    #[arg(long)]
    pub all: bool,
    /// The program and its arguments
    #[arg(value_name = "CMD", trailing_var_arg = true)]
    pub command: Vec<OsString>,
}

/// Look at this machine: what is in the way of jemalloc, or would surprise
#[derive(Debug, Args)]
#[command(after_help = "exit status: 0 no problem, 1 a problem, 125 jeshim could not do its work")]
pub struct Doctor {
    /// The library; without it, it is looked for as `run` does
    #[arg(long, value_name = "PATH")]
    pub lib: Option<PathBuf>,
    /// Print facts for machines
    #[arg(long)]
    pub json: bool,
}

/// Print the completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "example: jeshim completions bash > /etc/bash_completion.d/jeshim")]
pub struct Completions {
    /// Which shell
    pub shell: clap_complete::Shell,
}

/// Write the manual pages
#[derive(Debug, Args)]
#[command(after_help = "example: jeshim man /usr/local/share/man/man1")]
pub struct Man {
    /// The folder to write them to, jeshim.1 and one for each command; it is created when missing
    pub folder: PathBuf,
}

/// No time that is typed is longer.
const LONGEST: Duration = Duration::from_secs(1000 * 3600);

/// `500ms`, `10s`, `2m`, `1h`, or seconds without a unit.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit = match unit {
        "ms" => 0.001,
        "s" | "" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("'{unit}' is not a unit of time; write ms, s, m or h, as in 10s")),
    };
    let number: f64 = number.parse().map_err(|_| "not a time; write a number and a unit, as in 10s".to_owned())?;
    let time = Duration::try_from_secs_f64(number * unit).ok().filter(|time| *time <= LONGEST);
    time.ok_or_else(|| "too long: at most 1000h".to_owned())
}
