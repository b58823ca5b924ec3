//! How a library gets under a program: `man 1 dyld`, DYLD_INSERT_LIBRARIES. Not run on a Mac.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// The variable of the dynamic linker.
pub const VARIABLE: &str = "DYLD_INSERT_LIBRARIES";
/// The library's file name.
pub const FILE_NAME: &str = "libjeshim.dylib";
/// Whether a library of any other allocator serves a program by being inserted, too: it would have to register a zone,
/// and nothing outside of the process shows whether it does.
pub const TAKES_OTHERS: bool = false;
/// What a path must not have, for messages.
pub const CANNOT_NAME: &str = "the dynamic linker parts names at colons";

/// The names in the variable's value, of any bytes: parted by colons.
pub fn names(value: &OsStr) -> impl Iterator<Item = &OsStr> {
    value.as_bytes().split(|byte| *byte == b':').filter(|name| !name.is_empty()).map(OsStr::from_bytes)
}

/// Whether a name in the variable means our library: by its file's name, or as another name of the file `library`.
pub fn is_ours(name: &OsStr, library: Option<&Path>) -> bool {
    let path = Path::new(name);
    let file = |path: &Path| std::fs::canonicalize(path).ok();
    path.file_name().is_some_and(|file| file == FILE_NAME)
        || library.is_some_and(|library| path == library || (file(path).is_some() && file(path) == file(library)))
}

/// Whether a path can be named in the variable: it parts names at colons, and has no escape for them.
pub fn can_name(path: &Path) -> bool {
    !path.as_os_str().as_bytes().contains(&b':')
}

/// The variable's new value: ours first, then what was there, without other mentions of the same path.
pub fn put_first(library: &Path, before: Option<&OsStr>) -> OsString {
    let mut value = library.as_os_str().as_bytes().to_owned();
    for name in names(before.unwrap_or_default()) {
        if name != library.as_os_str() {
            value.push(b':');
            value.extend_from_slice(name.as_bytes());
        }
    }
    OsString::from_vec(value)
}
