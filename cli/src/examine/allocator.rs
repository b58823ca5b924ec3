//! Who else may serve a program's memory: an allocator of its own, a sanitizer, Go, a runtime's heap.

use super::libraries::{Loaded, is_systems};
use super::{Effect, Examination, marks};
use crate::elf::{Elf, Name, Runtime};
use crate::terminal::printable;
use std::ffi::OsString;
use std::fs::File;

/// What a sanitizer's library is called, what it is, and whether it accepts to come second.
const SANITIZERS: &[(&str, &str)] =
    &[("libasan.so", "AddressSanitizer"), ("libtsan.so", "ThreadSanitizer"), ("libhwasan.so", "HWAddressSanitizer")];

const OTHER_BUILD: &str = "use a build of it that takes malloc from libc";

/// Adds what the executable and its libraries show, and with a file to search, what its constants show.
pub(super) fn obstacles(
    elf: &Elf,
    path: &str,
    search: Option<&File>,
    loaded: &[Loaded],
    variables: &[(OsString, OsString)],
    found: &mut Examination,
) {
    if sanitizer(elf, path, loaded, found) {
        return;
    }
    if elf.go {
        go(elf, path, found);
        return;
    }
    runtimes(elf, loaded, variables, found);
    let exports_malloc = elf.exports(|name| name == Name::Malloc);
    let maps = elf.imports(|name| name == Name::Maps);
    let searched = match search {
        // Who gets no memory from the kernel has no allocator.
        Some(open) if exports_malloc || maps => marks::search(elf, open, exports_malloc),
        _ => marks::Found::default(),
    };
    if searched.capped && searched.allocator.is_none() {
        found.notes.push(format!("{path}: only the first 256 MiB of its constants were searched for an allocator"));
    }
    if exports_malloc {
        let named = prefixed(elf).or(searched.allocator).map_or(String::new(), |name| format!(", {name}"));
        let cause =
            format!("{path} has a malloc of its own in its executable{named}, which comes before any library's");
        found.add("own_allocator", Effect::Prevents, cause, OTHER_BUILD);
        return;
    }
    // CPython carries mimalloc's code from 3.13 on, and does not use it unless it was built without its lock.
    let python = |name: &&str| !(*name == "mimalloc" && elf.exports(|name| name == Name::Runtime(Runtime::Python)));
    if let Some(name) = prefixed(elf).or(searched.allocator).filter(python) {
        let cause = format!(
            "{path} has {name} compiled into it, or calls it by its own names: what it serves is out of a preloaded library's sight"
        );
        found.add("own_allocator", Effect::Part, cause, OTHER_BUILD);
        return;
    }
    for library in loaded.iter().filter(|library| !is_systems(&library.name)) {
        if library.elf.exports(|name| name == Name::Malloc) {
            found
                .notes
                .push(format!("{path} is linked to {}; a preloaded library comes before it", printable(&library.path)));
        }
    }
    // Functions of the C library that allocate for it (fopen, getline) say nothing of how it gets memory itself.
    let asks = |name| matches!(name, Name::Malloc | Name::Family);
    let others_ask = loaded.iter().any(|library| !is_systems(&library.name) && library.elf.imports(asks));
    if elf.imports(asks) || others_ask || !elf.damage.is_empty() {
        return;
    }
    if maps {
        let cause = format!(
            "{path} calls no function of malloc's family, and gets memory from the kernel: it may have an allocator of its own"
        );
        found.add("hidden_allocator", Effect::Unsure, cause, "run it with 'jeshim check --' and see what is served");
    } else {
        found
            .notes
            .push(format!("{path} calls no function of malloc's family itself: only what libc allocates is served"));
    }
}

/// An allocator whose functions are called, or given, by their own names.
fn prefixed(elf: &Elf) -> Option<&'static str> {
    elf.names.iter().find_map(|(name, _)| match name {
        Name::Prefixed(allocator) => Some(*allocator),
        _ => None,
    })
}

fn sanitizer(elf: &Elf, path: &str, loaded: &[Loaded], found: &mut Examination) -> bool {
    let remedy = "use a build without -fsanitize: a sanitizer replaces the allocator";
    let needed = elf.needed.iter().chain(loaded.iter().map(|library| &library.name));
    let of_library = |name: &String| SANITIZERS.iter().find(|(library, _)| name.starts_with(library));
    if let Some((_, name)) = needed.filter_map(of_library).next() {
        let cause = format!("{path} is built with {name}, which ends a program when another library comes before it");
        found.add("sanitizer", Effect::Breaks, cause, remedy);
        return true;
    }
    let inside = elf.names.iter().find_map(|(name, _)| match name {
        Name::Sanitizer(name) => Some(*name),
        _ => None,
    });
    if let (Some(name), true) = (inside, elf.exports(|name| name == Name::Malloc)) {
        let cause =
            format!("{path} has {name} in its executable, and with it a malloc that comes before any library's");
        found.add("sanitizer", Effect::Prevents, cause, remedy);
        return true;
    }
    if elf.needed.iter().any(|name| name.starts_with("liblsan.so")) {
        found.notes.push(format!("{path} is built with LeakSanitizer, which sees no allocation that jemalloc serves"));
    }
    false
}

fn go(elf: &Elf, path: &str, found: &mut Examination) {
    let remedy = "none by preloading; Go's own settings are GOGC and GOMEMLIMIT";
    if elf.imports(|name| matches!(name, Name::Malloc | Name::Family)) {
        let cause = format!("{path} is a Go program: only its C code calls malloc");
        found.add("go", Effect::Part, cause, remedy);
    } else {
        let cause = format!("{path} is a Go program without C code: its memory comes from the kernel, not from malloc");
        found.add("go", Effect::Prevents, cause, remedy);
    }
}

/// Notes about heaps beside malloc's.
fn runtimes(elf: &Elf, loaded: &[Loaded], variables: &[(OsString, OsString)], found: &mut Examination) {
    let variable = |name: &str| {
        variables
            .iter()
            .find(|(known, _)| known == name)
            .map_or_else(String::new, |(_, value)| value.to_string_lossy().into())
    };
    let has = |runtime| {
        let names = elf.names.iter().any(|(name, _)| *name == Name::Runtime(runtime));
        names || loaded.iter().any(|library| library.elf.exports(|name| name == Name::Runtime(runtime)))
    };
    if has(Runtime::Python) && !variable("PYTHONMALLOC").starts_with("malloc") {
        found.notes.push(
            "Python keeps objects up to 512 bytes to itself; with PYTHONMALLOC=malloc jemalloc serves them too"
                .to_owned(),
        );
    }
    if has(Runtime::V8) || has(Runtime::Java) {
        found.notes.push("the garbage-collected heap comes from the kernel (mmap), not from malloc".to_owned());
    }
    if has(Runtime::Php) && variable("USE_ZEND_ALLOC") != "0" {
        found.notes.push("PHP keeps its own allocator; with USE_ZEND_ALLOC=0 jemalloc serves it".to_owned());
    }
}
