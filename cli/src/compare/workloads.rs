//! The workloads that come with jeshim: what is compared when no program is named.

use super::metrics::Metrics;
use super::plan::CommandLine;
use crate::terminal::printable;
use anyhow::bail;
use std::path::{Path, PathBuf};

/// They are executables of these names (`workloads/`).
pub const NAMES: [&str; 4] = ["json-rpc", "kv-churn", "io-threads", "block-build"];

/// Another one that is beside them, for the scenario `bitcoin`.
const STAND_IN: &str = "table-bench";

/// A figure a line: `block_write: 83.120 ns/op`. Counts and the checksum are the same under every allocator.
const TIMES: &str = r"^(?<name>[a-z][\w.-]*): (?<value>[\d.]+ (?:ms|ns/op|requests/s))$";
/// `rss_loaded: 123456 bytes`.
const MEMORY: &str = r"^(?<name>rss[\w.-]*): (?<value>\d+ bytes)$";
/// Those of which more is better.
const HIGHER: [&str; 1] = ["iops"];

/// The four commands.
///
/// # Errors
/// When they are not there: where they were looked for, and how to build them.
pub fn find() -> anyhow::Result<Vec<CommandLine>> {
    let folder = folder()?;
    let command = |name: &str| CommandLine { name: name.to_owned(), words: vec![folder.join(name).into_os_string()] };
    Ok(NAMES.iter().map(|name| command(name)).collect())
}

/// Their figures.
///
/// # Errors
/// None in practice: the pattern is fixed, and tested.
pub fn metrics() -> anyhow::Result<Metrics> {
    let mut metrics = Metrics::default();
    for (name, pattern) in [("times", TIMES), ("memory", MEMORY)] {
        metrics.add_pattern(name, pattern).map_err(anyhow::Error::msg)?;
    }
    for name in HIGHER {
        metrics.more_is_better(name).map_err(anyhow::Error::msg)?;
    }
    Ok(metrics)
}

/// The folder that all of them are in: beside this command, `../lib/jeshim`, or cargo's target folder
/// (`CARGO_TARGET_DIR`, or `target` of the folder in which this is a project).
///
/// # Errors
/// As [`find`].
pub fn folder() -> anyhow::Result<PathBuf> {
    let command = std::env::current_exe().and_then(std::fs::canonicalize).unwrap_or_default();
    let beside = command.parent().unwrap_or(Path::new(""));
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(PathBuf::from("target"), PathBuf::from);
    // Tests are in `deps`, a level below what they test.
    let places = [beside.to_owned(), beside.join("../lib/jeshim"), beside.join(".."), target.join("release")];
    in_one_of(&places)
}

fn in_one_of(places: &[PathBuf]) -> anyhow::Result<PathBuf> {
    let has_all = |folder: &&PathBuf| NAMES.iter().chain([&STAND_IN]).all(|name| folder.join(name).is_file());
    let Some(folder) = places.iter().find(has_all) else {
        let shown: Vec<String> = places.iter().map(printable).collect();
        bail!(
            "the workloads {} and {STAND_IN} are not all in one of {}; build them with 'cargo build --release -p jeshim-workloads', or name a \
             program behind --",
            NAMES.join(", "),
            shown.join(", ")
        );
    };
    Ok(std::fs::canonicalize(folder)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::results::Unit;

    #[test]
    fn their_figures_are_read_as_they_print_them() {
        let metrics = metrics().expect("the pattern");
        let output = b"rss_loaded: 123456 bytes\nrss_loaded_per_live: 1.250 ratio\nload: 912.250 ns/op\niops: 1000.500 requests/s\n\
                       build: 12.500 ms\nchecksum: 0123456789012345 fnv1a\n";
        let found: Vec<(String, f64, Unit)> =
            metrics.read(output, b"").into_iter().map(|reading| (reading.name, reading.value, reading.unit)).collect();
        assert_eq!(
            found,
            [
                ("load".to_owned(), 912.25, Unit::Plain),
                ("iops".to_owned(), 1000.5, Unit::Plain),
                ("build".to_owned(), 0.0125, Unit::Seconds),
                ("rss_loaded".to_owned(), 123_456.0, Unit::Bytes),
            ]
        );
        let higher: Vec<String> = metrics
            .read(output, b"")
            .iter()
            .map(|reading| metrics.figure(reading, None))
            .filter(|figure| figure.higher_is_better)
            .map(|figure| figure.name)
            .collect();
        assert_eq!(higher, ["iops"]);
    }

    #[test]
    fn they_are_found_where_all_of_them_are() {
        let root = tempfile::tempdir().expect("a folder");
        let places = [root.path().join("some"), root.path().join("all")];
        for (place, names) in places.iter().zip([&NAMES[..], &[&NAMES[..], &[STAND_IN]].concat()]) {
            std::fs::create_dir(place).expect("a folder");
            for name in names {
                std::fs::write(place.join(name), "").expect("a file");
            }
        }
        let found = in_one_of(&places).expect("all of them");
        assert!(found.ends_with("all"), "{found:?}");
        let error = in_one_of(&places[..1]).expect_err("some are missing").to_string();
        assert!(error.contains("cargo build") && error.contains("json-rpc"), "{error}");
    }
}
