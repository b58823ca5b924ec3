//! Children are whole processes: whatever other threads did when they were forked, and with a record of their own.

use crate::harness;
use crate::harness::time_limit::preloaded;
use crate::harness::{fixture, records, scratch, small_allocations, stdout, succeed};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

fn program() -> PathBuf {
    fixture("fork_children.c", &["-pthread"])
}

/// Runs a kind of child with a record for each process: the records, the first process's first.
fn families_records(kind: &str) -> Vec<Value> {
    let folder = scratch("fork");
    let output = succeed(preloaded(program()).env("JESHIM_REPORT", folder.join("%p.json")).arg(kind));
    assert!(stdout(&output).contains("done\n"), "{kind}");
    let mut records = records(&folder);
    // Pids may begin anew: the order is that of who started whom.
    let is_child_of = |child: &Value, parent: &Value| child["parent_pid"] == parent["pid"];
    let mut ordered = Vec::new();
    while let Some(place) =
        (0..records.len()).find(|place| !records.iter().any(|other| is_child_of(&records[*place], other)))
    {
        ordered.push(records.remove(place));
    }
    ordered
}

/// What is said for every process of a family: `program`, `forked`, `finished`.
fn summary(records: &[Value]) -> Vec<(&str, bool, bool)> {
    let name = |record: &Value| record["program"].as_str().expect("a path").ends_with("/true");
    records
        .iter()
        .map(|record| {
            let program = if name(record) { "true" } else { "fork_children" };
            (program, record["forked"] == true, record["finished"] == true)
        })
        .collect()
}

#[test]
fn two_hundred_forks_while_eight_threads_allocate() {
    // With caches of their own, and all of them at the locks of one arena.
    for options in ["", "narenas:1,tcache:false"] {
        let output = succeed(preloaded(program()).env("MALLOC_CONF", options).arg("contention"));
        assert_eq!(stdout(&output), "done\n", "MALLOC_CONF={options}");
    }
}

#[test]
fn forks_under_contention_with_records() {
    let records = families_records("contention");
    // The program, 200 children, and a grandchild of every tenth.
    assert_eq!(records.len(), 221);
    assert!(records.iter().all(|record| record["finished"] == true));
}

#[test]
fn a_forked_child_counts_from_the_fork() {
    let records = families_records("counts");
    assert_eq!(summary(&records), [("fork_children", false, true), ("fork_children", true, true)]);
    let small = small_allocations(&records[1]);
    assert!((1_000..1_200).contains(&small), "{:#}", records[1]);
    assert!(small_allocations(&records[0]) >= 100_000, "{:#}", records[0]);
    let large = |record: &Value| record["served"]["large_allocations"].as_u64().expect("a number");
    assert!((20..30).contains(&large(&records[1])), "{:#}", records[1]);
    assert!(large(&records[0]) >= 50, "{:#}", records[0]);
    // Blocks that the parent freed are not the child's.
    let frees = records[1]["served"]["small_frees"].as_u64().expect("a number");
    assert!((1_000..1_200).contains(&frees), "{:#}", records[1]);
}

#[test]
fn children_of_children_have_records() {
    let records = families_records("generations");
    let forked = ("fork_children", true, true);
    assert_eq!(summary(&records), [("fork_children", false, true), forked, forked, forked]);
}

#[test]
fn programs_started_by_exec_vfork_and_posix_spawn_have_records() {
    let parent = ("fork_children", false, true);
    let child = ("true", false, true);
    assert_eq!(summary(&families_records("vfork")), [parent, child]);
    assert_eq!(summary(&families_records("spawn")), [parent, child]);
    // Between fork and exec there is a process of the old program: unfinished, and then the new one with its pid.
    let mut records = families_records("exec");
    records[1..].sort_by_key(|record| record["forked"] != true);
    assert_eq!(summary(&records), [parent, ("fork_children", true, false), child]);
    assert_eq!(records[1]["pid"], records[2]["pid"]);
}

#[test]
fn a_child_without_fork_handlers_leaves_its_parents_record_alone() {
    for kind in ["_Fork", "clone"] {
        let records = families_records(kind);
        assert_eq!(summary(&records), [("fork_children", false, true)], "{kind}");
        // The child's thousand are not in it.
        let small = small_allocations(&records[0]);
        assert!((500..700).contains(&small), "{kind}: {:#}", records[0]);
    }
}

#[test]
fn a_thread_with_the_smallest_stack_may_fork() {
    let records = families_records("small-stack");
    assert_eq!(summary(&records), [("fork_children", false, true), ("fork_children", true, true)]);
}

#[test]
fn without_a_pattern_the_childs_pid_is_appended() {
    let folder = scratch("fork");
    let path = folder.join("record.json");
    succeed(preloaded(program()).env("JESHIM_REPORT", &path).arg("counts"));
    let parent = harness::record(&path);
    assert_eq!(parent["forked"], false);
    let others: Vec<Value> = records(&folder).into_iter().filter(|record| record["pid"] != parent["pid"]).collect();
    assert_eq!(others.len(), 1);
    let child = harness::record(&folder.join(format!("record.json.{}", others[0]["pid"])));
    assert_eq!((&child["forked"], &child["parent_pid"]), (&Value::Bool(true), &parent["pid"]));
}

#[test]
fn subshells_of_a_real_shell_have_records() {
    let folder = scratch("fork");
    let mut shell: Command = preloaded("/bin/bash");
    shell.env("JESHIM_REPORT", folder.join("%e-%p.json")).args(["-c", "(echo a | (cat)); echo $(echo b)"]);
    assert_eq!(stdout(&succeed(&mut shell)), "a\nb\n");
    let records = records(&folder);
    assert!(records.iter().filter(|record| record["forked"] == true).count() >= 2, "{}", records.len());
    assert!(records.iter().all(|record| record["bound"]["names"]["malloc"] == true));
}

#[test]
fn on_a_small_alternate_stack_with_a_record() {
    let folder = scratch("fork");
    let program = fixture("fork_alternate_stack.c", &[]);
    succeed(preloaded(program).env("JESHIM_REPORT", folder.join("%p.json")).arg("7000"));
    assert_eq!(records(&folder).len(), 2);
}
