//! How facts look on a terminal, and how paths do in JSON: colours only there, and not with NO_COLOR (anstream sees to both).

use crate::doctor::machine::cause;
use crate::verdict::Verdict;
use anstyle::{AnsiColor, Style};
use anyhow::bail;
use serde::Serializer;
use std::fmt::Display;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Names of things, headings.
pub const BOLD: Style = Style::new().bold();
/// What is as it should be.
pub const GOOD: Style = AnsiColor::Green.on_default().bold();
/// What asks for a look.
pub const NOTE: Style = AnsiColor::Yellow.on_default().bold();
/// What is wrong.
pub const BAD: Style = AnsiColor::Red.on_default().bold();

/// Text in a style, to print through `anstream`, which takes the style out where no terminal reads it.
pub fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// A line on standard error. One that cannot be written is no reason to fail, and a panic would be worse.
pub fn say(style: Style, start: &str, text: impl Display) {
    let _ = writeln!(anstream::stderr(), "{} {text}", styled(style, start));
}

/// Writes a report: to a file, without colours; to standard output; or, where that is another program's, to standard
/// error. A reader that has seen enough and left is no failure, and neither is a standard error that nobody can read:
/// the report's own exit status says more.
///
/// # Errors
/// When the file or standard output cannot be written: cause and remedy in a line.
pub fn write_report(text: &str, output: Option<&Path>, to_stdout: bool) -> anyhow::Result<()> {
    let Some(path) = output else {
        if !to_stdout {
            let _ = anstream::stderr().write_all(text.as_bytes());
            return Ok(());
        }
        let mut stdout = anstream::stdout();
        return match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                bail!("standard output cannot be written: {}; send it elsewhere", cause(&error))
            }
            _ => Ok(()),
        };
    };
    let plain = anstream::adapter::strip_str(text).to_string();
    match std::fs::write(path, plain) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            bail!("{} cannot be written: {}; name another file", printable(path), cause(&error))
        }
        _ => Ok(()),
    }
}

/// Whether a report can be written to this file, asked before there is one.
///
/// # Errors
/// Cause and remedy in a line.
pub fn can_write(path: &Path) -> anyhow::Result<()> {
    match std::fs::OpenOptions::new().append(true).create(true).open(path) {
        Err(error) => bail!("{} cannot be written: {}; name another file", printable(path), cause(&error)),
        Ok(_) => Ok(()),
    }
}

/// The style of a verdict.
pub fn style_of(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Served => GOOD,
        Verdict::NotServed => BAD,
        Verdict::InPart | Verdict::CouldNotTell => NOTE,
    }
}

/// A path or text of somebody else's, without the control characters that a terminal would obey.
pub fn printable(text: impl AsRef<std::ffi::OsStr>) -> String {
    text.as_ref().to_string_lossy().chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// A path in JSON, which is UTF-8: what is not is replaced. For serde's `serialize_with`.
///
/// # Errors
/// The serializer's.
pub fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// "1 process", "12 processes", "1,234,567 small allocations".
pub fn count(number: u64, one: &str, more: &str) -> String {
    format!("{} {}", indicatif::HumanCount(number), if number == 1 { one } else { more })
}

/// "1.26 MiB".
pub fn bytes(number: u64) -> String {
    indicatif::BinaryBytes(number).to_string()
}
