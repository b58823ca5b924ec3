//! A line of the corpus.

use serde::Deserialize;

/// A program, how it is run, and what must be said of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Program {
    pub(super) name: String,
    /// Debian's package; empty for what comes with Rust.
    pub(super) package: String,
    /// The command. `{dir}` is a folder of its own, in which it runs, with copies of `corpus/files`; `{sysroot}` is
    /// Rust's; a word that is a name in braces is a program of `built.rs`.
    pub(super) run: Vec<String>,
    /// The verdict of `check -- CMD`: `served`, `not served`, `in part`, `could not tell`.
    pub(super) check: Option<String>,
    /// What `check --file` says of the first word: `clear`, or the verdict and the obstacle, as `not served: static`.
    pub(super) file: Option<String>,
    /// Programs without which it cannot be run; else the first word.
    pub(super) needs: Option<Vec<String>>,
    /// For whom: `root`, `nobody`; else for whoever runs the test.
    #[serde(rename = "as")]
    pub(super) user: Option<String>,
    /// For `--for`.
    pub(super) follow: Option<String>,
    /// How long it may take; else 20.
    pub(super) seconds: Option<u32>,
    pub(super) why: String,
}

impl Program {
    /// Every line.
    pub(super) fn all() -> Vec<Program> {
        let lines = include_str!("programs.jsonl").lines();
        lines.map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
    }
}
