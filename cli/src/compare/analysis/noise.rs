//! What to do about figures that are too noisy to tell.

use super::judge::{comparable, narrow};
use super::{Analysis, Ratio, Verdict};
use crate::compare::results::{Comparison, Finding, Machine, finding};
use crate::terminal::{count, printable};

/// A finding "too_noisy" for each participant and point of which a headline figure is.
pub fn findings(comparison: &Comparison, analysis: &Analysis) -> Vec<Finding> {
    let mut findings = Vec::new();
    for point in 0..comparison.points.len() {
        for participant in 0..comparison.participants.len() {
            let noisy = noisy(comparison, analysis, participant, point);
            let rounds = noisy.iter().map(|(_, ratio)| enough(ratio, comparison.precision)).max();
            if let Some(rounds) = rounds {
                let names: Vec<String> = noisy.into_iter().map(|(name, _)| name).collect();
                let text = text(comparison, &names, rounds);
                findings.push(Finding {
                    id: finding::TOO_NOISY.to_owned(),
                    participant: Some(participant),
                    point: Some(point),
                    text,
                });
            }
            findings.extend(without_ratio(comparison, participant, point));
        }
    }
    findings
}

/// Headline figures that have no ratio since one side alone has 0, or less, in some round.
fn without_ratio(comparison: &Comparison, participant: usize, point: usize) -> Vec<Finding> {
    let figures = comparison.figures.iter().filter(|figure| figure.headline && participant != comparison.baseline);
    let without = figures.filter_map(|figure| {
        let pairs = super::pairs(comparison, figure, participant, point);
        let odd = pairs.iter().filter(|(own, other)| !comparable(*own, *other)).count();
        (odd > 0).then(|| Finding {
            id: finding::NO_RATIO.to_owned(),
            participant: Some(participant),
            point: Some(point),
            text: format!(
                "{} has no ratio: {odd} of {} have 0 on one side only; look at the medians",
                printable(&figure.name),
                count(pairs.len() as u64, "round", "rounds")
            ),
        })
    });
    without.collect()
}

/// The headline figures with that verdict.
fn noisy<'a>(
    comparison: &Comparison,
    analysis: &'a Analysis,
    participant: usize,
    point: usize,
) -> Vec<(String, &'a Ratio)> {
    let rows = analysis.rows.iter().filter(|row| row.point == point);
    let figures = rows.filter_map(|row| {
        let figure = comparison.figures.get(row.figure).filter(|figure| figure.headline)?;
        let ratio = row.cells.get(participant)?.as_ref()?.ratio.as_ref()?;
        (ratio.verdict == Verdict::TooNoisy).then(|| (printable(&figure.name), ratio))
    });
    figures.collect()
}

/// How many rounds would do, if they are as noisy: an interval becomes half as wide with four times as many.
fn enough(ratio: &Ratio, precision: f64) -> u64 {
    let missing = (ratio.spread() / narrow(precision)).max(1.0);
    // In tens: it is an estimate. A float that is too large becomes the largest integer.
    (((ratio.rounds as f64 * missing.powi(2)) / 10.0).ceil() as u64).saturating_add(1).saturating_mul(10)
}

fn text(comparison: &Comparison, names: &[String], rounds: u64) -> String {
    let names = match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    };
    let (causes, mut remedies) = causes(&comparison.machine);
    let causes = if causes.is_empty() { String::new() } else { format!(": {}", causes.join(", ")) };
    remedies.push(format!("give it about --rounds {rounds}"));
    format!("{names}: too noisy to tell{causes}; {}", remedies.join(", or "))
}

/// What may make the machine noisy, and what to do about it.
fn causes(machine: &Machine) -> (Vec<String>, Vec<String>) {
    let (mut causes, mut remedies) = (Vec::new(), Vec::new());
    let processors = f64::from(machine.processors.max(1));
    if let Some((before, _)) = machine.load
        && before > processors / 2.0
    {
        causes.push(format!("the load average was {before:.1} before it began, with {processors} processors"));
        remedies.push("end what else runs".to_owned());
    }
    if let Some(governor) = &machine.governor
        && governor != "performance"
    {
        causes.push(format!("the frequency governor is {}", printable(governor)));
        remedies.push("set the governor to performance (cpupower frequency-set -g performance)".to_owned());
    }
    if machine.boost == Some(true) {
        causes.push("the processor changes its frequency by itself (boost)".to_owned());
    }
    if let Some(quota) = machine.quota.filter(|quota| *quota < processors) {
        causes.push(format!("the container is held to {quota} of {processors} processors"));
    }
    (causes, remedies)
}
