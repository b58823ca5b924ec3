//! The runs before the measured ones, and what follows from them: who is compared, and why others are not.

use super::progress::Progress;
use super::results::{Comparison, Finding, Proof, Served, finding};
use super::runner::{Failed, Refusal, Runner};
use super::schedule::Stop;
use crate::verdict::UNUSABLE;

/// Participants that are not compared, with the point: they failed, or do not serve.
pub(super) type LeftOut = Vec<(usize, usize)>;

/// How the text of a finding begins that leaves a participant out.
const NOT_COMPARED: &str = "not compared";

/// Why there are no measured runs.
pub(super) enum End {
    /// A signal asked for an end.
    Interrupted,
    /// Exit status; cause and remedy.
    Refused(u8, String),
}

impl From<Refusal> for End {
    fn from(refusal: Refusal) -> End {
        match refusal {
            Refusal::Stop(Stop::Interrupted) => End::Interrupted,
            Refusal::Stop(Stop::Broken(error)) => End::Refused(UNUSABLE, format!("{error:#}")),
            Refusal::NotExecutable(status, why) => End::Refused(status, why),
        }
    }
}

/// Makes them: for every point and participant.
pub(super) fn prepare(runner: &mut Runner, comparison: &mut Comparison, progress: &Progress) -> Result<LeftOut, End> {
    let in_part = runner.takes_parts();
    let mut left_out = LeftOut::new();
    for point in 0..comparison.points.len() {
        let mut failures: Vec<(usize, Failed)> = Vec::new();
        for participant in 0..comparison.participants.len() {
            let proven = runner.prove(participant, point, progress)?;
            let proof = proven.proof;
            match proven.failure {
                // That it does not serve says more than what was seen to be missing for it.
                Some(failed) if failed.by_itself || proof.served != Served::No => {
                    failures.push((participant, failed));
                    left_out.push((participant, point));
                }
                _ => {
                    if !is_compared(&proof, in_part) {
                        left_out.push((participant, point));
                    }
                    comparison.findings.extend(what_was_seen(&proof, in_part));
                }
            }
            comparison.proofs.push(proof);
        }
        report_failures(&failures, point, comparison)?;
    }
    runner.finish_preparation(comparison);
    let everywhere = |participant| (0..comparison.points.len()).all(|point| left_out.contains(&(participant, point)));
    if everywhere(comparison.baseline) {
        let label = &comparison.participants[comparison.baseline].label;
        let why = comparison.findings.iter().find(|finding| finding.participant == Some(comparison.baseline));
        let why = why.map(|finding| format!(": {}", finding.text)).unwrap_or_default();
        return Err(End::Refused(
            UNUSABLE,
            format!("nothing can be compared with '{label}'{why}; take another baseline with --baseline"),
        ));
    }
    Ok(left_out)
}

/// Failures of one point: of all participants alike it is the command's, and nothing is compared; of some, a finding.
fn report_failures(failures: &[(usize, Failed)], point: usize, comparison: &mut Comparison) -> Result<(), End> {
    if let (Some((_, failed)), true) = (failures.first(), failures.len() == comparison.participants.len()) {
        let name = comparison.points[point].name();
        let at = if name.is_empty() { name } else { format!(", with {name}") };
        let what = if comparison.server { "the server" } else { "CMD" };
        let remedy = match failed.by_itself && !comparison.server {
            true => "; mend the command, or compare all the same with --ignore-failure",
            false => "",
        };
        return Err(End::Refused(UNUSABLE, format!("{what} fails under every allocator{at}: {}{remedy}", failed.why)));
    }
    for (participant, failed) in failures {
        comparison.findings.push(Finding {
            id: finding::FAILED.to_owned(),
            participant: Some(*participant),
            point: Some(point),
            text: format!("{NOT_COMPARED}: in the run that was to prove it, {}; others did not fail", failed.why),
        });
    }
    Ok(())
}

/// What a reader has to know about who serves.
fn what_was_seen(proof: &Proof, in_part: bool) -> Option<Finding> {
    let (id, text) = match proof.served {
        Served::Yes => return None,
        Served::No => (finding::NOT_SERVED, format!("{NOT_COMPARED}: it does not serve: {}", proof.because)),
        Served::Part if in_part => (finding::SERVED_IN_PART, format!("it serves a part only: {}", proof.because)),
        Served::Part => {
            let because = &proof.because;
            let text = format!("{NOT_COMPARED}: it serves a part only: {because}; --in-part compares it all the same");
            (finding::SERVED_IN_PART, text)
        }
        Served::Unknown => (finding::NOT_PROVEN, format!("whether it serves is not known: {}", proof.because)),
    };
    Some(Finding { id: id.to_owned(), participant: Some(proof.participant), point: Some(proof.point), text })
}

/// Whether the measured runs of a participant are its own.
fn is_compared(proof: &Proof, in_part: bool) -> bool {
    match proof.served {
        Served::Yes | Served::Unknown => true,
        Served::Part => in_part,
        Served::No => false,
    }
}

/// Whether somebody who was to be compared was not, or not in every round.
pub(super) fn is_incomplete(comparison: &Comparison) -> bool {
    let is_missing = |finding: &Finding| match finding.id.as_str() {
        finding::FAILED | finding::NOT_SERVED => true,
        finding::SERVED_IN_PART => finding.text.starts_with(NOT_COMPARED),
        _ => false,
    };
    comparison.findings.iter().any(is_missing)
}
