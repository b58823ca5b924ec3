//! A report as text: the verdict in a line, details under it.

use super::bindings::is_operator;
use super::report::{LoadedObject, Origin, Report};
use crate::terminal::{BOLD, bytes, count, printable, style_of, styled};
use comfy_table::{CellAlignment, Table, presets};
use std::cmp::Reverse;
use std::fmt::Write;

/// The text, with styles in it.
pub fn text(report: &Report, all: bool) -> String {
    let mut text =
        format!("{}  {}\n", styled(style_of(report.verdict), report.verdict.words()), printable(&report.line));
    let mut line = |name: &str, words: String| {
        let _ = writeln!(text, "  {} {words}", styled(BOLD, format_args!("{name:<8}")));
    };
    for (index, reason) in report.reasons.iter().enumerate() {
        if !report.line.contains(&reason.cause) {
            line("cause", printable(&reason.cause));
        }
        if report.reasons.get(index + 1).is_none_or(|next| next.remedy != reason.remedy) {
            line("remedy", printable(&reason.remedy));
        }
    }
    if let Some(library) = &report.library {
        let gone = if library.deleted { ", deleted or replaced since" } else { "" };
        let path = printable(&library.path);
        line(
            "library",
            format!("{path} {}, jemalloc {}{gone}", printable(&library.version), printable(&library.jemalloc)),
        );
        if let Some(lost) = library.unknown_mappings.filter(|lost| *lost > 0) {
            let (mappings, verb) =
                (count(lost.into(), "mapping", "mappings"), if lost == 1 { "counts" } else { "count" });
            let why =
                "the library has room for the addresses of some hundred, and jemalloc's share is larger than shown";
            line("note", format!("{mappings} of jemalloc {verb} as other memory: {why}"));
        }
    }
    if !report.objects.is_empty() {
        text += &printed(&objects(report, all));
    }
    if let Some(memory) = &report.memory {
        text += &printed(&table_of_memory(memory));
    }
    text
}

fn table(header: [&str; 3]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(header);
    if let Some(column) = table.column_mut(0) {
        column.set_padding((2, 1));
    }
    table
}

/// The lines of a table, the first one as a heading.
fn printed(table: &Table) -> String {
    let line = |(index, line): (usize, String)| {
        let line = line.trim_end().to_owned();
        if index == 0 { format!("\n{}\n", styled(BOLD, line)) } else { format!("{line}\n") }
    };
    table.lines().enumerate().map(line).collect()
}

/// Objects that are alike are one row, except those that take memory elsewhere.
fn objects(report: &Report, all: bool) -> Table {
    let mut table = table(["object", "takes malloc from", "takes operator new from"]);
    let mut groups: Vec<([String; 2], Vec<&LoadedObject>)> = Vec::new();
    let is_library = |object: &LoadedObject| report.library.as_ref().is_some_and(|library| library.path == object.path);
    for object in report.objects.iter().filter(|object| !is_library(object)) {
        let key = [sources(object, false), sources(object, true)];
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, members)) => members.push(object),
            None => groups.push((key, vec![object])),
        }
    }
    let is_other = |members: &[&LoadedObject]| {
        members.first().is_some_and(|object| report.library.is_some() && takes_elsewhere(object))
    };
    // Large groups before small ones, those that take nothing last.
    groups.sort_by_key(|(key, members)| {
        (!is_other(members), key.iter().all(|source| source == "-"), Reverse(members.len()))
    });
    for ([malloc, operators], members) in groups {
        if members.len() > 1 && !all && !is_other(&members) {
            table.add_row([count(members.len() as u64, "object", "objects"), malloc, operators]);
            continue;
        }
        for object in members {
            table.add_row([printable(&object.path), malloc.clone(), operators.clone()]);
        }
    }
    table
}

fn takes_elsewhere(object: &LoadedObject) -> bool {
    object
        .takes
        .iter()
        .flatten()
        .any(|taken| !is_operator(taken.name) && !matches!(taken.from, Origin::Library | Origin::NotCalledYet))
}

/// From where an object takes C's functions, or the operators: one place for all, or each with its names.
fn sources(object: &LoadedObject, operators: bool) -> String {
    let Some(takes) = &object.takes else { return "could not be read".to_owned() };
    let mut sources: Vec<(&Origin, Vec<&str>)> = Vec::new();
    for taken in takes.iter().filter(|taken| is_operator(taken.name) == operators) {
        match sources.iter_mut().find(|(from, _)| **from == taken.from) {
            Some((_, names)) => names.push(taken.name),
            None => sources.push((&taken.from, vec![taken.name])),
        }
    }
    // Some not called yet is the ordinary case, and says nothing beside others.
    if sources.len() > 1 {
        sources.retain(|(from, _)| **from != Origin::NotCalledYet);
    }
    let place = |from: &Origin| match from {
        Origin::Library => "jemalloc".to_owned(),
        Origin::Other { from } => printable(from),
        Origin::NoObject { address } => format!("{address:#x}, in no object"),
        Origin::NotCalledYet => "not called yet".to_owned(),
    };
    match &sources[..] {
        [] => "-".to_owned(),
        [(from, _)] => place(from),
        several => {
            let one = |(from, names): &(&Origin, Vec<&str>)| format!("{}: {}", names.join(", "), place(from));
            several.iter().map(one).collect::<Vec<_>>().join("\n")
        }
    }
}

fn table_of_memory(memory: &super::report::PrivateMemory) -> Table {
    let mut table = table(["private memory", "size", "share"]);
    for owner in &memory.owners {
        table.add_row([printable(&owner.description), bytes(owner.bytes), format!("{:.1}%", owner.percent)]);
    }
    table.add_row(["all".to_owned(), bytes(memory.private), String::new()]);
    for column in [1, 2] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}
