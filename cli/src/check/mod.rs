//! `jeshim check`.

use crate::live;
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
/// When it cannot do its work: exit status 125.
pub fn main(arguments: &crate::arguments::Check) -> anyhow::Result<ExitCode> {
    if let Some(pid) = arguments.pid {
        return live::main(arguments, pid);
    }
    todo!()
}
