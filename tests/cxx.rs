//! C++ programs: each operator new and delete, lack of memory, wrong sizes, plugins, operators of the program's own.
//!
//! Each fixture is also run without the library: what it demands is then what the standard and libstdc++ demand.

use crate::harness::{fixture, plain, preloaded, recorded, small_allocations, stderr, stdout, succeed};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

/// The checks are in the fixture; one that fails is named on stderr.
fn holds(mut command: Command) {
    let output = succeed(&mut command);
    assert_eq!((stdout(&output), stderr(&output)), ("passed\n".into(), String::new()), "{command:?}");
}

fn holds_with_and_without(program: &Path, arguments: &[&str]) {
    for run in [plain, preloaded] {
        let mut command = run(program);
        command.args(arguments);
        holds(command);
    }
}

/// A C++ fixture, in the standard that has all 20 operators.
fn cxx(name: &str, arguments: &[&str]) -> std::path::PathBuf {
    fixture(name, &[&["-std=c++17", "-w"], arguments].concat())
}

const STATIC: [&str; 2] = ["-static-libstdc++", "-static-libgcc"];

#[test]
fn every_operator_allocates_and_frees_through_the_library() {
    let program = cxx("cxx_operators.cpp", &[]);
    holds_with_and_without(&program, &[]);
    let (output, record) = recorded(&mut preloaded(&program));
    assert_eq!(stdout(&output), "passed\n", "{}", stderr(&output));
    let names = &record["bound"]["names"];
    let operators: Vec<_> =
        names.as_object().expect("names").iter().filter(|(name, _)| name.starts_with("_Z")).collect();
    assert_eq!(operators.len(), 20, "{names:#}");
    assert!(operators.iter().all(|(_, bound)| **bound == true), "{names:#}");
    // 20 blocks in each of 40 pairs, for a dozen small sizes.
    assert!(small_allocations(&record) > 8_000, "{record:#}");
}

#[test]
fn a_program_with_libstdcxx_inside_is_served_through_malloc() {
    let program = cxx("cxx_operators.cpp", &STATIC);
    holds_with_and_without(&program, &["static"]);
    let (_, record) = recorded(preloaded(&program).arg("static"));
    assert!(small_allocations(&record) > 8_000, "{record:#}");
    holds_with_and_without(&cxx("cxx_no_memory.cpp", &STATIC), &[]);
}

#[test]
fn without_memory_the_new_handler_is_called_and_bad_alloc_thrown() {
    let program = cxx("cxx_no_memory.cpp", &[]);
    holds_with_and_without(&program, &[]);
    let optimised = cxx("cxx_no_memory.cpp", &["-O2", "-fno-builtin-malloc"]);
    holds_with_and_without(&optimised, &[]);
}

#[test]
fn an_aligned_size_that_overflows_when_rounded_is_refused() {
    let mut command = preloaded(cxx("cxx_no_memory.cpp", &[]));
    command.arg("overflow");
    holds(command);
}

#[test]
fn a_program_without_exceptions_ends_as_it_does_without_the_library() {
    let program = cxx("cxx_no_exceptions.cpp", &["-fno-exceptions"]);
    holds_with_and_without(&program, &[]);
    let end = |mut command: Command| {
        let output = command.arg("throw").output().expect("the fixture");
        (stdout(&output), stderr(&output), output.status.signal())
    };
    let expected = end(plain(&program));
    assert_eq!(expected.2, Some(6), "std::terminate: {expected:?}");
    assert_eq!(end(preloaded(&program)), expected);
}

#[test]
fn a_wrong_size_in_delete_does_no_harm() {
    holds_with_and_without(&cxx("cxx_wrong_size.cpp", &[]), &[]);
}

#[test]
fn a_plugin_whose_runtime_nobody_else_sees_throws_and_catches() {
    let host = fixture("cxx_host.c", &["-w"]);
    let shared = ["-shared", "-fPIC"];
    let one = cxx("cxx_plugin.cpp", &shared);
    let other = cxx("cxx_plugin.cpp", &shared);
    let own_runtime = cxx("cxx_plugin.cpp", &[&shared[..], &STATIC].concat());
    let path = |plugin: &Path| plugin.to_str().expect("a path in UTF-8").to_owned();
    let [one, other, own_runtime] = [path(&one), path(&other), path(&own_runtime)];
    holds_with_and_without(&host, &[&one]);
    holds_with_and_without(&host, &[&one, &other]);
    // Loaded again after it was unloaded, and its runtime with it.
    holds_with_and_without(&host, &[&one, &one]);
    holds_with_and_without(&host, &[&own_runtime]);
    // What was found, or not found, for one plugin is not used for another.
    holds_with_and_without(&host, &[&own_runtime, &one, &own_runtime]);
    holds_with_and_without(&host, &[&one, &own_runtime]);
}

#[test]
fn a_program_that_replaces_new_and_delete_is_obeyed_by_every_form() {
    holds_with_and_without(&cxx("cxx_replaced.cpp", &[]), &[]);
    holds_with_and_without(&cxx("cxx_replaced.cpp", &STATIC), &[]);
    holds_with_and_without(&cxx("cxx_replaced.cpp", &["-O2"]), &[]);
}

#[test]
fn a_program_that_replaces_other_forms_is_obeyed_where_the_standard_says_so() {
    holds_with_and_without(&cxx("cxx_replaced_forms.cpp", &["-DARRAYS"]), &[]);
    holds_with_and_without(&cxx("cxx_replaced_forms.cpp", &["-DALIGNED"]), &[]);
}
