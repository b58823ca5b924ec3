//! The whole result for machines, and for `--against`.

use crate::compare::against::Against;
use crate::compare::analysis::Analysis;
use crate::compare::results::Comparison;
use serde::Serialize;

#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    comparison: &'a Comparison,
    analysis: &'a Analysis,
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<&'a Against>,
}

/// The comparison, with members `analysis` and, where there is an older result, `against`, which [`Comparison`] leaves aside when it is
/// read back.
///
/// # Errors
/// None is expected: it is written to memory.
pub fn json(comparison: &Comparison, analysis: &Analysis, older: Option<&Against>) -> anyhow::Result<String> {
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
    Ok(format!("{}\n", serde_json::to_string_pretty(&Whole { comparison, analysis, against: older })?))
}
