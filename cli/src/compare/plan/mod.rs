//! What is compared, and how: made from what was typed ([`typed`]), or from a scenario, and complete before the first
//! run: both are laid into one [`draft`], which is then checked ([`check`]).

mod check;
pub(crate) mod draft;
#[cfg(test)]
pub(in crate::compare) mod tests;
pub mod typed;

pub use typed::{participants, plan};

use super::allocators::Allocator;
use super::metrics::Metrics;
use super::results;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// All of it.
#[derive(Debug)]
pub struct Plan {
    /// Name of the scenario.
    pub name: Option<String>,
    /// What it is about.
    pub description: Option<String>,
    /// Who takes part, in the order of the columns.
    pub participants: Vec<Allocator>,
    /// Index of the participant that the others are measured against.
    pub baseline: usize,
    /// What is run; each has a name unless it is the only one.
    pub commands: Vec<CommandLine>,
    /// Values for `{name}` in commands and phases.
    pub parameters: Vec<Parameter>,
    /// How a server is driven; `None`: the commands end by themselves.
    pub server: Option<Server>,
    /// Figures of the program itself.
    pub metrics: Metrics,
    /// How long, and how carefully.
    pub effort: Effort,
    /// The folder in which commands and phases are run; this process's when `None`.
    pub folder: Option<PathBuf>,
}

/// A program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// Empty when there is only one.
    pub name: String,
    /// Program and arguments, with `{parameter}` in them.
    pub words: Vec<OsString>,
}

/// A parameter that is swept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// As in `{name}`.
    pub name: String,
    /// As typed.
    pub values: Vec<String>,
}

/// How a server is driven.
#[derive(Debug, Clone)]
pub struct Server {
    /// How it is known to be ready.
    pub ready: Ready,
    /// How long that may take.
    pub ready_timeout: Duration,
    /// What is done to it, in order.
    pub phases: Vec<Phase>,
    /// A shell command whose output metrics are read from after each phase.
    pub probe: Option<String>,
    /// How long it rests after the last phase.
    pub settle: Option<Duration>,
    /// How long it may take to end on SIGTERM.
    pub stop_timeout: Duration,
}

/// How a server is known to be ready.
#[derive(Debug, Clone)]
pub enum Ready {
    /// A TCP port of 127.0.0.1 takes connections.
    Port(u16),
    /// A line that it prints matches.
    Log(regex::Regex),
    /// A shell command succeeds.
    Command(String),
}

/// A phase of a server's life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phase {
    /// What it is called.
    pub name: String,
    /// A shell command, with `{parameter}`, `{pid}` in it.
    pub command: String,
}

/// How long, and how carefully.
#[derive(Debug, Clone, PartialEq)]
pub struct Effort {
    /// A fixed number of rounds; `None`: until `precision` or `budget`.
    pub rounds: Option<u32>,
    /// Runs before the measured ones.
    pub warmup: u32,
    /// As a share: 0.01.
    pub precision: f64,
    /// Of the measured rounds.
    pub budget: Duration,
    /// For one run.
    pub timeout: Duration,
    /// How often memory is looked at; zero for never.
    pub sample: Duration,
    /// Whether runs that end with another status than 0 count.
    pub ignore_failure: bool,
    /// Whether participants are compared that serve a part only.
    pub in_part: bool,
    /// Whether one run more is made to learn how many bytes were asked for.
    pub requested: bool,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort {
            rounds: None,
            warmup: 1,
            precision: 0.01,
            budget: Duration::from_secs(120),
            timeout: Duration::from_secs(600),
            sample: Duration::from_millis(10),
            ignore_failure: false,
            in_part: false,
            requested: true,
        }
    }
}

impl Plan {
    /// Every command under every combination of parameters.
    pub fn points(&self) -> Vec<results::Point> {
        let mut combinations: Vec<Vec<(String, String)>> = vec![Vec::new()];
        for parameter in &self.parameters {
            combinations = combinations
                .iter()
                .flat_map(|combination| {
                    parameter.values.iter().map(|value| {
                        let mut longer = combination.clone();
                        longer.push((parameter.name.clone(), value.clone()));
                        longer
                    })
                })
                .collect();
        }
        let commands = self.commands.iter();
        commands
            .flat_map(|command| {
                combinations.iter().map(|parameters| results::Point {
                    command: command.name.clone(),
                    words: words(&command.words, parameters).iter().map(|word| word.to_string_lossy().into()).collect(),
                    parameters: parameters.clone(),
                })
            })
            .collect()
    }

    /// The words of a point, by its index in [`Plan::points`]. They may be any bytes, those of a result are UTF-8.
    pub fn words(&self, point: usize, parameters: &[(String, String)]) -> Vec<OsString> {
        let lengths = self.parameters.iter().map(|parameter| parameter.values.len());
        let combinations = lengths.fold(1_usize, usize::saturating_mul);
        let command = self.commands.get(point / combinations.max(1));
        command.map(|command| words(&command.words, parameters)).unwrap_or_default()
    }
}

/// Puts parameters in their places.
fn words(words: &[OsString], parameters: &[(String, String)]) -> Vec<OsString> {
    words.iter().map(|word| fill_word(word, parameters)).collect()
}

fn fill_word(word: &OsString, parameters: &[(String, String)]) -> OsString {
    // A word that is not UTF-8 has no parameters in it that could be told from its bytes.
    word.to_str().map_or_else(|| word.clone(), |word| fill(word, parameters).into())
}

/// Puts parameters in their places in a text: `{name}`; whatever else is in braces stays, and so do braces in a value.
pub fn fill(text: &str, parameters: &[(String, String)]) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(brace) = rest.find('{') {
        let (before, from) = rest.split_at(brace);
        filled.push_str(before);
        let here = parameters.iter().find_map(|(name, value)| {
            let after = from.strip_prefix('{')?.strip_prefix(name.as_str())?.strip_prefix('}')?;
            Some((value.as_str(), after))
        });
        let (put, after) = here.unwrap_or_else(|| from.split_at('{'.len_utf8()));
        filled.push_str(put);
        rest = after;
    }
    filled.push_str(rest);
    filled
}
