//! The tables. One point: a row for each figure. Several: a table for each figure, and a row for each point. A column
//! for each participant; with two of them, the change has a column of its own.

use super::document::{Entry, Piece, Table, Tone};
use super::numbers::{self, Scale};
use super::verdicts::tone;
use crate::compare::analysis::{Analysis, Cell, Row, Verdict};
use crate::compare::results::{Comparison, Figure, Unit};
use crate::terminal::printable;

/// A participant's label, for people.
pub(super) fn label(comparison: &Comparison, participant: usize) -> String {
    comparison.participants.get(participant).map(|it| printable(&it.label)).unwrap_or_default()
}

/// The indices of the figures that are shown: all with a value, or the most important; all when none is important.
pub(super) fn shown(comparison: &Comparison, analysis: &Analysis, all: bool) -> Vec<usize> {
    let has_value = |index: &usize| {
        let mut rows = analysis.rows.iter().filter(|row| row.figure == *index);
        rows.any(|row| row.cells.iter().any(Option::is_some))
    };
    let important = |index: &usize| comparison.figures.get(*index).is_some_and(|figure| figure.headline);
    let figures = (0..comparison.figures.len()).filter(has_value);
    let some: Vec<usize> = figures.clone().filter(|index| all || important(index)).collect();
    if some.is_empty() { figures.collect() } else { some }
}

/// The tables of these figures.
pub(super) fn tables(comparison: &Comparison, analysis: &Analysis, figures: &[usize]) -> Vec<Table> {
    let rows = |wanted: usize| analysis.rows.iter().filter(move |row| row.figure == wanted);
    if comparison.points.len() <= 1 {
        let header = [vec!["figure".to_owned()], columns(comparison)].concat();
        let rows = figures.iter().flat_map(|figure| rows(*figure)).filter_map(|row| {
            let figure = comparison.figures.get(row.figure)?;
            Some([vec![Entry::text(named(figure))], entries(comparison, figure, row, None)].concat())
        });
        let rows: Vec<_> = rows.collect();
        let table = Table { title: String::new(), names: 1, header, rows };
        return if table.rows.is_empty() { Vec::new() } else { vec![table] };
    }
    let names = point_columns(comparison);
    let with_rows = figures.iter().filter_map(|index| {
        let figure = comparison.figures.get(*index)?;
        let medians = rows(*index).flat_map(|row| row.cells.iter().flatten()).map(|cell| cell.median);
        let scale = Scale::of_all(&figure.unit, medians);
        let rows = rows(*index).map(|row| {
            let names = point_names(comparison, row.point).into_iter().map(Entry::text);
            names.chain(entries(comparison, figure, row, Some(scale))).collect()
        });
        Some(Table {
            title: titled(figure),
            names: names.len(),
            header: [names.clone(), columns(comparison)].concat(),
            rows: rows.collect(),
        })
    });
    with_rows.collect()
}

/// What the signs mean, as far as they are there.
pub(super) fn key(comparison: &Comparison, tables: &[Table]) -> String {
    let entries = || tables.iter().flat_map(|table| table.rows.iter().flatten());
    let has_change = |sign: &str| entries().filter_map(|entry| entry.change.as_ref()).any(|it| it.text.contains(sign));
    let mut key = vec!["median".to_owned()];
    if entries().any(|entry| entry.text.contains('±')) {
        key[0] = "median ± half the distance between the quartiles".to_owned();
    }
    if has_change("%") {
        let baseline = label(comparison, comparison.baseline);
        key.push(format!("in per cent against {baseline}, round by round: + is better, - is worse"));
    }
    if has_change("≈") {
        key.push("≈ no difference seen".to_owned());
    }
    if has_change("?") {
        key.push("? too noisy or too few rounds to tell".to_owned());
    }
    key.join("; ")
}

/// "iops, more is better"; less is what is better without a word.
fn named(figure: &Figure) -> String {
    let more = if figure.higher_is_better { ", more is better" } else { "" };
    format!("{}{more}", printable(&figure.name))
}

/// The heading of a figure's own table.
fn titled(figure: &Figure) -> String {
    let unit = match figure.unit {
        Unit::Seconds => "time",
        Unit::Bytes => "bytes",
        Unit::Count => "count",
        Unit::Plain => "",
    };
    let direction = if figure.higher_is_better { "more is better" } else { "less is better" };
    let parts = [unit, direction].into_iter().filter(|part| !part.is_empty());
    format!("{} ({})", printable(&figure.name), parts.collect::<Vec<_>>().join(", "))
}

/// Names of the columns of numbers.
fn columns(comparison: &Comparison) -> Vec<String> {
    let labels = (0..comparison.participants.len()).map(|index| label(comparison, index));
    let change = own_column(comparison).then(|| "change".to_owned());
    labels.chain(change).collect()
}

/// Whether the change has a column of its own.
fn own_column(comparison: &Comparison) -> bool {
    comparison.participants.len() == 2
}

/// Names of the columns that tell one point from another.
fn point_columns(comparison: &Comparison) -> Vec<String> {
    let command = comparison.points.iter().any(|point| !point.command.is_empty()).then(|| "program".to_owned());
    let parameters = comparison.points.first().map(|point| point.parameters.as_slice()).unwrap_or_default();
    let names = parameters.iter().map(|(name, _)| printable(name));
    let columns: Vec<String> = command.into_iter().chain(names).collect();
    // Points without names are not expected, and get numbers.
    if columns.is_empty() { vec!["run".to_owned()] } else { columns }
}

fn point_names(comparison: &Comparison, index: usize) -> Vec<String> {
    let Some(point) = comparison.points.get(index) else { return Vec::new() };
    let with_command = comparison.points.iter().any(|point| !point.command.is_empty());
    let command = with_command.then(|| printable(&point.command));
    let names: Vec<String> =
        command.into_iter().chain(point.parameters.iter().map(|(_, value)| printable(value))).collect();
    if names.is_empty() { vec![index.saturating_add(1).to_string()] } else { names }
}

/// The numbers of a row.
fn entries(comparison: &Comparison, figure: &Figure, row: &Row, scale: Option<Scale>) -> Vec<Entry> {
    let medians = row.cells.iter().flatten().map(|cell| cell.median);
    let scale = scale.unwrap_or_else(|| Scale::of_all(&figure.unit, medians));
    let own_column = own_column(comparison);
    let mut last = Entry::text("-");
    let mut entries: Vec<Entry> = Vec::new();
    for (index, _) in comparison.participants.iter().enumerate() {
        let Some(cell) = row.cells.get(index).and_then(Option::as_ref) else {
            entries.push(Entry::text("-"));
            continue;
        };
        let change = change(cell, figure);
        let text = scale.cell(cell);
        if own_column && change.is_some() {
            last = Entry { text: String::new(), change };
            entries.push(Entry::text(text));
        } else {
            entries.push(Entry { text, change });
        }
    }
    entries.extend(own_column.then_some(last));
    entries
}

/// "+4.8%", "+0.3% ≈", "-9% ?".
fn change(cell: &Cell, figure: &Figure) -> Option<Piece> {
    let ratio = cell.ratio.as_ref()?;
    let mark = match ratio.verdict {
        Verdict::Better | Verdict::Worse => "",
        Verdict::NoDifference => " ≈",
        Verdict::Perhaps | Verdict::TooNoisy | Verdict::TooFew => " ?",
    };
    let tone: Tone = tone(ratio.verdict);
    Some(Piece { tone, text: format!("{}{mark}", numbers::change(ratio, figure)) })
}
