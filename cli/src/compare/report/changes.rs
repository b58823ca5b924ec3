//! What has changed since an older result.

use super::{numbers, table};
use crate::compare::against::{Against, Change};
use crate::compare::results::Comparison;
use crate::terminal::{BOLD, NOTE, printable, styled};
use comfy_table::presets::NOTHING;
use comfy_table::{Cell, ContentArrangement, Table};
use std::fmt::Write as _;

/// As text, with a heading: figures that matter most, or all of them.
pub(super) fn text(against: &Against, comparison: &Comparison, all: bool) -> String {
    let mut text = format!("\n{}\n", styled(BOLD, "Since the older result"));
    let wanted = |change: &&Change| all || comparison.figures.get(change.figure).is_some_and(|figure| figure.headline);
    let mut rows = Table::new();
    rows.load_preset(NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    rows.set_header(["", "", "then", "now", ""]);
    let mut any = false;
    for change in against.changes.iter().filter(wanted) {
        let Some(figure) = comparison.figures.get(change.figure) else { continue };
        let point = comparison.points.get(change.point).map(|point| point.name()).unwrap_or_default();
        let who = [table::label(comparison, change.participant), printable(point)];
        let who: Vec<String> = who.into_iter().filter(|part| !part.is_empty()).collect();
        let (now, then) = change.medians;
        let scale = numbers::Scale::of(&figure.unit, now.max(then));
        let mut words = change.ratio.words(figure);
        if let Some(relative) = &change.relative {
            let baseline = table::label(comparison, comparison.baseline);
            _ = write!(words, "; against {baseline}: {}", relative.words(figure));
        }
        rows.add_row([
            Cell::new(who.join(", ")),
            Cell::new(printable(&figure.name)),
            Cell::new(scale.write(then, None)),
            Cell::new(scale.write(now, None)),
            Cell::new(words),
        ]);
        any = true;
    }
    if any {
        _ = writeln!(text, "{rows}");
    } else {
        text.push_str("Nothing is in both: participants, points and figures have to be called the same\n");
    }
    for warning in &against.warnings {
        _ = writeln!(text, "{} {}", styled(NOTE, "Different:"), printable(warning));
    }
    text
}
