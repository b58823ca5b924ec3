//! `jeshim env`.

use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
/// When it cannot do its work: exit status 125.
pub fn main(arguments: &crate::arguments::Env) -> anyhow::Result<ExitCode> {
    let _ = arguments;
    todo!()
}
