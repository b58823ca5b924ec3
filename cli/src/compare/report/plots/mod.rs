//! Drawings for the page: made once, coloured by the page's style, so that one serves light, dark and print.
//!
//! | module | what it draws |
//! |---|---|
//! | `canvas` | what all have: size, text, colours that become names of the page's style |
//! | `labels` | names beside lines, without one on the other |
//! | `ratios` | rounds against the baseline |
//! | `over_time` | memory over time |
//! | `sweep`, `places` | a figure over a parameter; where its values are |
//! | `parts` | where the memory went |

mod canvas;
mod labels;
mod over_time;
mod parts;
mod places;
mod ratios;
mod sweep;

use crate::compare::analysis::Analysis;
use crate::compare::results::Comparison;
use serde::Serialize;

/// A drawing with what a reader has to know of it.
#[derive(Debug, Serialize)]
pub(super) struct Plot {
    pub(super) title: String,
    pub(super) caption: String,
    /// An SVG element.
    pub(super) svg: String,
}

/// All drawings for which there is data, in the order of the page.
///
/// # Errors
/// None is expected: they are drawn into memory.
pub(super) fn all(comparison: &Comparison, analysis: &Analysis) -> anyhow::Result<Vec<Plot>> {
    let mut plots = sweep::plots(comparison, analysis)?;
    plots.extend(ratios::plots(comparison, analysis)?);
    plots.extend(over_time::plots(comparison)?);
    plots.extend(parts::plots(comparison)?);
    Ok(plots)
}
