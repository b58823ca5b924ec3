//! Other processes: macOS shows their environments to debuggers only.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Duration;

/// Never known.
pub fn variable(_pid: u32, _name: &str) -> Option<Option<OsString>> {
    None
}

/// The path of the file that is standard input.
pub(crate) fn standard_input_path() -> Option<PathBuf> {
    let mut path = vec![0_u8; libc::PATH_MAX as usize];
    // SAFETY: the buffer is as large as the call may fill it (fcntl(2), F_GETPATH).
    if unsafe { libc::fcntl(0, libc::F_GETPATH, path.as_mut_ptr()) } == -1 {
        return None;
    }
    let length = path.iter().position(|byte| *byte == 0)?;
    path.truncate(length);
    Some(PathBuf::from(OsString::from_vec(path)))
}

/// Not known.
pub fn age(_pid: u32) -> Option<Duration> {
    None
}
