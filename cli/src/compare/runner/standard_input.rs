//! What the programs read.

use crate::terminal::{NOTE, say};
use jeshim_host::standard_input::{StandardInput, standard_input};
use std::path::PathBuf;

/// The file that is this process's standard input, so that each run reads it from its beginning. A terminal is jeshim's;
/// and what comes through a pipe can be read once only.
pub(super) fn file() -> Option<PathBuf> {
    match standard_input() {
        StandardInput::File(path) => Some(path),
        StandardInput::FullPipe => {
            let text = "standard input is a pipe, which the first run would empty, so the programs read nothing; give a file, with <";
            say(NOTE, "jeshim:", text);
            None
        }
        StandardInput::Nothing => None,
    }
}
