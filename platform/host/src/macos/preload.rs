//! How a library gets under a program: `man 1 dyld`, DYLD_INSERT_LIBRARIES. Not run on a Mac.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The variable of the dynamic linker.
pub const VARIABLE: &str = "DYLD_INSERT_LIBRARIES";
/// The library's file name.
pub const FILE_NAME: &str = "libjeshim.dylib";

/// Whether a path can be named in the variable: it parts names at colons, and has no escape for them.
pub fn can_name(path: &Path) -> bool {
    !path.as_os_str().as_encoded_bytes().contains(&b':')
}

/// The variable's new value: ours first, then what was there.
pub fn put_first(library: &Path, before: Option<&OsStr>) -> OsString {
    let mut value = library.as_os_str().to_owned();
    if let Some(before) = before.filter(|before| !before.is_empty()) {
        value.push(":");
        value.push(before);
    }
    value
}
