//! The library exports the names of its table, and nothing else, in the form that the loader is promised.

mod harness;
#[path = "../src/exports/table.rs"]
#[macro_use]
mod table;

use std::collections::BTreeSet;
use std::process::Command;

macro_rules! names {
    (functions { $($name:ident $(/ $name32:ident)? ($($p:tt)*) -> $r:ty = $m:ident::$to:ident ($($a:ident),*);)* }
     data { $($data:ident;)* }) => {
        [$(stringify!($name),)* $(stringify!($data),)*]
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

#[test]
fn malloc_and_free_are_one_direct_jump_to_jemallocs() {
    for name in ["malloc", "free", "calloc", "realloc", "_ZdlPvm"] {
        let text =
            read("objdump", &["--disassemble=".to_owned() + name].iter().map(String::as_str).collect::<Vec<_>>());
        let first = text.lines().skip_while(|line| !line.ends_with(&format!("<{name}>:"))).nth(1).unwrap_or("");
        let target = if name == "_ZdlPvm" { "free" } else { name };
        assert!(first.contains("jmp") && first.contains(&format!("<_rjem_{target}>")), "{name} begins with: {first}");
    }
}

#[test]
fn needs_no_cxx_runtime() {
    let dynamic = read("readelf", &["--dynamic"]);
    assert!(dynamic.contains("libc.so.6"), "{dynamic}");
    assert!(!dynamic.contains("libstdc++") && !dynamic.contains("libc++"), "{dynamic}");
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
