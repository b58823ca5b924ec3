//! How a program ended, and what it said last, in words.

use crate::terminal::printable;
use jeshim_host::launch::{self, Ended};

/// "ended with status 1", "was ended by SIGSEGV".
pub fn ended(how: Ended) -> String {
    match how {
        Ended::Exited(status) => format!("ended with status {status}"),
        Ended::Killed(signal) => format!("was ended by {}", launch::signal_name(signal)),
    }
}

/// The last line that is not empty, shortened.
pub fn last_line(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    Some(printable(line.chars().take(200).collect::<String>()))
}
