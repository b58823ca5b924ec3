//! No code of the library can panic: a panic would end the program under it. The compiler leaves no call of a panic
//! function in optimised code that cannot reach one, so none may be found in the library's own functions.

use crate::harness;
use std::process::Command;

/// The functions that call one of core's panic functions, of those whose name contains one of `parts`.
fn callers(disassembly: &str, parts: &[&str]) -> Vec<String> {
    let mut function = "";
    let mut found = Vec::new();
    for line in disassembly.lines() {
        if let Some(name) = line.strip_suffix(">:").and_then(|line| line.split_once('<')) {
            function = name.1;
        }
        let panics = ["core::panicking", "core::slice::index", "unwrap_failed", "expect_failed", "slice_index_fail"];
        if panics.iter().any(|name| line.contains(name)) && parts.iter().any(|part| function.contains(part)) {
            found.push(format!("{function}: {line}"));
        }
    }
    found
}

#[test]
fn no_function_of_the_library_calls_a_panic_function() {
    if cfg!(debug_assertions) {
        println!("not tested: without optimisation the checks for overflow panic");
        return;
    }
    let mut objdump = Command::new("objdump");
    objdump.args(["--disassemble", "--demangle", "--no-show-raw-insn"]).arg(harness::library());
    let disassembly = harness::stdout(&harness::succeed(&mut objdump));
    let ours = disassembly.lines().filter(|line| line.ends_with(">:") && line.contains("jeshim")).count();
    assert!(ours > 40, "only {ours} functions of the library were found");
    assert_eq!(callers(&disassembly, &["jeshim"]), Vec::<String>::new());
    // The search itself: the standard library, which parking_lot brings, does have such calls.
    assert_ne!(callers(&disassembly, &["std::", "core::"]), Vec::<String>::new());
}
