//! When it is enough, and what has to be said then.

use super::estimate::Estimate;
use super::standing::{Place, Standing};
use super::{ENOUGH, Effort, LEAST, Why};
use crate::compare::analysis::{ALARM, FEWEST, analyse, noise, ratio};
use crate::compare::results::{Comparison, Figure, Finding, finding};
use crate::compare::statistics::signed_rank;
use crate::terminal::{count, printable};
use std::time::Duration;

/// Whether it is, when `round` is about to begin.
pub(super) fn enough(
    round: u32,
    effort: &Effort,
    comparison: &Comparison,
    standing: &Standing,
    estimate: &mut Estimate,
    elapsed: Duration,
) -> Option<Why> {
    if effort.rounds.is_some() || round < LEAST {
        return None;
    }
    let nothing = standing.compared().next().is_none();
    if nothing && round >= ENOUGH {
        return Some(Why::Nothing);
    }
    // Looking takes time, too: not after each of hundreds of rounds.
    if !nothing && round.is_multiple_of((round / 10).max(1)) {
        let (widest, fewest) = widest(comparison, standing);
        estimate.spread(round, widest);
        // Rounds in which somebody has failed do not count for anybody's precision.
        if fewest.is_some_and(|fewest| fewest >= ENOUGH as usize) && widest <= effort.precision {
            return Some(Why::Precise);
        }
    }
    let next = estimate.round(&standing.jobs(round)).unwrap_or_default();
    (elapsed.saturating_add(next) > effort.budget).then_some(Why::Budget)
}

/// The widest interval of those that have to be narrow, to each side, and the rounds of the ratio that has the fewest.
fn widest(comparison: &Comparison, standing: &Standing) -> (f64, Option<usize>) {
    let decisive =
        |figure: &&Figure| figure.headline && (comparison.server || ["wall", "peak_rss"].contains(&figure.id.as_str()));
    let (mut widest, mut fewest) = (0.0_f64, None);
    for (participant, point) in standing.compared() {
        for figure in comparison.figures.iter().filter(decisive) {
            // A figure that nobody has is not waited for.
            if let Some(ratio) = ratio(comparison, figure, participant, point) {
                widest = widest.max(ratio.spread());
                fewest = Some(fewest.map_or(ratio.rounds, |fewest: usize| fewest.min(ratio.rounds)));
            }
        }
    }
    (widest, fewest)
}

/// What the runs have shown.
pub(super) fn findings(comparison: &Comparison, effort: &Effort, standing: &Standing, why: Why) -> Vec<Finding> {
    let failures = standing.failed().map(|(participant, point, place)| failed(comparison, participant, point, place));
    let mut findings: Vec<Finding> = failures.collect();
    findings.extend((why == Why::Budget).then(|| short_budget(comparison, effort)).flatten());
    findings.extend(noise::findings(comparison, &analyse(comparison)));
    findings
}

fn failed(comparison: &Comparison, participant: usize, point: usize, place: &Place) -> Finding {
    let why = printable(place.failure.as_deref().unwrap_or_default());
    let text = if place.is_hopeless() {
        let left_out = if participant == comparison.baseline {
            "it is the baseline, and nothing is compared there"
        } else {
            "it was left out then"
        };
        format!("failed in each of its {} rounds ({why}), {left_out}; run it by itself to see why", place.runs)
    } else {
        let runs = count(u64::from(place.runs), "round", "rounds");
        format!("failed in {} of {runs} ({why}), which are not compared; run it by itself to see why", place.failures)
    };
    Finding { id: finding::FAILED.to_owned(), participant: Some(participant), point: Some(point), text }
}

/// A budget that ended it before a difference could be seen at all.
fn short_budget(comparison: &Comparison, effort: &Effort) -> Option<Finding> {
    let made = comparison.runs.iter().map(|run| run.round.saturating_add(1)).max()?;
    let needed = (FEWEST..).find(|rounds| signed_rank::least(*rounds) <= ALARM)?;
    (usize::try_from(made).is_ok_and(|made| made < needed)).then(|| {
        let budget = indicatif::HumanDuration(effort.budget);
        let text = format!(
            "the budget of {budget} was enough for {}, and a difference is seen in {needed} at the least; \
             give more --budget, or --rounds {ENOUGH}",
            count(u64::from(made), "round", "rounds")
        );
        Finding { id: finding::SHORT_BUDGET.to_owned(), participant: None, point: None, text }
    })
}
