//! The answer to "does jemalloc serve this program?", with the exit status of it.

use serde::Serialize;

/// The four answers. Their numbers are exit statuses, and documented.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Small allocations of the program were seen to be served by jemalloc.
    Served = 0,
    /// They were not, or cannot be.
    NotServed = 1,
    /// Some memory or some processes are out of its reach.
    InPart = 2,
    /// Nothing was seen that allows an answer.
    CouldNotTell = 3,
}

impl Verdict {
    /// The words that begin the line of the verdict.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Served => "SERVED",
            Verdict::NotServed => "NOT SERVED",
            Verdict::InPart => "IN PART",
            Verdict::CouldNotTell => "COULD NOT TELL",
        }
    }

    /// The exit status.
    pub fn status(self) -> u8 {
        self as u8
    }
}

/// jeshim could not do its work: wrong usage, no library, no folder for its files.
pub const UNUSABLE: u8 = 125;
/// CMD is there and cannot be executed.
pub const NOT_EXECUTABLE: u8 = 126;
/// CMD is not found.
pub const NOT_FOUND: u8 = 127;
