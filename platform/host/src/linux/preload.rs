//! How a library gets under a program: `man 8 ld.so`, LD_PRELOAD.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// The variable of the dynamic linker.
pub const VARIABLE: &str = "LD_PRELOAD";
/// The library's file name.
pub const FILE_NAME: &str = "libjeshim.so";
/// Whether a library of any other allocator serves a program by being preloaded, too.
pub const TAKES_OTHERS: bool = true;
/// What a path must not have, for messages.
pub const CANNOT_NAME: &str =
    "the dynamic linker parts names at blanks and colons, and replaces $ORIGIN, $LIB and $PLATFORM";

/// The names in the variable's value, of any bytes: parted by blanks and colons, and by nothing else (glibc, elf/rtld.c,
/// `handle_preload_list`). musl takes a tab and a line's end for a blank, too.
pub fn names(value: &OsStr) -> impl Iterator<Item = &OsStr> {
    let names = value.as_bytes().split(|byte| matches!(byte, b' ' | b':'));
    names.filter(|name| !name.is_empty()).map(OsStr::from_bytes)
}

/// Whether a name in the variable means our library: by its file's name, or as another name of the file `library`.
pub fn is_ours(name: &OsStr, library: Option<&Path>) -> bool {
    let path = Path::new(name);
    path.file_name().is_some_and(|file| file == FILE_NAME)
        || library.is_some_and(|library| path == library || is_same_file(path, library))
}

/// Whether a path can be named in the variable: it parts names at blanks and colons, replaces some words after `$`, and
/// has no escape for either. Other white space is refused for caution: glibc parts /etc/ld.so.preload there, and musl
/// the variable.
pub fn can_name(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    let parted = bytes.iter().any(|byte| byte.is_ascii_whitespace() || *byte == b'\x0b' || *byte == b':');
    let words: [&[u8]; 3] = [b"ORIGIN", b"LIB", b"PLATFORM"];
    let replaced = bytes.split(|byte| *byte == b'$').skip(1).any(|after| {
        let after = after.strip_prefix(b"{").unwrap_or(after);
        words.iter().any(|word| after.starts_with(word))
    });
    !parted && !replaced
}

/// The variable's new value: ours first, then what was there, without other mentions of the same file.
pub fn put_first(library: &Path, before: Option<&OsStr>) -> OsString {
    let mut value = library.as_os_str().as_bytes().to_owned();
    for name in names(before.unwrap_or_default()) {
        // Another copy would be loaded as well, and two allocators are one too many.
        if !is_ours(name, Some(library)) {
            value.push(b':');
            value.extend_from_slice(name.as_bytes());
        }
    }
    OsString::from_vec(value)
}

/// Whether both name the same file. A name without a slash is one of the linker's search path, not of this folder.
fn is_same_file(path: &Path, library: &Path) -> bool {
    path.as_os_str().as_bytes().contains(&b'/')
        && std::fs::canonicalize(path)
            .is_ok_and(|path| std::fs::canonicalize(library).is_ok_and(|library| library == path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parted_at_blanks_and_colons_and_nowhere_else() {
        let value = OsStr::from_bytes(b" :/a\tb.so: c\n.so::/\xff.so ");
        let expected: [&[u8]; 3] = [b"/a\tb.so", b"c\n.so", b"/\xff.so"];
        assert!(names(value).map(OsStr::as_bytes).eq(expected));
        assert_eq!(names(OsStr::new("")).count(), 0);
    }

    #[test]
    fn ours_is_known_by_its_name_and_by_any_name_of_its_file() {
        let ours = |name: &str, library: Option<&str>| is_ours(OsStr::new(name), library.map(Path::new));
        assert!(ours("libjeshim.so", None) && ours("/nowhere/libjeshim.so", Some("/lib/x.so")));
        assert!(
            ours("/lib/x.so", Some("/lib/x.so")) && ours("/proc/self/exe", std::env::current_exe().unwrap().to_str())
        );
        assert!(!ours("/lib/x.so", None) && !ours("/lib/jeshim/other.so", Some("/lib/x.so")) && !ours("", None));
    }

    #[test]
    fn what_was_there_is_kept_behind_ours() {
        let ours = Path::new("/lib/ours.so");
        for (before, expected) in [
            (None, "/lib/ours.so"),
            (Some(""), "/lib/ours.so"),
            (Some("/lib/a.so b.so:/lib/c.so"), "/lib/ours.so:/lib/a.so:b.so:/lib/c.so"),
            (Some(":/lib/a.so:/lib/ours.so:"), "/lib/ours.so:/lib/a.so"),
        ] {
            assert_eq!(put_first(ours, before.map(OsStr::new)), expected, "{before:?}");
        }
    }

    #[test]
    fn another_name_of_the_same_file_is_not_kept() {
        let exe = std::fs::canonicalize("/proc/self/exe").unwrap();
        assert_eq!(put_first(&exe, Some(OsStr::new("/proc/self/exe:/proc/self/maps"))), {
            let mut expected = exe.clone().into_os_string();
            expected.push(":/proc/self/maps");
            expected
        });
    }

    #[test]
    fn paths_that_the_linker_would_take_apart_are_known() {
        for path in ["/a b/x.so", "/a:b/x.so", "/a\tb", "/$LIB/x.so", "/${ORIGIN}/x.so", "/a$PLATFORM"] {
            assert!(!can_name(Path::new(path)), "{path}");
        }
        for path in ["/a/x.so", "/a$b/x.so", "/a%b'\"/x.so", "/\u{e4}/x.so"] {
            assert!(can_name(Path::new(path)), "{path}");
        }
    }
}
