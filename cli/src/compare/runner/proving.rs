//! The runs before the measured ones.

use super::{Making, Refusal, Runner};
use crate::compare::allocators::Kind;
use crate::compare::breakdown;
use crate::compare::progress::Progress;
use crate::compare::proof::{Judgement, Watching};
use crate::compare::results::{Point, Proof};
use crate::compare::schedule::Stop;
use jeshim_host::launch::Ended;

/// How the first runs of a participant at a point came out.
pub struct Proven {
    /// What was seen.
    pub proof: Proof,
    /// Why it failed, if it did.
    pub failure: Option<Failed>,
}

/// A run that failed.
pub struct Failed {
    /// Why.
    pub why: String,
    /// Whether the program ended as programs do that fail.
    pub by_itself: bool,
}

impl Runner<'_> {
    /// The runs before the measured ones: the first proves who serves, the others warm up.
    ///
    /// # Errors
    /// When nothing can be run.
    pub fn prove(&mut self, participant: usize, point: usize, progress: &Progress) -> Result<Proven, Refusal> {
        let label = &self.plan.participants[participant].label;
        let at = at(&self.points[point]);
        progress.phase(&format!("proving {label}{at}"));
        let watching = Watching::begin(&self.plan.participants[participant]).map_err(Stop::Broken)?;
        let (judgement, mut failure) = self.watched(participant, point, watching)?;
        let mut proof = judgement.proof(participant, point);
        if let (None, Some(memory), true) = (&failure, proof.memory, self.plan.effort.requested)
            && let Some(asking) = Watching::for_requested(&self.plan.participants[participant]).map_err(Stop::Broken)?
        {
            progress.phase(&format!("counting what is asked of {label}{at}"));
            // The profiler changes where blocks lie, so nothing but the share is taken from it.
            let (asked, failure) = self.watched(participant, point, asking)?;
            if let (None, Some(other)) = (failure, asked.memory) {
                proof.memory = Some(breakdown::with_requested(memory, &other));
            }
        }
        for warmup in 1..self.plan.effort.warmup {
            if failure.is_some() {
                break;
            }
            let warmups = self.plan.effort.warmup;
            progress.phase(&format!("warming up {label}{at} ({} of {warmups})", warmup.saturating_add(1)));
            let seen = self.make(&Making { participant, point, more: &[], statistics: false, everywhere: false })?;
            failure = seen.run.failure.map(|why| Failed { why, by_itself: seen.ended != Some(Ended::Exited(0)) });
        }
        Ok(Proven { proof, failure })
    }

    /// A run that is watched, and what came of it.
    fn watched(
        &mut self,
        participant: usize,
        point: usize,
        watching: Watching,
    ) -> Result<(Judgement, Option<Failed>), Refusal> {
        let allocator = &self.plan.participants[participant];
        let statistics = matches!(allocator.kind, Kind::Jemalloc(_));
        let more = watching.variables();
        let seen = self.make(&Making { participant, point, more: &more, statistics, everywhere: true })?;
        let ended = seen.ended.unwrap_or(Ended::Exited(0));
        let words = self.plan.words(point, &self.points[point].parameters);
        let variables = self.variables(participant, &more);
        let judgement = watching.judge(allocator, &words, ended, seen.pid, &seen.printed, &variables);
        let judgement = judgement.with_programs_without(&seen.without);
        let failed = seen.run.failure.map(|why| Failed { why, by_itself: ended != Ended::Exited(0) });
        Ok((judgement, failed))
    }
}

/// " with threads=4", for a message.
fn at(point: &Point) -> String {
    let name = point.name();
    if name.is_empty() { name } else { format!(" with {name}") }
}
