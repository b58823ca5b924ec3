//! The whole result for machines, and for `--against`.

use crate::compare::analysis::Analysis;
use crate::compare::results::Comparison;
use serde::Serialize;

#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    comparison: &'a Comparison,
    analysis: &'a Analysis,
}

/// The comparison, with a member `analysis` that [`Comparison`] leaves aside when it is read back.
///
/// # Errors
/// None is expected: it is written to memory.
pub fn json(comparison: &Comparison, analysis: &Analysis) -> anyhow::Result<String> {
    let is_odd = |value: &f64| !value.is_finite();
    let odd = comparison.runs.iter().any(|run| run.figures.values().any(is_odd));
    // JSON has no word for them but null, which cannot be read back as a number.
    let finite = odd.then(|| {
        let mut finite = comparison.clone();
        for run in &mut finite.runs {
            run.figures.retain(|_, value| value.is_finite());
        }
        finite
    });
    let comparison = finite.as_ref().unwrap_or(comparison);
    Ok(format!("{}\n", serde_json::to_string_pretty(&Whole { comparison, analysis })?))
}
