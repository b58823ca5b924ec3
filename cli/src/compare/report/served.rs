//! Who served: a line for each participant, or for each of its points when they differ.

use super::document::{Piece, Tone};
use super::table::label;
use crate::compare::results::{Comparison, Proof, Served};
use crate::terminal::printable;

/// All lines, in the order of participants.
pub(super) fn lines(comparison: &Comparison) -> Vec<Piece> {
    let mut lines = Vec::new();
    for participant in 0..comparison.participants.len() {
        let proofs: Vec<&Proof> = comparison.proofs.iter().filter(|proof| proof.participant == participant).collect();
        let same = |proof: &&Proof| {
            let first = proofs.first();
            first.is_some_and(|first| (first.served, &first.by) == (proof.served, &proof.by))
        };
        if proofs.iter().all(same) {
            lines.extend(proofs.first().map(|proof| line(comparison, proof, false)));
        } else {
            lines.extend(proofs.iter().map(|proof| line(comparison, proof, true)));
        }
    }
    lines
}

fn line(comparison: &Comparison, proof: &Proof, with_point: bool) -> Piece {
    let (tone, answer) = match proof.served {
        Served::Yes => (Tone::Good, "served by"),
        Served::No => (Tone::Bad, "not compared: it did not serve; served by"),
        Served::Part => (Tone::Bad, "it served a part only; besides it"),
        Served::Unknown => (Tone::Note, "not known whether it served"),
    };
    let it = comparison.participants.get(proof.participant);
    let mut text = label(comparison, proof.participant);
    if with_point && let Some(point) = comparison.points.get(proof.point) {
        text.push_str(&format!(" at {}", printable(point.name())));
    }
    if let Some(library) = it.and_then(|it| it.library.as_deref()) {
        let version = it.and_then(|it| it.version.as_deref()).map(|version| format!(", {}", printable(version)));
        text.push_str(&format!(" ({}{})", printable(library), version.unwrap_or_default()));
    }
    let by = proof.by.as_deref().map(printable);
    match (it.is_some_and(|it| it.library.is_none()), proof.served, by) {
        (true, Served::Yes | Served::Unknown, Some(by)) => text.push_str(&format!(" is {by}")),
        (_, Served::Unknown, _) => text.push_str(&format!(": {answer}")),
        (_, Served::Part, None) => text.push_str(": it served a part only"),
        (_, _, by) => {
            text.push_str(&format!(": {answer} {}", by.as_deref().unwrap_or("an allocator of no known name")))
        }
    }
    if !proof.because.is_empty() {
        text.push_str(&format!(": {}", printable(&proof.because)));
    }
    Piece { tone, text }
}
