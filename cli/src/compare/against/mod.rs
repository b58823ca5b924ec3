//! A result against an older one: what has changed since, for participants of the same label, points of the same name and
//! figures of the same id.
//!
//! The runs are not in pairs: the two results are from different times, and whatever was different about the machine then
//! looks like a change of the program or its allocator. So a change has a second reading beside it where that is
//! possible: that of the participant's ratio to the baseline, from which what concerns both is gone. And all that can be
//! seen to be different is said.

mod differences;
pub mod read;

#[cfg(test)]
mod tests;

pub use differences::differences;
pub use read::read;

use super::analysis::Ratio;
use super::results::{Comparison, Figure};
use super::statistics::describe;
use serde::Serialize;

/// What has changed.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Against {
    /// In the order of points, figures, participants of the newer result.
    pub changes: Vec<Change>,
    /// What else is different, a line each: reasons to doubt the changes.
    pub warnings: Vec<String>,
}

/// A figure of a participant at a point. Indices are those of the newer result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Index of the participant.
    pub participant: usize,
    /// Index of the point.
    pub point: usize,
    /// Index of the figure.
    pub figure: usize,
    /// Medians: now, and then.
    pub medians: (f64, f64),
    /// What it is now as a share of what it was then.
    pub ratio: Ratio,
    /// What its ratio to the baseline is now as a share of what it was then. `None` for the baseline, and when the two
    /// results do not have the same.
    pub relative: Option<Ratio>,
}

/// Compares a result with an older one.
pub fn against(new: &Comparison, old: &Comparison) -> Against {
    let mut changes = Vec::new();
    let label = |comparison: &Comparison, index: usize| {
        comparison.participants.get(index).map(|participant| participant.label.clone())
    };
    let same_baseline = label(new, new.baseline) == label(old, old.baseline);
    for (point, old_point) in matching(&new.points, &old.points, |one, other| one.name() == other.name()) {
        for (figure_index, figure) in new.figures.iter().enumerate() {
            // The direction of the newer result counts.
            if !old.figures.iter().any(|other| other.id == figure.id) {
                continue;
            }
            for (participant, old_participant) in
                matching(&new.participants, &old.participants, |one, other| one.label == other.label)
            {
                let (now, then) =
                    (values(new, figure, participant, point), values(old, figure, old_participant, old_point));
                let (Some(ratio), Some(median), Some(old_median)) = (
                    Ratio::of_sides(&now, &then, figure, new.precision),
                    describe::median(&now),
                    describe::median(&then),
                ) else {
                    continue;
                };
                let relative = same_baseline.then(|| {
                    let now = super::analysis::ratio(new, figure, participant, point)?;
                    let then = super::analysis::ratio(old, figure, old_participant, old_point)?;
                    Ratio::of_sides(&now.ratios, &then.ratios, figure, new.precision)
                });
                changes.push(Change {
                    participant,
                    point,
                    figure: figure_index,
                    medians: (median, old_median),
                    ratio,
                    relative: relative.flatten(),
                });
            }
        }
    }
    Against { changes, warnings: differences(new, old) }
}

/// Indices of those that are in both.
fn matching<'a, T>(
    new: &'a [T],
    old: &'a [T],
    same: impl Fn(&T, &T) -> bool + 'a,
) -> impl Iterator<Item = (usize, usize)> + 'a {
    new.iter().enumerate().filter_map(move |(index, one)| Some((index, old.iter().position(|other| same(one, other))?)))
}

fn values(comparison: &Comparison, figure: &Figure, participant: usize, point: usize) -> Vec<f64> {
    let values = comparison.values(&figure.id, participant, point).into_iter();
    values.map(|(_, value)| value).filter(|value| value.is_finite()).collect()
}
