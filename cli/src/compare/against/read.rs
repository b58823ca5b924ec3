//! Reading a result that an earlier comparison has written.

use crate::compare::results::{Comparison, FORMAT};
use crate::doctor::machine::cause;
use crate::terminal::printable;
use anyhow::{anyhow, bail, ensure};
use serde::Deserialize;
use serde_json::error::Category;
use std::path::Path;

/// What a result begins with: enough to tell which version of the form it has.
#[derive(Deserialize)]
struct Head {
    comparison: Option<serde_json::Value>,
    #[serde(default)]
    jeshim: serde_json::Value,
}

/// Reads a result (`--json=FILE`).
///
/// # Errors
/// When it cannot be read, is not a result, is damaged, or of a newer form: cause and remedy in a line.
pub fn read(path: &Path) -> anyhow::Result<Comparison> {
    const REMEDY: &str = "name a file that jeshim compare --json=FILE has written";
    let shown = printable(path);
    let bytes = std::fs::read(path).map_err(|error| anyhow!("{shown} cannot be read: {}; {REMEDY}", cause(&error)))?;
    let text = String::from_utf8(bytes).map_err(|_| anyhow!("{shown} is not a result: it is not text; {REMEDY}"))?;
    ensure!(text.trim_start().starts_with('{'), "{shown} is not a result: it is not a JSON object; {REMEDY}");
    let damaged = |error: serde_json::Error| match error.classify() {
        Category::Eof => anyhow!("{shown} is damaged: it ends in line {}, too early; measure anew", error.line()),
        _ => anyhow!("{shown} is damaged: {}; measure anew", printable(error.to_string())),
    };
    let head: Head = serde_json::from_str(&text).map_err(damaged)?;
    let format = head.comparison.as_ref().and_then(serde_json::Value::as_u64);
    let Some(format) = format.filter(|format| *format > 0) else {
        bail!("{shown} is not a result: it has no member \"comparison\"; {REMEDY}");
    };
    if format > u64::from(FORMAT) {
        let version = head.jeshim.as_str().map(|version| format!(" by jeshim {}", printable(version)));
        let version = version.unwrap_or_default();
        bail!("{shown} was written{version} in the newer form {format}, and this one reads {FORMAT}; use that version");
    }
    let comparison: Comparison = serde_json::from_str(&text).map_err(damaged)?;
    if let Some(what) = astray(&comparison) {
        bail!("{shown} is damaged: {what}; measure anew");
    }
    Ok(comparison)
}

/// An index that names nothing.
fn astray(comparison: &Comparison) -> Option<String> {
    let (participants, points) = (comparison.participants.len(), comparison.points.len());
    let participant =
        |index: usize| (index >= participants).then(|| format!("it speaks of participant {index} of {participants}"));
    let point = |index: usize| (index >= points).then(|| format!("it speaks of point {index} of {points}"));
    let runs = || comparison.runs.iter().map(|run| (run.participant, run.point));
    let proofs = || comparison.proofs.iter().map(|proof| (proof.participant, proof.point));
    participant(comparison.baseline).or_else(|| {
        runs().chain(proofs()).find_map(|(who, place)| participant(who).or_else(|| point(place))).or_else(|| {
            let findings = comparison.findings.iter();
            findings
                .into_iter()
                .find_map(|finding| finding.participant.and_then(participant).or_else(|| finding.point.and_then(point)))
        })
    })
}
