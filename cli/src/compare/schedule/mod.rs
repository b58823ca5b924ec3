//! Which runs are made, in which order, and when it is enough.
//!
//! Runs are made round by round. In a round every point has its turn, and at a point every participant: they are
//! neighbours in time there, and what the machine does meanwhile happens to all of them. Who goes first changes from round
//! to round ([`order`]).
//!
//! It is enough after the rounds that were asked for. Without such a number: after [`ENOUGH`] (10) at least, when every
//! ratio of wall time and peak memory (of a server: of every headline figure) is known to the precision asked for; or when
//! the next round would not be over within the budget, but not before [`LEAST`] (3); or after [`MOST`] (1000).

mod ending;
mod estimate;
pub mod order;
mod standing;

#[cfg(test)]
mod tests;

use super::plan::Effort;
use super::results::{Comparison, Run};
use estimate::Estimate;
use standing::Standing;
use std::time::Duration;

/// Rounds before a comparison without a number of rounds may end because it is precise.
pub const ENOUGH: u32 = 10;

/// Rounds that are made even when the budget does not suffice.
pub const LEAST: u32 = 3;

/// Rounds after which a comparison without a number of rounds ends, whatever the budget.
pub const MOST: u32 = 1000;

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

/// Why it was enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The rounds that were asked for are made, or [`MOST`].
    Rounds,
    /// Every ratio is known to the precision asked for.
    Precise,
    /// The next round would not be over within the budget.
    Budget,
    /// A signal asked for it.
    Interrupted,
    /// Nobody is left to be run, or to be compared with the baseline.
    Nothing,
}

/// How far it has come: told before each run.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Runs that were made.
    pub done: usize,
    /// Runs that there will be as far as one can tell, these included.
    pub expected: usize,
    /// The round, from 0.
    pub round: u32,
    /// The run that is about to be made.
    pub job: Job,
    /// Time until the end, by the runs so far; `None` before the first.
    pub left: Option<Duration>,
}

/// Makes the runs, and puts them in the comparison, with findings about participants that failed, a budget that was too
/// small and figures that are too noisy. Nobody is run where `skip` (participant, point) says so. After a signal the
/// comparison is marked as interrupted.
///
/// # Errors
/// When no more runs can be made, for another reason than a signal: those that were made, and what they have shown, are in
/// the comparison.
pub fn run(
    executor: &mut dyn Executor,
    effort: &Effort,
    comparison: &mut Comparison,
    skip: &dyn Fn(usize, usize) -> bool,
    progress: &mut dyn FnMut(&Progress),
) -> anyhow::Result<Why> {
    let mut standing = Standing::new(comparison, skip);
    let mut estimate = Estimate::default();
    let ended = rounds(executor, effort, comparison, &mut standing, &mut estimate, progress);
    // What was seen until then is said also when it cannot go on.
    let why = *ended.as_ref().unwrap_or(&Why::Nothing);
    comparison.interrupted |= why == Why::Interrupted;
    let findings = ending::findings(comparison, effort, &standing, why);
    comparison.findings.extend(findings);
    ended
}

fn rounds(
    executor: &mut dyn Executor,
    effort: &Effort,
    comparison: &mut Comparison,
    standing: &mut Standing,
    estimate: &mut Estimate,
    progress: &mut dyn FnMut(&Progress),
) -> anyhow::Result<Why> {
    let mut done = 0_usize;
    for round in 0..effort.rounds.unwrap_or(MOST) {
        let jobs = standing.jobs(round);
        if jobs.is_empty() {
            return Ok(Why::Nothing);
        }
        if let Some(why) = ending::enough(round, effort, comparison, standing, estimate, executor.elapsed()) {
            return Ok(why);
        }
        let rounds = estimate.rounds(round, effort, &jobs, executor.elapsed());
        for (at, job) in jobs.iter().enumerate() {
            let rest = jobs.get(at..).unwrap_or_default();
            let more = usize::try_from(rounds.saturating_sub(round).saturating_sub(1)).unwrap_or(usize::MAX);
            let expected = done.saturating_add(rest.len()).saturating_add(jobs.len().saturating_mul(more));
            let left = estimate.left(rest, &jobs, more);
            progress(&Progress { done, expected, round, job: *job, left });
            let before = executor.elapsed();
            let run = match executor.run(*job) {
                Ok(run) => Run { round, participant: job.participant, point: job.point, ..run },
                Err(Stop::Interrupted) => return Ok(Why::Interrupted),
                Err(Stop::Broken(error)) => return Err(error),
            };
            estimate.took(*job, executor.elapsed().saturating_sub(before));
            standing.saw(&run);
            comparison.runs.push(run);
            done = done.saturating_add(1);
        }
    }
    Ok(Why::Rounds)
}
