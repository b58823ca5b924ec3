//! What has changed since an older result.

use super::document::{Entry, Piece, Since, Table};
use super::{numbers, table, verdicts};
use crate::compare::against::{Against, Change};
use crate::compare::analysis::Ratio;
use crate::compare::results::{Comparison, Figure};
use crate::terminal::printable;

/// A row for each change of a figure that matters most, or of all figures.
pub(super) fn since(against: &Against, comparison: &Comparison, all: bool) -> Since {
    let rows: Vec<Vec<Entry>> = against.changes.iter().filter_map(|change| row(change, comparison, all)).collect();
    let mut warnings: Vec<String> = against.warnings.iter().map(printable).collect();
    if rows.is_empty() {
        warnings.insert(
            0,
            "nothing is in both results; participants, points and figures have to be called the same".to_owned(),
        );
    }
    let baseline = table::label(comparison, comparison.baseline);
    let header = ["what", "then", "now", "change", &format!("against {baseline}, change")];
    let header = header.map(str::to_owned).to_vec();
    Since { table: Table { title: String::new(), names: 1, header, rows }, warnings }
}

fn row(change: &Change, comparison: &Comparison, all: bool) -> Option<Vec<Entry>> {
    let figure = comparison.figures.get(change.figure).filter(|figure| all || figure.headline)?;
    let point = comparison.points.get(change.point).map(|point| printable(point.name())).unwrap_or_default();
    let what = [table::label(comparison, change.participant), point, printable(&figure.name)];
    let what: Vec<String> = what.into_iter().filter(|part| !part.is_empty()).collect();
    let (now, then) = change.medians;
    let scale = numbers::Scale::of(&figure.unit, now.max(then));
    Some(vec![
        Entry::text(what.join(", ")),
        Entry::text(scale.write(then, None)),
        Entry::text(scale.write(now, None)),
        changed(&change.ratio, figure),
        change.relative.as_ref().map_or_else(|| Entry::text("-"), |ratio| changed(ratio, figure)),
    ])
}

fn changed(ratio: &Ratio, figure: &Figure) -> Entry {
    let piece = Piece { tone: verdicts::tone(ratio.verdict), text: numbers::change(ratio, figure) };
    Entry { text: String::new(), change: Some(piece) }
}
