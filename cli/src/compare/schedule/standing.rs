//! Who is still run where.

use super::super::results::{Comparison, Run};
use super::{Job, order};
use std::collections::BTreeMap;

/// So many rounds in a row a participant may fail at a point where it has not succeeded yet.
const PATIENCE: u32 = 3;

/// Who is still run where, and why the others are not.
pub(super) struct Standing {
    participants: usize,
    points: usize,
    baseline: usize,
    /// By participant and point; those that are skipped are not there.
    places: BTreeMap<(usize, usize), Place>,
}

/// How a participant did at a point.
#[derive(Debug, Default)]
pub(super) struct Place {
    pub(super) runs: u32,
    pub(super) failures: u32,
    /// Why, the last time.
    pub(super) failure: Option<String>,
}

impl Place {
    /// Whether it is not run any more.
    pub(super) fn is_hopeless(&self) -> bool {
        self.failures >= PATIENCE && self.failures == self.runs
    }
}

impl Standing {
    pub(super) fn new(comparison: &Comparison, skip: &dyn Fn(usize, usize) -> bool) -> Standing {
        let (participants, points) = (comparison.participants.len(), comparison.points.len());
        let all = (0..participants).flat_map(|participant| (0..points).map(move |point| (participant, point)));
        let places = all.filter(|(participant, point)| !skip(*participant, *point));
        let places = places.map(|place| (place, Place::default())).collect();
        Standing { participants, points, baseline: comparison.baseline, places }
    }

    /// The runs of a round, in order. None at a point where the baseline is not run: nothing could be compared there.
    pub(super) fn jobs(&self, round: u32) -> Vec<Job> {
        let points = (0..self.points).filter(|point| self.is_run(self.baseline, *point));
        let jobs = points.flat_map(|point| {
            // The order is that of those that take part here: balanced among them.
            let here: Vec<usize> = (0..self.participants).filter(|who| self.is_run(*who, point)).collect();
            let order = order::of_round(round, here.len()).into_iter();
            let here: Vec<usize> = order.filter_map(|number| here.get(number).copied()).collect();
            here.into_iter().map(move |participant| Job { round, participant, point })
        });
        jobs.collect()
    }

    /// Takes a run into account.
    pub(super) fn saw(&mut self, run: &Run) {
        let Some(place) = self.places.get_mut(&(run.participant, run.point)) else { return };
        place.runs = place.runs.saturating_add(1);
        if run.failure.is_some() {
            place.failures = place.failures.saturating_add(1);
            place.failure.clone_from(&run.failure);
        }
    }

    /// Participants and points that are to be compared with the baseline there.
    pub(super) fn compared(&self) -> impl Iterator<Item = (usize, usize)> {
        let places = self.places.keys().copied();
        places.filter(|(participant, point)| {
            *participant != self.baseline && self.is_run(*participant, *point) && self.is_run(self.baseline, *point)
        })
    }

    /// Participants and points with a failure, and how they did.
    pub(super) fn failed(&self) -> impl Iterator<Item = (usize, usize, &Place)> {
        let failed = self.places.iter().filter(|(_, place)| place.failures > 0);
        failed.map(|((participant, point), place)| (*participant, *point, place))
    }

    fn is_run(&self, participant: usize, point: usize) -> bool {
        self.places.get(&(participant, point)).is_some_and(|place| !place.is_hopeless())
    }
}
