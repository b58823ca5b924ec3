//! The report on a terminal.

use super::document::{Document, Entry, Piece, Table, Tone, VerdictLine};
use super::sentences;
use crate::compare::against::Against;
use crate::compare::analysis::Analysis;
use crate::compare::results::Comparison;
use crate::terminal::{BAD, BOLD, GOOD, NOTE, styled};
use anstyle::Style;
use comfy_table::{CellAlignment, ContentArrangement, presets};
use std::fmt::Write;

/// The report for people, with colours; `all`: with every figure.
pub fn text(comparison: &Comparison, analysis: &Analysis, older: Option<&Against>, all: bool) -> String {
    written(&Document::of(comparison, analysis, older, all), None)
}

/// With a width, or with that of the terminal.
fn written(document: &Document, width: Option<u16>) -> String {
    let mut text = String::new();
    if let Some(title) = &document.title {
        let about = document.description.as_deref().map(|about| format!(": {about}")).unwrap_or_default();
        let _ = writeln!(text, "{}{about}\n", styled(BOLD, title));
    }
    show_verdicts(&mut text, &document.verdicts);
    for shown in &document.tables {
        show_table(&mut text, shown, width);
    }
    if !document.key.is_empty() {
        let _ = writeln!(text, "{}", styled(Style::new().dimmed(), &document.key));
    }
    if document.left_out > 0 {
        let _ = writeln!(text, "{}", styled(Style::new().dimmed(), sentences::left_out(document.left_out)));
    }
    if !document.memory.is_empty() {
        let _ = writeln!(text, "\n{}", styled(BOLD, "Where the memory went"));
        for shown in &document.memory {
            show_table(&mut text, shown, width);
        }
        let _ = writeln!(text, "{}", styled(Style::new().dimmed(), document.memory_key));
    }
    if let Some(since) = &document.since {
        let _ = writeln!(text, "\n{}", styled(BOLD, "Since the older result"));
        show_table(&mut text, &since.table, width);
        for warning in &since.warnings {
            let _ = writeln!(text, "{} {warning}", styled(NOTE, "Different:"));
        }
    }
    if !document.served.is_empty() {
        let _ = writeln!(text, "\n{}", styled(BOLD, "Who served"));
        for line in &document.served {
            let _ = writeln!(text, "  {}", piece(line));
        }
    }
    let _ = writeln!(text);
    for finding in &document.findings {
        let _ = writeln!(text, "{} {finding}", styled(NOTE, "Note:"));
    }
    for (name, line) in [("Machine:", &document.machine), ("Measured:", &document.measured)] {
        let _ = writeln!(text, "{} {line}", styled(BOLD, name));
    }
    text
}

fn style(tone: Tone) -> Style {
    match tone {
        Tone::Good => GOOD,
        Tone::Bad => BAD,
        Tone::Note => NOTE,
        Tone::Plain => Style::new(),
    }
}

fn piece(piece: &Piece) -> String {
    styled(style(piece.tone), &piece.text)
}

/// Lines of few pieces as they are; others with a line for each piece.
fn show_verdicts(text: &mut String, verdicts: &[VerdictLine]) {
    let mut point = "";
    for line in verdicts {
        if line.point != point {
            let _ = writeln!(text, "{}", styled(BOLD, &line.point));
            point = &line.point;
        }
        let pieces: Vec<String> = line.pieces.iter().map(piece).collect();
        match pieces.len() {
            0..=2 => {
                let _ = writeln!(text, "{}: {}", line.start, pieces.join("; "));
            }
            _ => {
                let _ = writeln!(text, "{}:\n  {}", line.start, pieces.join("\n  "));
            }
        }
    }
    if !verdicts.is_empty() {
        text.push('\n');
    }
}

fn show_table(text: &mut String, shown: &Table, width: Option<u16>) {
    if !shown.title.is_empty() {
        let _ = writeln!(text, "{}", styled(BOLD, &shown.title));
    }
    let mut table = comfy_table::Table::new();
    table.load_preset(presets::NOTHING);
    if let Some(width) = width {
        table.set_width(width);
    }
    // A terminal that says that it has no columns does not know how many.
    if table.width().is_some_and(|width| width >= 40) {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    }
    table.set_header(shown.header.iter().map(|name| styled(BOLD, name)));
    for row in &shown.rows {
        table.add_row(row.iter().map(entry));
    }
    for column in table.column_iter_mut().skip(shown.names) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let lines = table.lines().map(|line| line.trim_end().to_owned());
    let _ = writeln!(text, "{}\n", lines.collect::<Vec<_>>().join("\n"));
}

fn entry(entry: &Entry) -> String {
    match &entry.change {
        None => entry.text.clone(),
        Some(change) if entry.text.is_empty() => piece(change),
        Some(change) => format!("{} {}", entry.text, styled(style(change.tone), format!("({})", change.text))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_table_keeps_to_the_width() {
        let names = ["figure", "system", "jeshim", "mimalloc", "tcmalloc", "snmalloc"];
        let row = names.map(|_| Entry::text("1,413,593,628.00 ± 1,200.00 ms"));
        let header = names.map(str::to_owned).to_vec();
        let mut text = String::new();
        show_table(&mut text, &Table { title: String::new(), names: 1, header, rows: vec![row.to_vec()] }, Some(80));
        let plain = anstream::adapter::strip_str(&text).to_string();
        assert!(plain.lines().all(|line| line.chars().count() <= 80), "{plain}");
        assert!(plain.lines().count() > 3, "it is wrapped: {plain}");
    }
}
