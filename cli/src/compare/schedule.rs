//! Which runs are made, in which order, and when it is enough.

use super::results::Run;
use std::time::Duration;

/// A run to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    /// From 0.
    pub round: u32,
    /// Index of the participant.
    pub participant: usize,
    /// Index of the point.
    pub point: usize,
}

/// Why no more runs can be made.
#[derive(Debug)]
pub enum Stop {
    /// Ctrl-C or another signal that asks for an end: what was measured is kept.
    Interrupted,
    /// jeshim cannot go on.
    Broken(anyhow::Error),
}

/// Who makes the runs. A trait, so that the order and the stopping rule are tested without any.
pub trait Executor {
    /// Makes one measured run. A program that fails is a [`Run`] with a `failure`.
    ///
    /// # Errors
    /// When no more runs can be made.
    fn run(&mut self, job: Job) -> Result<Run, Stop>;

    /// Time since the first measured run began.
    fn elapsed(&self) -> Duration;
}
