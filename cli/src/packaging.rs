//! What packages carry besides the command, made from the same definitions: completions and manual pages.

use crate::arguments::{Arguments, Completions, Man};
use crate::terminal::write_report;
use anyhow::Context;
use clap::CommandFactory;
use std::process::ExitCode;

/// `jeshim completions SHELL`.
///
/// # Errors
/// When standard output cannot be written.
pub fn completions(arguments: &Completions) -> anyhow::Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "jeshim", &mut text);
    write_report(&String::from_utf8(text)?, None, true)?;
    Ok(ExitCode::SUCCESS)
}

/// `jeshim man FOLDER`.
///
/// # Errors
/// When the folder or a page in it cannot be written.
pub fn man(arguments: &Man) -> anyhow::Result<ExitCode> {
    let folder = &arguments.folder;
    let problem = || format!("{} cannot be written; name a folder that this user may write", folder.display());
    std::fs::create_dir_all(folder).with_context(problem)?;
    clap_mangen::generate_to(Arguments::command(), folder).with_context(problem)?;
    Ok(ExitCode::SUCCESS)
}
