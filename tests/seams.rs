//! The seams: each function that the linker leads to us has its definition, and a test that shows what it is for.

#[path = "../src/seams/table.rs"]
mod table;

use crate::harness::{library, stdout, succeed};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use table::SEAMS;

/// The library's symbols by name, with the letter of `nm`: capital for those that others see.
fn symbols() -> BTreeMap<String, char> {
    let text = stdout(&succeed(Command::new("nm").args(["--format=posix"]).arg(library())));
    let symbol = |line: &str| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.chars().next()?))
    };
    text.lines().filter_map(symbol).collect()
}

#[test]
fn each_is_defined_in_the_library_and_seen_by_nobody_else() {
    let symbols = symbols();
    assert!(symbols.len() > 1000, "the library is stripped");
    for seam in SEAMS {
        assert_eq!(symbols.get(&format!("__wrap_{}", seam.name)), Some(&'t'), "{}", seam.name);
    }
    let dynamic = stdout(&succeed(Command::new("nm").arg("--dynamic").arg(library())));
    assert!(!dynamic.contains("__wrap_"), "{dynamic}");
}

#[test]
fn each_function_has_its_line_in_the_table() {
    let named: BTreeSet<String> = SEAMS.iter().map(|seam| seam.name.to_owned()).collect();
    assert_eq!(named.len(), SEAMS.len(), "a name twice");
    let defined: BTreeSet<String> =
        symbols().keys().filter_map(|name| name.strip_prefix("__wrap_")).map(str::to_owned).collect();
    assert_eq!(defined, named);
}

/// What jemalloc's own functions are called where they are wrapped: they have to be there, or the name is one of
/// another version and the seam leads nobody anywhere.
#[test]
fn those_inside_jemalloc_are_there() {
    let symbols = symbols();
    let inside: Vec<&str> = SEAMS.iter().map(|seam| seam.name).filter(|name| name.starts_with("_rjem_")).collect();
    assert!(!inside.is_empty());
    for name in inside {
        assert!(symbols.contains_key(name), "jemalloc has no {name}");
    }
}

#[test]
fn each_has_a_reason_and_a_test() {
    for seam in SEAMS {
        assert!(seam.reason.len() > 10, "{seam:?}");
        let test = Path::new(env!("CARGO_MANIFEST_DIR")).join(seam.test);
        assert!(test.is_file(), "{seam:?}");
    }
}

/// The linker drops what nobody needs: a seam without a call in what is left is one for nothing.
#[test]
fn each_is_called() {
    let code = stdout(&succeed(Command::new("objdump").args(["--disassemble", "--no-show-raw-insn"]).arg(library())));
    // An instruction follows a tab, the heading of a function does not.
    let instructions = code.lines().filter(|line| line.contains('\t'));
    let called: BTreeSet<&str> =
        instructions.filter_map(|line| line.split_once("<__wrap_")?.1.strip_suffix('>')).collect();
    for seam in SEAMS {
        assert!(called.contains(seam.name), "nobody calls {}", seam.name);
    }
}
