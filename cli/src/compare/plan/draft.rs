//! What was asked for, by the command line or in a scenario, before it is checked; each part knows where it was written.

use super::{CommandLine, Parameter, Phase};
use crate::compare::metrics::Metrics;
use crate::terminal::printable;
use std::path::PathBuf;
use std::time::Duration;

/// A place in a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// `redis.toml:12:5`.
    pub(crate) at: String,
    /// The line, and what points into it.
    pub(crate) shown: String,
}

impl Place {
    /// The place at an offset into a file's text.
    pub(crate) fn new(file: &str, text: &str, offset: usize) -> Place {
        let before = text.get(..offset).unwrap_or(text);
        let start = before.rfind('\n').map_or(0, |end| end.saturating_add(1));
        let number = before.matches('\n').count().saturating_add(1);
        let line = text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
        let column = before.get(start..).unwrap_or_default().chars().count().saturating_add(1);
        let margin = " ".repeat(number.to_string().len());
        // A line of somebody else's may be of any length.
        let short: String = line.chars().take(column.saturating_add(80)).collect();
        let pointer = " ".repeat(column.saturating_sub(1).min(1000));
        Place {
            at: format!("{}:{number}:{column}", printable(file)),
            shown: format!("    {number} | {}\n    {margin} | {pointer}^", printable(short)),
        }
    }
}

/// A value, and where it was written; `None`: it was typed.
#[derive(Debug, Clone)]
pub(crate) struct Given<T> {
    pub(crate) value: T,
    pub(crate) place: Option<Place>,
}

impl<T> Given<T> {
    /// What was typed.
    pub(crate) fn typed(value: T) -> Given<T> {
        Given { value, place: None }
    }

    /// An error about it.
    pub(crate) fn wrong(&self, cause: impl std::fmt::Display) -> anyhow::Error {
        wrong(self.place.as_ref(), cause)
    }

    /// Another value from the same place.
    pub(crate) fn with<U>(&self, value: U) -> Given<U> {
        Given { value, place: self.place.clone() }
    }
}

/// An error about what is at a place.
pub(crate) fn wrong(place: Option<&Place>, cause: impl std::fmt::Display) -> anyhow::Error {
    match place {
        Some(place) => anyhow::anyhow!("{}: {cause}\n{}", place.at, place.shown),
        None => anyhow::anyhow!("{cause}"),
    }
}

/// All that can be asked for. What is `None` or empty was not.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) name: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) needs: Vec<Given<Need>>,
    pub(crate) baseline: Option<Given<String>>,
    pub(crate) commands: Vec<Given<CommandLine>>,
    /// Values that are compared with each other.
    pub(crate) parameters: Vec<Given<Parameter>>,
    /// Parameters of a scenario that have one value: they are no dimension of the result.
    pub(crate) constants: Vec<Given<Parameter>>,
    pub(crate) metrics: Metrics,
    pub(crate) effort: EffortDraft,
    pub(crate) server: Option<Given<ServerDraft>>,
    pub(crate) folder: Option<PathBuf>,
}

/// A program that a scenario needs.
#[derive(Debug, Clone)]
pub(crate) struct Need {
    /// A name that is looked for in PATH, or a path from the scenario's folder.
    pub(crate) program: String,
    /// How to come by it.
    pub(crate) remedy: Option<String>,
}

#[derive(Debug, Default)]
pub(crate) struct EffortDraft {
    pub(crate) rounds: Option<u32>,
    pub(crate) warmup: Option<u32>,
    /// In per cent.
    pub(crate) precision: Option<Given<f64>>,
    pub(crate) budget: Option<Duration>,
    pub(crate) timeout: Option<Given<Duration>>,
    pub(crate) sample: Option<Duration>,
    pub(crate) ignore_failure: bool,
    pub(crate) no_requested: bool,
    pub(crate) in_part: bool,
}

#[derive(Debug, Default)]
pub(crate) struct ServerDraft {
    /// One is wanted.
    pub(crate) ready: Vec<Given<ReadyDraft>>,
    pub(crate) ready_timeout: Option<Duration>,
    pub(crate) phases: Vec<Given<Phase>>,
    pub(crate) probe: Option<Given<String>>,
    pub(crate) settle: Option<Duration>,
    pub(crate) stop_timeout: Option<Duration>,
}

/// As it was written: with parameters in it.
#[derive(Debug, Clone)]
pub(crate) enum ReadyDraft {
    Port(String),
    Log(String),
    Command(String),
}
