//! malloc and its family keep the promises of the functions they replace: edges, alignment, errno, lack of memory.
//!
//! Each fixture is also run without the library: what it demands is then glibc's own behaviour, and not ours only.

use crate::harness::{fixture, plain, preloaded, stderr, stdout, succeed};
use std::path::Path;
use std::process::Command;

/// The checks are in the fixture; one that fails is named on stderr.
fn holds(mut command: Command) {
    let output = succeed(&mut command);
    assert_eq!(stdout(&output), "passed\n", "{command:?}: {}", stderr(&output));
    assert_eq!(stderr(&output), "", "{command:?}");
}

fn holds_with_and_without(program: &Path, arguments: &[&str]) {
    for run in [plain, preloaded] {
        let mut command = run(program);
        command.args(arguments);
        holds(command);
    }
}

#[test]
fn realloc_calloc_and_free_behave_at_their_edges() {
    holds_with_and_without(&fixture("semantics_basics.c", &[]), &[]);
}

#[test]
fn sizes_over_ptrdiff_max_are_refused_with_enomem() {
    holds_with_and_without(&fixture("semantics_too_large.c", &["-w"]), &[]);
}

#[test]
fn every_block_is_aligned_for_any_type() {
    holds_with_and_without(&fixture("semantics_alignment.c", &[]), &["plain"]);
}

#[test]
fn each_function_has_its_own_rules_of_alignment() {
    holds_with_and_without(&fixture("semantics_alignment.c", &[]), &["asked for"]);
}

#[test]
fn errno_stays_as_it_was() {
    let program = fixture("semantics_errno.c", &[]);
    holds_with_and_without(&program, &[]);
    // Purging at once: each free then gives pages back to the system.
    for options in ["dirty_decay_ms:0", "dirty_decay_ms:0,muzzy_decay_ms:0,retain:false", "background_thread:true"] {
        let mut command = preloaded(&program);
        command.env("MALLOC_CONF", options);
        holds(command);
    }
}

#[test]
fn any_function_may_be_the_first_that_is_called() {
    let program = fixture("semantics_first_call.c", &[]);
    for first in [
        "malloc",
        "calloc",
        "realloc",
        "reallocarray",
        "memalign",
        "aligned_alloc",
        "posix_memalign",
        "valloc",
        "pvalloc",
        "free",
        "malloc_usable_size",
        "malloc_trim",
        "mallinfo2",
        "mallopt",
    ] {
        for run in [plain, preloaded] {
            let output = succeed(run(&program).arg(first));
            assert_eq!((stdout(&output), stderr(&output)), ("passed\n".into(), "ready\n".into()), "{first}");
        }
        // jemalloc says when it starts: after the fixture was ready, so that this call was the first indeed. One that
        // has nothing to do leaves jemalloc as it is, and the malloc that follows starts it.
        // The number among the options: parsing it sets errno.
        let output = succeed(preloaded(&program).arg(first).env("MALLOC_CONF", "confirm_conf:true,narenas:3"));
        let said = stderr(&output);
        assert!(said.starts_with("ready\n<jemalloc>: malloc_conf #1"), "{first}: {said}");
    }
}

#[test]
fn without_address_space_calls_fail_and_the_program_goes_on() {
    let program = fixture("semantics_exhaustion.c", &["-w"]);
    for size in ["64", "3000", "20000", "1000000"] {
        holds_with_and_without(&program, &[size]);
    }
}

#[test]
fn the_limit_is_met_by_the_first_call_of_all() {
    let program = fixture("semantics_exhaustion.c", &["-w"]);
    for room in ["0", "4096", "1000000"] {
        // jemalloc may say on stderr that it cannot start.
        let output = succeed(preloaded(&program).args(["first", room]));
        assert_eq!(stdout(&output), "passed\n", "{}", stderr(&output));
    }
    holds({
        let mut command = plain(&program);
        command.args(["first", "0"]);
        command
    });
}

#[test]
fn sized_free_is_safe_for_every_block() {
    holds_with_and_without(&fixture("semantics_sized_free.c", &[]), &[]);
}

#[test]
fn glibcs_second_names_share_the_heap() {
    holds_with_and_without(&fixture("semantics_second_names.c", &[]), &[]);
}

#[test]
fn a_program_with_its_own_malloc_family_is_left_to_it() {
    holds_with_and_without(&fixture("semantics_own_family.c", &[]), &[]);
}
