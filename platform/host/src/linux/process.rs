//! Other processes, through /proc.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;

/// A variable of a process, as it was when its program began. `None` when that cannot be read; `Some(None)` when it
/// has no such variable.
pub fn variable(pid: u32, name: &str) -> Option<Option<OsString>> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    // Empty while the kernel is still putting it there, and for a zombie.
    (!environment.is_empty()).then(|| find_variable(&environment, name))
}

/// A variable's value in an environment as the kernel keeps it: NAME=VALUE, each ended by NUL.
fn find_variable(environment: &[u8], name: &str) -> Option<OsString> {
    environment.split(|byte| *byte == 0).find_map(|entry| {
        let value = entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
        Some(OsString::from_vec(value.to_vec()))
    })
}
