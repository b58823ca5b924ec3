//! Memory is there from the first moment of a process to the last, and a process ends as it would without the library.

use crate::harness::time_limit::{plain, preloaded, with_preloads};
use crate::harness::{
    fixture, library, record, recorded, records, scratch, small_allocations, stderr, stdout, succeed,
};
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Output};

fn program() -> PathBuf {
    fixture("life_process.c", &["-pthread"])
}

/// Status and output, the end by a signal included.
fn ending(output: &Output) -> (Option<i32>, Option<i32>, String, String) {
    (output.status.code(), output.status.signal(), stdout(output), stderr(output))
}

fn run(command: &mut Command) -> Output {
    command.output().expect("a program")
}

/// Runs a part of the program with the library, and compares with a run without.
fn lives(kind: &str, expected: &str) {
    let program = program();
    let with = run(preloaded(&program).arg(kind));
    let without = run(plain(&program).arg(kind));
    assert_eq!(ending(&with), ending(&without), "{kind}");
    assert_eq!(stdout(&with), expected, "{kind}");
    let (with_record, _) = recorded(preloaded(&program).arg(kind));
    assert_eq!(ending(&with_record), ending(&without), "{kind}, with a record");
}

#[test]
fn before_the_constructors() {
    lives("preinit", "preinit end\n");
}

#[test]
fn any_call_may_be_the_first() {
    let program = fixture("life_first_call.c", &[]);
    for call in ["free-null", "usable-null", "calloc", "posix_memalign", "realloc-null", "aligned_alloc", "malloc"] {
        let output = run(preloaded(&program).arg(call));
        assert_eq!(output.status.code(), Some(0), "{call}: {}", stderr(&output));
    }
    // The program tells good from bad.
    assert_eq!(run(preloaded(&program).arg("none")).status.code(), Some(1));
}

#[test]
fn in_exit_handlers_and_destructors() {
    lives("exit", "end\natexit destructor ");
}

#[test]
fn in_destructors_of_thread_specific_data() {
    lives("key", "key key end\n");
    lives("key-only", "key key end\n");
}

#[test]
fn in_destructors_of_cxx_objects() {
    let program = fixture("life_objects.cpp", &["-std=c++17", "-pthread"]);
    let with = succeed(&mut preloaded(&program));
    assert_eq!(stdout(&with), "thread_local 0\nlast 107\nthread_local 100\nmain\nstatic 100\n");
    assert_eq!(ending(&with), ending(&run(&mut plain(&program))));
}

#[test]
fn in_signal_handlers() {
    lives("signal", "signal signal signal end\n");
    lives("signal-stack", "signal end\n");
}

#[test]
fn in_threads_with_little_stack() {
    lives("small-stacks", "end\n");
    // `ulimit -s` is what new threads get by default, and what the main thread may grow to.
    let mut shell = preloaded("/bin/bash");
    let path = scratch("life").join("%e.json");
    shell.args(["-c", r#"ulimit -s 128 && exec "$0" default-stacks"#]).arg(program()).env("JESHIM_REPORT", &path);
    assert_eq!(stdout(&succeed(&mut shell)), "end\n");
    assert!(small_allocations(&record(&path.with_file_name("life_process.json"))) > 10_000);
}

#[test]
fn in_two_hundred_threads() {
    lives("200-threads", "end\n");
}

#[test]
fn after_the_main_thread_has_ended() {
    lives("pthread_exit", "outlived\n");
    lives("exit-in-thread", "outlived\natexit ");
}

#[test]
fn whatever_way_it_ends() {
    lives("_exit", "");
    lives("abort", "");
    lives("quick_exit", "atexit ");
    lives("kill", "");
    lives("exec", "end\natexit destructor ");
    let status = |kind: &str| run(preloaded(program()).arg(kind)).status;
    assert_eq!(status("_exit").code(), Some(7));
    assert_eq!(status("quick_exit").code(), Some(7));
    assert_eq!(status("pthread_exit").code(), Some(7));
    assert_eq!(status("abort").signal(), Some(6));
}

#[test]
fn a_process_that_replaces_itself_has_two_records() {
    let folder = scratch("life");
    succeed(preloaded(program()).arg("exec").env("JESHIM_REPORT", folder.join("%p.json")));
    let records = records(&folder);
    assert_eq!(records.len(), 2);
    assert_eq!(records[0]["pid"], records[1]["pid"]);
    assert_eq!(records.iter().filter(|record| record["finished"] == true).count(), 1);
}

#[test]
fn in_constructors_that_run_before_ours() {
    let early = fixture("life_early.c", &["-shared", "-fPIC"]);
    let library = library();
    let program = program();
    let mut seen = Vec::new();
    for order in [[early.as_os_str(), library.as_os_str()], [library.as_os_str(), early.as_os_str()]] {
        let mut command = with_preloads(&order, &program);
        command.arg("nothing").env("JESHIM_CHILDREN", "strip");
        let (output, record) = recorded(&mut command);
        assert!(output.status.success(), "{}", stderr(&output));
        let text = stdout(&output);
        let (first, rest) = text.split_once('\n').expect("lines");
        seen.push(first.to_owned());
        assert!(["end\nlate\ndestructor\n", "end\ndestructor\nlate\n"].contains(&rest), "{text}");
        assert!(small_allocations(&record) > 0, "{record:#}");
    }
    seen.sort();
    assert_eq!(seen, ["after", "before"], "both orders were seen");
}

/// Runs under a library for LD_AUDIT, with tunables of glibc's.
fn audited(tunables: &str) {
    let audit = fixture("life_audit.c", &["-shared", "-fPIC"]);
    let mut command = plain("env");
    for (name, value) in [("LD_AUDIT", &audit), ("LD_PRELOAD", &library())] {
        let mut variable = OsString::from(name);
        variable.push("=");
        variable.push(value);
        command.arg(variable);
    }
    command.arg(program()).arg("exit").env("GLIBC_TUNABLES", tunables);
    let path = scratch("life").join("record.json");
    let output = run(command.env("JESHIM_REPORT", &path));
    assert_eq!(ending(&output), (Some(0), None, "audited\nend\natexit destructor ".into(), String::new()));
    let record = record(&path);
    assert!(small_allocations(&record) > 60, "{record:#}");
    assert_eq!(record["bound"]["names"]["malloc"], true, "{record:#}");
}

/// With LD_AUDIT glibc plans its table of thread-local storage before it sees what is preloaded, and jemalloc needs more
/// than the 512 bytes that it keeps for surprises (jemalloc#2472).
#[test]
fn under_an_audit_library() {
    audited("glibc.rtld.optional_static_tls=2048");
}

#[test]
#[ignore = "jemalloc's thread data does not fit into what glibc leaves: the program is not started"]
fn under_an_audit_library_without_a_tunable() {
    audited("");
}
