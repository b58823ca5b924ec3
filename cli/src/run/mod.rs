//! `jeshim run`.

use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
/// When it cannot do its work: exit status 125.
pub fn main(arguments: &crate::arguments::Run) -> anyhow::Result<ExitCode> {
    let _ = arguments;
    todo!()
}
