//! How findings look: lines for people, JSON for machines.

use super::finding::{Finding, State};
use super::{Answer, GROUPS};
use crate::terminal::{self, count, styled};
use anstyle::Style;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};
use serde_json::{Value, json};
use std::fmt::Write;

fn style(state: State) -> Style {
    match state {
        State::Ok => terminal::GOOD,
        State::Unknown | State::Note => terminal::NOTE,
        State::Problem => terminal::BAD,
    }
}

/// Cause and remedy in one line, which a terminal's width breaks.
fn sentence(finding: &Finding) -> String {
    match &finding.remedy {
        Some(remedy) => format!("{}; {remedy}", finding.message),
        None => finding.message.clone(),
    }
}

/// One line a finding, in groups; the last line is the sum.
pub(super) fn text(answers: &[Answer]) -> String {
    let words = ["ok", "unknown", "note", "problem"].map(str::len);
    let ids = answers.iter().map(|answer| answer.check.id.len());
    let widths = [words.into_iter().max().unwrap_or(0), ids.max().unwrap_or(0)];
    let mut text = String::new();
    for group in GROUPS {
        let of_group: Vec<&Answer> = answers.iter().filter(|answer| answer.check.group == group).collect();
        if of_group.is_empty() {
            continue;
        }
        let mut table = Table::new();
        table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
        for answer in &of_group {
            table.add_row([answer.finding.state.word(), answer.check.id, &sentence(&answer.finding)]);
        }
        for (column, width) in table.column_iter_mut().zip(widths) {
            // Two blanks before, one after.
            column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(u16::try_from(width).unwrap_or(20) + 3)));
            column.set_padding((2, 1)).set_cell_alignment(CellAlignment::Left);
        }
        let _ = writeln!(text, "{}", styled(terminal::BOLD, group));
        let mut states = of_group.iter().map(|answer| answer.finding.state);
        for line in table.lines() {
            let line = line.trim_end();
            // A line with a word at its beginning begins a finding; others continue it.
            let begins = line.get(2..3).is_some_and(|first| first != " ");
            match begins.then(|| states.next()).flatten() {
                Some(state) => {
                    let word = state.word();
                    let rest = line.get(2 + word.len()..).unwrap_or_default();
                    let _ = writeln!(text, "  {}{rest}", styled(style(state), word));
                }
                None => _ = writeln!(text, "{line}"),
            }
        }
    }
    let _ = writeln!(text, "{}", sum(answers));
    text
}

fn how_many(answers: &[Answer], state: State) -> u64 {
    answers.iter().filter(|answer| answer.finding.state == state).count() as u64
}

fn sum(answers: &[Answer]) -> String {
    let problems = how_many(answers, State::Problem);
    let (style, said) = match problems {
        0 => (terminal::GOOD, "no problem".to_owned()),
        some => (terminal::BAD, count(some, "problem", "problems")),
    };
    let notes = count(how_many(answers, State::Note), "note", "notes");
    match how_many(answers, State::Unknown) {
        0 => format!("{}, {notes}", styled(style, said)),
        unknown => format!("{}, {notes}, {} could not be told", styled(style, said), unknown),
    }
}

/// The same for machines. Members may be added; a change of meaning raises `doctor`.
pub(super) fn json(answers: &[Answer]) -> Value {
    let findings = answers.iter().map(|Answer { check, finding }| {
        json!({
            "id": check.id,
            "group": check.group,
            "state": finding.state,
            "message": finding.message,
            "remedy": finding.remedy,
            "facts": finding.facts,
        })
    });
    json!({
        "doctor": 1,
        "problems": how_many(answers, State::Problem),
        "notes": how_many(answers, State::Note),
        "unknown": how_many(answers, State::Unknown),
        "findings": findings.collect::<Vec<_>>(),
    })
}
