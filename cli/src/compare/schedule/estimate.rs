//! How long it will take.

use super::{ENOUGH, Effort, Job, LEAST, MOST};
use crate::compare::statistics::describe::median;
use std::collections::BTreeMap;
use std::time::Duration;

/// How many looks at the intervals are taken together.
const LOOKS: usize = 7;

/// What is known about times and intervals so far.
#[derive(Debug, Default)]
pub(super) struct Estimate {
    /// How long runs took, by participant and point, in the order of their length.
    took: BTreeMap<(usize, usize), Vec<Duration>>,
    /// At each look: rounds times the square of the widest interval, to each side. As long as the noise is the same, so is
    /// this: an interval becomes half as wide with four times as many rounds.
    noise: Vec<f64>,
}

impl Estimate {
    /// Remembers how long a run took.
    pub(super) fn took(&mut self, job: Job, time: Duration) {
        let times = self.took.entry((job.participant, job.point)).or_default();
        let place = times.partition_point(|shorter| *shorter <= time);
        times.insert(place, time);
    }

    /// Remembers how wide the widest interval is.
    pub(super) fn spread(&mut self, rounds: u32, widest: f64) {
        self.noise.push(f64::from(rounds) * widest.powi(2));
    }

    /// How many rounds there will be, when `round` is about to begin.
    pub(super) fn rounds(&self, round: u32, effort: &Effort, jobs: &[Job], elapsed: Duration) -> u32 {
        if let Some(rounds) = effort.rounds {
            return rounds;
        }
        // The intervals of a few rounds are a matter of chance themselves.
        let last = self.noise.get(self.noise.len().saturating_sub(LOOKS)..).unwrap_or_default();
        // A float that is too large becomes the largest integer.
        let precise = median(last).map_or(ENOUGH, |noise| (noise / effort.precision.max(1e-9).powi(2)).ceil() as u32);
        let affordable = self.round(jobs).filter(|time| !time.is_zero()).map_or(MOST, |time| {
            let more = effort.budget.saturating_sub(elapsed).as_secs_f64() / time.as_secs_f64();
            round.saturating_add(more as u32).max(LEAST)
        });
        let fewest = round.saturating_add(1).max(ENOUGH.min(affordable));
        precise.min(affordable).clamp(fewest, MOST.max(fewest))
    }

    /// How long these and so many more rounds of `jobs` will take. `None`: no run was made.
    pub(super) fn left(&self, rest: &[Job], jobs: &[Job], more: usize) -> Option<Duration> {
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        Some(self.round(rest)?.saturating_add(self.round(jobs)?.saturating_mul(more)))
    }

    /// How long these runs will take: each the median of its like, or the mean of those where there is none.
    pub(super) fn round(&self, jobs: &[Job]) -> Option<Duration> {
        let medians = || self.took.values().filter_map(|times| times.get(times.len() / 2).copied());
        let known = u32::try_from(medians().count()).ok().filter(|known| *known > 0)?;
        let mean = medians().fold(Duration::ZERO, Duration::saturating_add) / known;
        let of = |job: &Job| {
            let times = self.took.get(&(job.participant, job.point));
            times.and_then(|times| times.get(times.len() / 2).copied()).unwrap_or(mean)
        };
        Some(jobs.iter().map(of).fold(Duration::ZERO, Duration::saturating_add))
    }
}
