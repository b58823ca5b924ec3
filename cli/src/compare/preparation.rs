//! The runs before the measured ones, and what follows from them: who is compared, and why others are not.

use super::progress::Progress;
use super::results::{Comparison, Finding, Proof, Served};
use super::runner::{Refusal, Runner};
use super::schedule::Stop;
use crate::verdict::UNUSABLE;

/// What the measured runs begin with.
pub(super) struct Prepared {
    /// Participants that are not compared, with the point: they failed, or do not serve.
    pub(super) left_out: Vec<(usize, usize)>,
}

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
pub(super) fn prepare(runner: &mut Runner, comparison: &mut Comparison, progress: &Progress) -> Result<Prepared, End> {
    let mut prepared = Prepared { left_out: Vec::new() };
    let participants = comparison.participants.len();
    for point in 0..comparison.points.len() {
        let mut failures: Vec<(usize, String)> = Vec::new();
        for participant in 0..participants {
            let proven = runner.prove(participant, point, progress)?;
            if let Some(failure) = proven.failure {
                failures.push((participant, failure));
                prepared.left_out.push((participant, point));
            } else if let Some(finding) = finding(&proven.proof, comparison) {
                if proven.proof.served == Served::No {
                    prepared.left_out.push((participant, point));
                }
                comparison.findings.push(finding);
            }
            comparison.proofs.push(proven.proof);
        }
        report_failures(&failures, point, comparison)?;
    }
    comparison.figures = runner.figures.clone();
    let everywhere = |participant: usize| {
        (0..comparison.points.len()).all(|point| prepared.left_out.contains(&(participant, point)))
    };
    if everywhere(comparison.baseline) {
        let label = &comparison.participants[comparison.baseline].label;
        let why = comparison.findings.iter().find(|finding| finding.participant == Some(comparison.baseline));
        let why = why.map(|finding| format!(": {}", finding.text)).unwrap_or_default();
        return Err(End::Refused(UNUSABLE, format!("nothing can be compared with the baseline, '{label}'{why}")));
    }
    Ok(prepared)
}

/// Failures of one point: of all participants alike it is the command's, and nothing is compared; of some, a finding.
fn report_failures(failures: &[(usize, String)], point: usize, comparison: &mut Comparison) -> Result<(), End> {
    let name = comparison.points[point].name();
    let at = if name.is_empty() { name } else { format!(" with {name}") };
    if let (Some((_, failure)), true) = (failures.first(), failures.len() == comparison.participants.len()) {
        let who = if failures.len() == 1 { "" } else { " under every allocator" };
        let remedy = match failure.starts_with("it ended") {
            true => "; mend the command, or compare all the same with --ignore-failure",
            false => "",
        };
        let what = if comparison.server { "the server" } else { "CMD" };
        return Err(End::Refused(UNUSABLE, format!("{what} fails{who}{at}: {failure}{remedy}")));
    }
    for (participant, failure) in failures {
        let label = &comparison.participants[*participant].label;
        comparison.findings.push(Finding {
            id: "failed".to_owned(),
            participant: Some(*participant),
            point: Some(point),
            text: format!(
                "{label} is not compared{at}: in the run that was to prove it, {failure}; the others did not fail"
            ),
        });
    }
    Ok(())
}

/// What a reader has to know about who serves.
fn finding(proof: &Proof, comparison: &Comparison) -> Option<Finding> {
    let label = &comparison.participants[proof.participant].label;
    let name = comparison.points[proof.point].name();
    let at = if name.is_empty() { name } else { format!(" with {name}") };
    let (id, text) = match proof.served {
        Served::Yes => return None,
        Served::No => ("not_served", format!("{label} is not compared{at}: it does not serve: {}", proof.because)),
        Served::Part => ("served_in_part", format!("{label} serves a part only{at}: {}", proof.because)),
        Served::Unknown => ("not_proven", format!("whether {label} serves{at} is not known: {}", proof.because)),
    };
    Some(Finding { id: id.to_owned(), participant: Some(proof.participant), point: Some(proof.point), text })
}

/// Whether somebody who was to be compared was not.
pub(super) fn is_incomplete(comparison: &Comparison) -> bool {
    comparison.findings.iter().any(|finding| matches!(finding.id.as_str(), "failed" | "not_served" | "dropped"))
}
