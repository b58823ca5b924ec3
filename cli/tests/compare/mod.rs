//! `jeshim compare`, as a user sees it.

mod allocators;
mod earlier;
mod memory_over_time;
mod mishaps;
mod one_run;
mod proof;
mod report;
mod scenarios;
mod servers;
mod trust;

use crate::harness::{self, jeshim, stderr};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// The command with the library of this build, without progress.
fn compare() -> Command {
    let mut command = jeshim();
    command.args(["compare", "--quiet", "--lib"]).arg(harness::library());
    command
}

/// The whole result of a comparison that is made with these arguments; it has to end with this status.
fn result(arguments: &[&str], status: i32) -> Value {
    let output = compare().arg("--json").args(arguments).output().expect("jeshim");
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", stderr(&output));
    read(&output)
}

fn read(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", stderr(output)))
}

/// The program with a planted difference.
fn planted() -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/compare_planted.c");
    harness::compile(source.to_str().expect("a path"), &["-O2"]).to_str().expect("a path").to_owned()
}

/// The cell of a participant in the row of a figure, at the first point.
fn cell<'a>(result: &'a Value, figure: &str, participant: usize) -> &'a Value {
    let figures = result["figures"].as_array().expect("figures");
    let index =
        figures.iter().position(|known| known["id"] == figure).unwrap_or_else(|| panic!("no {figure}: {figures:?}"));
    let rows = result["analysis"]["rows"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["figure"] == index).unwrap_or_else(|| panic!("no row of {figure}"));
    &row["cells"][participant]
}

/// The texts of the findings of a kind.
fn findings(result: &Value, id: &str) -> Vec<String> {
    let findings = result["findings"].as_array().expect("findings");
    let texts = findings.iter().filter(|finding| finding["id"] == id);
    texts.map(|finding| finding["text"].as_str().unwrap_or_default().to_owned()).collect()
}
