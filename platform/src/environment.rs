//! The environment of this process: the list of `NAME=value` strings that every Unix has.

use crate::process::{PRELOAD_SEPARATORS, PRELOAD_VARIABLE, environment, is_privileged};
use crate::text::Text;
use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char};

/// The value of an environment variable; `None` when it is not set or the process is privileged.
///
/// The text stays where the environment has it: a program may overwrite it later (setproctitle does), so what is
/// needed for longer has to be copied.
#[must_use]
pub fn variable(name: &[u8]) -> Option<&'static CStr> {
    if is_privileged() {
        return None;
    }
    let mut found = None;
    each_entry(&mut |entry| {
        // SAFETY: an entry of the environment is a C string.
        let text = unsafe { CStr::from_ptr(*entry) };
        let is_it = text.to_bytes().strip_prefix(name).is_some_and(|rest| rest.starts_with(b"="));
        if is_it {
            // SAFETY: the name and '=' were found, so this is inside the string or at its end.
            found = Some(unsafe { CStr::from_ptr((*entry).add(name.len() + 1)) });
        }
        !is_it
    });
    found
}

/// Calls `visit` with each place in the list of environment entries until it answers false.
fn each_entry(visit: &mut dyn FnMut(*mut *mut c_char) -> bool) {
    let mut entry = environment();
    // SAFETY: the list ends with NULL; nobody changes it while the library is loaded or jemalloc starts.
    while !entry.is_null() && unsafe { !(*entry).is_null() } {
        if !visit(entry) {
            return;
        }
        // SAFETY: the entry was not the last.
        entry = unsafe { entry.add(1) };
    }
}

/// Where the shortened list is kept: the environment then points here.
struct List(UnsafeCell<[u8; 8192]>);

// SAFETY: written by `strip_preload` only, whose callers promise to be the only thread.
unsafe impl Sync for List {}

static LIST: List = List(UnsafeCell::new([0; 8192]));

/// Removes this library from the list of libraries that children are to preload, and leaves the others. A list that
/// is longer than 8 KiB stays as it is.
///
/// Entries are recognised by file name: the path may contain the linker's own variables (`$LIB`, `$ORIGIN`, `@rpath`).
///
/// # Safety
/// To be called once, while the program has one thread and has not begun to use its environment: from a constructor.
pub unsafe fn strip_preload(library: &CStr) {
    let own_name = file_name(library.to_bytes());
    each_entry(&mut |entry| {
        // SAFETY: an entry of the environment is a C string.
        let text = unsafe { CStr::from_ptr(*entry) };
        let value = text.to_bytes().strip_prefix(PRELOAD_VARIABLE).and_then(|rest| rest.strip_prefix(b"="));
        let Some(value) = value else { return true };
        // SAFETY: called once, by one thread.
        let mut shorter = Text::new(unsafe { &mut *LIST.0.get() });
        shorter.push(PRELOAD_VARIABLE).push(b"=");
        let empty = shorter.as_bytes().len();
        push_other_entries(&mut shorter, value, own_name);
        let nothing_left = shorter.as_bytes().len() == empty;
        let Some(shorter) = shorter.as_c_str() else { return false };
        // SAFETY: the list of pointers is writable, one thread uses it, and it ends with NULL: putting another entry
        // in place, or moving the rest down with its NULL, keeps it so. The old entry may lie in memory that is not
        // writable (another library's putenv of a literal) and stays as it is.
        unsafe {
            if nothing_left {
                let mut place = entry;
                while !(*place).is_null() {
                    *place = *place.add(1);
                    place = place.add(1);
                }
            } else {
                *entry = shorter.as_ptr().cast_mut();
            }
        }
        false
    });
}

/// Adds the entries of a list that have another file name, with ':' between them.
fn push_other_entries(text: &mut Text, list: &[u8], name: &[u8]) {
    let mut first = true;
    for entry in list.split(|byte| PRELOAD_SEPARATORS.contains(byte)) {
        if entry.is_empty() || file_name(entry) == name {
            continue;
        }
        if !first {
            text.push(b":");
        }
        first = false;
        text.push(entry);
    }
}

fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_entry_is_left_out() {
        for (before, after) in [
            ("/a/libjeshim.so", ""),
            ("/a/libjeshim.so:/b/x.so", "/b/x.so"),
            ("/b/x.so:/a/libjeshim.so", "/b/x.so"),
            ("/b/x.so:/usr/$LIB/libjeshim.so:y.so", "/b/x.so:y.so"),
            ("libjeshim.so:libjeshim.so", ""),
            ("/a/mylibjeshim.so::", "/a/mylibjeshim.so"),
            ("", ""),
        ] {
            for separator in PRELOAD_SEPARATORS {
                let mut list = [0; 64];
                let mut list = Text::new(&mut list);
                for byte in before.bytes() {
                    list.push(&[if byte == b':' { *separator } else { byte }]);
                }
                let mut buffer = [0; 64];
                let mut text = Text::new(&mut buffer);
                push_other_entries(&mut text, list.as_bytes(), b"libjeshim.so");
                assert_eq!(text.as_bytes(), after.as_bytes(), "{before}");
            }
        }
    }
}
