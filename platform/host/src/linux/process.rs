//! Other processes, through /proc.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Duration;

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

/// A path under which the file that is standard input can be opened again, also when it has lost its name.
pub(crate) fn standard_input_path() -> Option<PathBuf> {
    Some(PathBuf::from(format!("/proc/{}/fd/0", std::process::id())))
}

/// How long ago a process was forked, to a hundredth of a second. `None` when there is none.
pub fn age(pid: u32) -> Option<Duration> {
    let stat = procfs::process::Process::new(i32::try_from(pid).ok()?).ok()?.stat().ok()?;
    let started = stat.starttime as f64 / procfs::ticks_per_second() as f64;
    let uptime: f64 = fs::read_to_string("/proc/uptime").ok()?.split(' ').next()?.parse().ok()?;
    Duration::try_from_secs_f64(uptime - started).ok()
}
