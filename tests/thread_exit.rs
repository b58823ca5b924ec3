//! Threads end without a trace, whatever libc frees in their last moments; and a thread that only frees gets a cache.

use crate::harness::time_limit::preloaded;
use crate::harness::{fixture, stdout, succeed};
use std::path::Path;

#[test]
fn libc_may_free_hundreds_of_blocks_after_the_destructors_of_a_thread() {
    let recipe = fixture("thread_exit_recipe.c", &["-pthread"]);
    for options in ["", "tcache:false", "background_thread:true"] {
        let output = succeed(preloaded(&recipe).env("MALLOC_CONF", options));
        assert_eq!(stdout(&output), "survived\n", "MALLOC_CONF={options}");
    }
}

/// How many of `count` blocks, freed by a thread that does nothing else, reached their arena while it lived, and in
/// how many batches.
fn consume(program: &Path, count: u32, signals: &str, place: &str) -> (u64, u64) {
    let output = succeed(preloaded(program).args([&count.to_string(), signals, place]));
    let text = stdout(&output);
    let (returned, batches) = text.trim().split_once(' ').unwrap_or_else(|| panic!("{text:?}"));
    (returned.parse().expect("a number"), batches.parse().expect("a number"))
}

#[test]
fn a_thread_that_only_frees_soon_gets_a_cache() {
    let program = fixture("thread_exit_consumer.c", &["-pthread"]);
    for signals in ["open", "blocked"] {
        // The first frees go to the arena one at a time, what follows stays in the thread's cache.
        let (returned, batches) = consume(&program, 200, signals, "body");
        assert!(returned <= 160, "{signals}: {returned} of 200 frees went past the cache, {batches} batches");
        // A full cache gives back many blocks at once.
        let (returned, batches) = consume(&program, 100_000, signals, "body");
        assert!(batches > 100, "{signals}: {returned} frees came back in {batches} batches");
        assert!(returned / batches > 20, "{signals}: {returned} frees came back in {batches} batches");
    }
}

#[test]
fn a_thread_that_looks_like_one_at_its_end_still_frees() {
    let program = fixture("thread_exit_consumer.c", &["-pthread"]);
    // Even libc's own signals are blocked, as only libc does: such a thread is never given a cache, and needs none.
    assert_eq!(consume(&program, 100_000, "all-blocked", "body"), (100_000, 0));
}

#[test]
fn destructors_of_thread_specific_data_may_free_many_blocks() {
    let program = fixture("thread_exit_consumer.c", &["-pthread"]);
    let (returned, batches) = consume(&program, 100_000, "open", "destructor");
    assert!(batches > 100, "{returned} frees came back in {batches} batches");
}

fn meet_the_allocator_in_a_destructor(rounds: std::ops::RangeInclusive<u32>) {
    let program = fixture("thread_exit_destructors.c", &["-pthread"]);
    for round in rounds {
        for what in ["frees", "allocates"] {
            let output = succeed(preloaded(&program).args([&round.to_string(), what]));
            assert_eq!(stdout(&output), "survived\n", "round {round}, {what}");
        }
    }
}

#[test]
fn a_thread_may_meet_the_allocator_in_a_destructor_of_thread_specific_data() {
    meet_the_allocator_in_a_destructor(1..=3);
}

#[test]
#[ignore = "jemalloc of every version crashes: its own destructor had its last turn before"]
fn even_in_the_last_round_of_destructors() {
    meet_the_allocator_in_a_destructor(4..=4);
}
