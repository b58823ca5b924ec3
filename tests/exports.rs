//! The library exports the names of its table, and nothing else, in the form that the loader is promised.

#[path = "../src/exports/table.rs"]
#[macro_use]
mod table;

use crate::harness;
use std::collections::BTreeSet;
use std::process::Command;

macro_rules! names {
    ($($group:ident {
        $($name:ident $($(/ $name32:ident)? ($($p:tt)*) -> $r:ty = $m:ident::$to:ident $(/ $to32:ident)? ($($a:ident),*))?;)*
    })*) => {
        [$($(stringify!($name),)*)*]
    };
}

fn read(tool: &str, arguments: &[&str]) -> String {
    harness::stdout(&harness::succeed(Command::new(tool).args(arguments).arg(harness::library())))
}

#[test]
fn exports_exactly_the_table() {
    let table: BTreeSet<String> = exports!(names).iter().map(ToString::to_string).collect();
    assert!(table.len() > 60, "the table was not read: {table:?}");
    let symbols = read("nm", &["--dynamic", "--defined-only", "--format=posix"]);
    let exported: BTreeSet<String> =
        symbols.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
    assert_eq!(exported, table);
}

/// The first instruction of an exported function.
fn first_instruction(name: &str) -> String {
    let text = read("objdump", &[&format!("--disassemble={name}")]);
    text.lines().skip_while(|line| !line.contains(&format!("<{name}>:"))).nth(1).unwrap_or("").to_owned()
}

#[test]
fn malloc_and_its_family_are_one_direct_jump_to_jemallocs() {
    for name in ["malloc", "free", "calloc", "realloc", "aligned_alloc", "posix_memalign", "mallocx"] {
        let first = first_instruction(name);
        assert!(first.contains("jmp") && first.contains(&format!("<_rjem_{name}>")), "{name} begins with: {first}");
    }
    let first = first_instruction("_ZdlPv");
    assert!(first.contains("jmp") && first.contains("<_rjem_free>"), "operator delete begins with: {first}");
}

#[test]
fn sized_delete_jumps_to_the_delete_that_the_program_sees() {
    let first = first_instruction("_ZdlPvm");
    assert!(first.contains("jmp") && first.contains("(%rip)"), "sized operator delete begins with: {first}");
}

#[test]
fn needs_neither_cxx_runtime_nor_libm() {
    let dynamic = read("readelf", &["--dynamic"]);
    assert!(dynamic.contains("libc.so.6"), "{dynamic}");
    for library in ["libstdc++", "libc++", "libm.so"] {
        assert!(!dynamic.contains(library), "{library}: {dynamic}");
    }
}

#[test]
fn is_never_unloaded_and_hardened() {
    let dynamic = read("readelf", &["--dynamic"]);
    assert!(dynamic.contains("NODELETE"), "{dynamic}");
    assert!(dynamic.contains("BIND_NOW"), "full RELRO binds at load: {dynamic}");
    assert!(!dynamic.contains("TEXTREL"), "{dynamic}");
    let segments = read("readelf", &["--segments", "--wide"]);
    assert!(segments.contains("GNU_RELRO"), "{segments}");
    let stack = segments.lines().find(|line| line.contains("GNU_STACK")).expect("a GNU_STACK segment");
    assert!(!stack.contains("RWE"), "{stack}");
}
