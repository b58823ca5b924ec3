//! What was asked for, and where it goes.

use super::{csv, html, json, markdown, text, write};
use crate::arguments::compare::OutputArguments;
use crate::compare::against::{Against, against};
use crate::compare::analysis::{Analysis, analyse};
use crate::compare::results::Comparison;
use crate::terminal::{BAD, printable, say, write_report};
use anyhow::bail;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Standard output, as it is typed.
const STDOUT: &str = "-";

/// Whether every file that was asked for can be written: asked before anything is run.
///
/// # Errors
/// Cause and remedy.
pub fn can_write(asked: &OutputArguments) -> anyhow::Result<()> {
    let wanted = [&asked.json, &asked.csv, &asked.markdown, &asked.html].into_iter().flatten();
    let (to_stdout, files): (Vec<&Path>, Vec<&Path>) =
        wanted.map(|path| path.as_path()).partition(|path| *path == Path::new(STDOUT));
    if to_stdout.len() > 1 {
        bail!("two reports would be mixed on standard output; give one of them a file, as in --json=FILE");
    }
    for (index, file) in files.iter().enumerate() {
        if files.iter().take(index).any(|other| other == file) {
            bail!("two reports would be written to {}; name two files", printable(file));
        }
        let before = std::fs::metadata(file).ok();
        if before.is_some_and(|before| before.is_file() && before.permissions().mode() & 0o111 != 0) {
            bail!("{} is a program, which a report would replace; name another file", printable(file));
        }
        let is_new = std::fs::symlink_metadata(file).is_err();
        crate::terminal::can_write(file)?;
        // It was made by the question.
        if is_new {
            let _ = std::fs::remove_file(file);
        }
    }
    Ok(())
}

/// Shows a comparison as it was asked for: on a terminal in words and tables, unless a report takes standard output. A
/// report that cannot be written does not keep the others from being written.
///
/// # Errors
/// The first report that could not be written: cause, remedy, and what is kept.
pub fn show(comparison: &Comparison, older: Option<&Comparison>, asked: &OutputArguments) -> anyhow::Result<()> {
    let analysis = analyse(comparison);
    let older = older.map(|older| against(comparison, older));
    let older = older.as_ref();
    let mut errors = Vec::new();
    let mut stdout_is_taken = false;
    for (path, report) in reports(comparison, &analysis, older, asked) {
        let written = report.and_then(|report| {
            if path == Path::new(STDOUT) {
                stdout_is_taken = true;
                return write_report(&report, None, true);
            }
            write(&report, path)
        });
        errors.extend(written.err());
    }
    let text = text(comparison, &analysis, older, asked.all);
    // Where standard output is a report, the words go where the progress went.
    if let Err(error) = write_report(&text, None, !stdout_is_taken) {
        errors.push(error);
    }
    let mut errors = errors.into_iter();
    let first = errors.next();
    for error in errors {
        say(BAD, "jeshim:", format_args!("{error:#}"));
    }
    first.map_or(Ok(()), Err)
}

type Report<'a> = (&'a Path, anyhow::Result<String>);

fn reports<'a>(
    comparison: &Comparison,
    analysis: &Analysis,
    older: Option<&Against>,
    asked: &'a OutputArguments,
) -> Vec<Report<'a>> {
    let mut reports: Vec<Report> = Vec::new();
    if let Some(path) = &asked.json {
        reports.push((path, json(comparison, analysis, older)));
    }
    if let Some(path) = &asked.csv {
        reports.push((path, csv(comparison)));
    }
    if let Some(path) = &asked.markdown {
        reports.push((path, Ok(markdown(comparison, analysis, older, asked.all))));
    }
    if let Some(path) = &asked.html {
        reports.push((path, html(comparison, analysis, older)));
    }
    reports
}
