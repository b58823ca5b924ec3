//! Other processes, through /proc.

use crate::process::find_variable;
use std::ffi::OsString;
use std::fs;

/// A variable of a process, as it was when its program began. `None` when that cannot be read; `Some(None)` when it
/// has no such variable.
pub fn variable(pid: u32, name: &str) -> Option<Option<OsString>> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    // Empty while the kernel is still putting it there, and for a zombie.
    (!environment.is_empty()).then(|| find_variable(&environment, name))
}
