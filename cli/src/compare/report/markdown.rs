//! The report as Markdown with GitHub's tables.

use super::document::{Document, Entry, Table};
use crate::compare::against::Against;
use crate::compare::analysis::Analysis;
use crate::compare::results::Comparison;
use std::fmt::Write;

/// The report for an issue or a page; `all`: with every figure.
pub fn markdown(comparison: &Comparison, analysis: &Analysis, older: Option<&Against>, all: bool) -> String {
    let document = Document::of(comparison, analysis, older, all);
    let mut text = String::new();
    if let Some(title) = &document.title {
        let _ = writeln!(text, "## {}\n", escaped(title));
    }
    if let Some(description) = &document.description {
        let _ = writeln!(text, "{}\n", escaped(description));
    }
    for line in &document.verdicts {
        let point = if line.point.is_empty() { String::new() } else { format!("{}: ", line.point) };
        let pieces: Vec<&str> = line.pieces.iter().map(|piece| piece.text.as_str()).collect();
        let _ = writeln!(text, "- **{}{}**: {}", escaped(&point), escaped(&line.start), escaped(&pieces.join("; ")));
    }
    if !document.verdicts.is_empty() {
        text.push('\n');
    }
    for table in &document.tables {
        show(&mut text, table);
    }
    if !document.key.is_empty() {
        let _ = writeln!(text, "{}\n", escaped(&document.key));
    }
    if !document.memory.is_empty() {
        let _ = writeln!(text, "### Where the memory went\n");
        for table in &document.memory {
            show(&mut text, table);
        }
        let _ = writeln!(text, "{}\n", document.memory_key);
    }
    if let Some(since) = &document.since {
        let _ = writeln!(text, "### Since the older result\n");
        show(&mut text, &since.table);
        list(&mut text, "Different", since.warnings.iter().map(String::as_str));
    }
    list(&mut text, "Who served", document.served.iter().map(|line| line.text.as_str()));
    list(&mut text, "Findings", document.findings.iter().map(String::as_str));
    let _ = writeln!(text, "Machine: {}\n", escaped(&document.machine));
    let _ = writeln!(text, "Measured: {}", escaped(&document.measured));
    if let Some(repeat) = &document.repeat {
        // Longer than any row of backticks in it.
        let longest = repeat.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.saturating_add(1).max(3));
        let _ = writeln!(text, "\n{fence}sh\n{repeat}\n{fence}");
    }
    text
}

fn list<'a>(text: &mut String, title: &str, lines: impl Iterator<Item = &'a str>) {
    let lines: Vec<String> = lines.map(|line| format!("- {}", escaped(line))).collect();
    if !lines.is_empty() {
        let _ = writeln!(text, "### {title}\n\n{}\n", lines.join("\n"));
    }
}

fn show(text: &mut String, table: &Table) {
    if !table.title.is_empty() {
        let _ = writeln!(text, "#### {}\n", escaped(&table.title));
    }
    let row = |fields: Vec<String>| format!("| {} |", fields.join(" | "));
    let _ = writeln!(text, "{}", row(table.header.iter().map(|name| escaped(name)).collect()));
    let rules = (0..table.header.len()).map(|index| if index < table.names { "---" } else { "---:" });
    let _ = writeln!(text, "{}", row(rules.map(str::to_owned).collect()));
    for fields in &table.rows {
        let _ = writeln!(text, "{}", row(fields.iter().map(entry).collect()));
    }
    text.push('\n');
}

fn entry(entry: &Entry) -> String {
    let text = escaped(&entry.text);
    match &entry.change {
        None => text,
        Some(change) if text.is_empty() => change.text.clone(),
        Some(change) => format!("{text} ({})", change.text),
    }
}

/// Text of others without a meaning in Markdown.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '~') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_parts_fields_is_escaped() {
        let table = Table {
            title: "a|b".to_owned(),
            names: 1,
            header: vec!["x|y".to_owned(), "n".to_owned()],
            rows: vec![vec![Entry::text("p|q"), Entry::text("1")]],
        };
        let mut text = String::new();
        show(&mut text, &table);
        assert_eq!(text, "#### a\\|b\n\n| x\\|y | n |\n| --- | ---: |\n| p\\|q | 1 |\n\n");
    }
}
