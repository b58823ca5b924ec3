//! Other processes: macOS shows their environments to debuggers only.

use std::ffi::OsString;
use std::time::Duration;

/// Never known.
pub fn variable(_pid: u32, _name: &str) -> Option<Option<OsString>> {
    None
}

/// Not known.
pub fn age(_pid: u32) -> Option<Duration> {
    None
}
