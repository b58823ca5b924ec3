//! `jeshim check --pid`: a live process from outside, without stopping it.

use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
/// When it cannot do its work: exit status 125.
pub fn main(arguments: &crate::arguments::Check, pid: u32) -> anyhow::Result<ExitCode> {
    let _ = (arguments, pid);
    todo!()
}
