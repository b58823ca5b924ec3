//! What the proof record says of memory beyond jemalloc's totals: parts that add up to them, and how much of it the
//! program asked for, against programs whose blocks are known.

use crate::harness::{fixture, preloaded, recorded, stdout};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// As `jeshim compare` has it run.
const PROFILED: &str = "prof:true,prof_stats:true,lg_prof_sample:13,prof_bt_max:1,prof_final:false";

fn program() -> PathBuf {
    fixture("record_requested.c", &[])
}

/// Runs the program with these options and groups of blocks: what it has asked for, and its record.
fn run(program: &Path, options: &str, groups: &str) -> (f64, Value) {
    let mut command = preloaded(program);
    let (output, record) = recorded(command.args(groups.split(' ')).env("MALLOC_CONF", options));
    let asked = stdout(&output).trim().parse().unwrap_or_else(|_| panic!("{groups}: {output:?}"));
    (asked, record)
}

fn number(record: &Value, name: &str) -> f64 {
    record["served"][name].as_f64().unwrap_or_else(|| panic!("{name}: {record:#}"))
}

fn share_is(record: &Value, expected: f64) {
    let share = number(record, "requested") / number(record, "rounded");
    assert!((share / expected - 1.0).abs() < 0.02, "{expected} {share}: {record:#}");
}

#[test]
fn what_was_asked_for_is_known_within_two_per_cent() {
    let program = program();
    for groups in [
        // One size, which one class holds: nothing is left to chance.
        "100000 33 33",
        "100000 33 48",
        "100000 1 256",
        "20000 1 4000",
        // Sampled, these have pages as large blocks do, and are counted among those.
        "3000 12300 14300",
        "3000 12300 14300 3000 14400 16384",
        "1000 14400 100000 50000 10 60",
        // What was freed does not count.
        "300000 16 300 free 300000 16 300",
        "3000 14400 16384 free 5000 12300 14300",
    ] {
        let (asked, record) = run(&program, PROFILED, groups);
        let estimate = number(&record, "requested");
        // The stream that the program prints to has a buffer.
        assert!(((estimate - 4096.0) / asked - 1.0).abs() < 0.02, "{groups}: {asked} {estimate}");
        let rounded = number(&record, "rounded");
        assert!(rounded >= estimate, "{groups}: {estimate} {rounded}");
    }
}

#[test]
fn the_waste_of_size_classes_is_their_share() {
    let program = program();
    for (size, class) in [(33.0, 48.0), (100.0, 112.0), (1_100.0, 1_280.0), (12_500.0, 14_336.0), (17_000.0, 20_480.0)]
    {
        let count = (10_000_000.0 / size) as u64;
        let (_, record) = run(&program, PROFILED, &format!("{count} {size} {size}"));
        share_is(&record, size / class);
    }
    // jemalloc's own blocks, among so few of the program's, do not count.
    let (_, record) = run(&program, PROFILED, "5000 33 33");
    share_is(&record, 33.0 / 48.0);
}

#[test]
fn without_the_profiler_nothing_is_said_of_what_was_asked_for() {
    let program = program();
    // With the profiler, but without its statistics; and the other way round.
    for options in ["", "prof:true,prof_final:false", "prof_stats:true"] {
        let (_, record) = run(&program, options, "1000 33 33");
        assert_eq!(record["finished"], true, "{options}");
        assert_eq!(record["served"]["requested"], Value::Null, "{options}");
        assert_eq!(record["served"]["rounded"], Value::Null, "{options}");
    }
}

#[test]
fn the_parts_are_those_of_the_totals() {
    let program = program();
    let (asked, record) = run(&program, "dirty_decay_ms:-1,muzzy_decay_ms:-1", "200000 64 64 free 1 50000000 50000000");
    let [active, dirty, resident] = ["active", "dirty", "resident"].map(|name| number(&record, name));
    let allocated = number(&record, "allocated");
    // The large block was freed, and its pages are kept.
    assert!(dirty > 49_000_000.0 && dirty < 60_000_000.0, "{record:#}");
    assert!(allocated >= asked && allocated < asked * 1.02, "{record:#}");
    // What is resident beyond them is jemalloc's own: less what it has among the program's blocks, whole pages of it.
    let own = resident - active - dirty;
    let metadata = number(&record, "metadata") - number(&record, "internal");
    assert!(own >= metadata && own < metadata + 400_000.0, "{own} {metadata}: {record:#}");
    // One thread: its cache is emptied for the record.
    assert_eq!(number(&record, "thread_caches"), 0.0, "{record:#}");
    assert!(number(&record, "internal") > 1000.0, "the thread's cache itself: {record:#}");
    // None goes to the system while it may stay dirty for ever.
    assert_eq!(number(&record, "muzzy"), 0.0, "{record:#}");
    let (_, record) = run(&program, "dirty_decay_ms:0,muzzy_decay_ms:0", "free 1 50000000 50000000");
    assert!(number(&record, "dirty") < 1_000_000.0, "{record:#}");
}
