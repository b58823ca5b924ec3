//! How a library gets under a program: `man 1 dyld`, DYLD_INSERT_LIBRARIES. Not run on a Mac.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// The variable of the dynamic linker.
pub const VARIABLE: &str = "DYLD_INSERT_LIBRARIES";
/// The library's file name.
pub const FILE_NAME: &str = "libjeshim.dylib";
/// What a path must not have, for messages.
pub const CANNOT_NAME: &str = "the dynamic linker parts names at colons";

/// Whether a path can be named in the variable: it parts names at colons, and has no escape for them.
pub fn can_name(path: &Path) -> bool {
    !path.as_os_str().as_bytes().contains(&b':')
}

/// The variable's new value: ours first, then what was there, without other mentions of the same path.
pub fn put_first(library: &Path, before: Option<&OsStr>) -> OsString {
    let mut value = library.as_os_str().as_bytes().to_owned();
    let before = before.map(OsStr::as_bytes).unwrap_or_default();
    for name in before.split(|byte| *byte == b':').filter(|name| !name.is_empty()) {
        if name != library.as_os_str().as_bytes() {
            value.push(b':');
            value.extend_from_slice(name);
        }
    }
    OsString::from_vec(value)
}
