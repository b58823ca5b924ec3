//! What goes wrong: each says what, in which run, and what is kept.

use super::{compare, findings, result};
use crate::harness::{scratch, stderr};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Runs it; status and standard error.
fn refused(arguments: &[&str]) -> (i32, String) {
    let output = compare().args(arguments).output().expect("jeshim");
    (output.status.code().expect("a status"), stderr(&output))
}

#[test]
fn a_program_that_is_not_there_is_named_before_anything_is_measured() {
    let (status, said) = refused(&["--", "/nonexistent/program"]);
    assert_eq!(status, 127, "{said}");
    assert!(said.contains("/nonexistent/program: not found"), "{said}");
    let (status, said) = refused(&["--", "/etc/passwd"]);
    assert_eq!(status, 126, "{said}");
    assert!(said.contains("permission denied"), "{said}");
}

#[test]
fn a_program_that_fails_under_every_allocator_is_not_compared() {
    let (status, said) = refused(&["--rounds", "3", "--", "sh", "-c", "echo broken pump >&2; exit 3"]);
    assert_eq!(status, 125, "{said}");
    assert!(said.contains("status 3") && said.contains("broken pump") && said.contains("--ignore-failure"), "{said}");
    let ignored = result(&["--ignore-failure", "--rounds", "3", "--", "sh", "-c", "exit 3"], 0);
    assert_eq!(ignored["runs"].as_array().map(Vec::len), Some(6));
}

#[test]
fn a_program_that_fails_under_one_allocator_only_is_a_finding() {
    let script = "test -z \"$FAILS\" || { echo no memory >&2; exit 4; }";
    let with = ["--with", "a=system", "--with", "b=system,FAILS=1", "--with", "c=system", "--rounds", "6"];
    let result = result(&[&with[..], &["--", "sh", "-c", script]].concat(), 1);
    let failed = findings(&result, "failed");
    assert!(failed.iter().any(|text| text.contains("status 4") && text.contains("no memory")), "{failed:?}");
    assert!(super::cell(&result, "wall", 1).is_null());
    assert!(super::cell(&result, "wall", 2)["ratio"]["median"].is_number());
}

#[test]
fn a_program_that_hangs_is_ended_and_named() {
    let began = Instant::now();
    let with = ["--with", "a=system", "--with", "b=system,HANGS=1", "--rounds", "3", "--timeout", "500ms"];
    let result = result(&[&with[..], &["--", "sh", "-c", "test -z \"$HANGS\" || sleep 1000"]].concat(), 1);
    assert!(began.elapsed() < Duration::from_secs(60));
    let all = findings(&result, "failed").join("\n");
    assert_eq!(result["findings"][0]["participant"], 1);
    assert!(all.contains("500ms") && all.contains("--timeout"), "{all}");
}

#[test]
fn a_metric_that_never_matches_is_a_finding() {
    let result = result(
        &[
            "--with",
            "a=system",
            "--with",
            "b=system",
            "--rounds",
            "3",
            "--metric",
            "speed=(\\d+) km/h",
            "--",
            "echo",
            "7 mph",
        ],
        0,
    );
    let texts = findings(&result, "metric_never_matched");
    assert!(texts.len() == 1 && texts[0].contains("speed"), "{texts:?}");
}

#[test]
fn wrong_participants_are_named_before_the_first_run() {
    let marker = scratch("compare").join("ran");
    let marker = marker.to_str().unwrap();
    for (with, expected) in [
        (&["jeshim", "jeshim"][..], "give one a label of its own"),
        (&["mimaloc"], "mimalloc"),
        (&["a=/nonexistent/lib.so"], "/nonexistent/lib.so"),
        (&["a=/etc/passwd"], "/etc/passwd"),
        (&["system,LD_PRELOAD=/lib/x.so"], "LD_PRELOAD"),
        (&["jeshim,conf=narena:1"], "narenas"),
        (&["jeshim,preset=lowrss"], "low-rss"),
    ] {
        let with: Vec<&str> = with.iter().flat_map(|with| ["--with", with]).collect();
        let (status, said) = refused(&[&with[..], &["--", "touch", marker]].concat());
        assert_eq!(status, 125, "{with:?}: {said}");
        assert!(said.contains(expected), "{with:?}: {said}");
    }
    assert!(!std::path::Path::new(marker).exists(), "something was run");
}

#[test]
fn an_allocator_that_does_not_serve_is_reported_and_not_averaged() {
    let program = crate::harness::compile("int main(void) { return 0; }\n\n", &["-static"]);
    let result = result(&["--rounds", "3", "--", program.to_str().unwrap()], 1);
    assert_eq!(result["proofs"][1]["served"], "no");
    let texts = findings(&result, "not_served");
    assert!(texts.iter().any(|text| text.contains("static")), "{texts:?}");
    assert!(super::cell(&result, "wall", 1).is_null());
}

#[test]
fn a_report_that_cannot_be_written_is_known_before_the_first_run() {
    let (status, said) = refused(&["--html", "/nonexistent/report.html", "--rounds", "3", "--", "true"]);
    assert_eq!(status, 125, "{said}");
    assert!(said.contains("/nonexistent/report.html"), "{said}");
}

#[test]
fn a_full_disk_takes_the_report_and_not_the_table() {
    let output = compare()
        .args(["--with", "a=system", "--with", "b=system", "--json=/dev/full", "--rounds", "3", "--", "true"])
        .output()
        .expect("jeshim");
    assert_eq!(output.status.code(), Some(125));
    assert!(stderr(&output).contains("/dev/full"), "{}", stderr(&output));
    assert!(crate::harness::stdout(&output).contains("wall time"), "{}", crate::harness::stdout(&output));
}

#[test]
fn what_was_measured_before_ctrl_c_is_kept() {
    let file = scratch("compare").join("kept.json");
    let mut child = compare()
        .args(["--with", "a=system", "--with", "b=system", "--rounds", "10000"])
        .arg(format!("--json={}", file.display()))
        .args(["--", "sleep", "0.05"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("jeshim");
    std::thread::sleep(Duration::from_secs(4));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("to be there");
    let status = child.wait().expect("an end");
    assert_eq!(status.code(), Some(130));
    let kept: serde_json::Value = serde_json::from_slice(&std::fs::read(file).expect("a result")).expect("JSON");
    assert_eq!(kept["interrupted"], true);
    let runs = kept["runs"].as_array().map_or(0, Vec::len);
    assert!((2..1000).contains(&runs), "{runs}");
}

#[test]
fn that_a_program_is_static_is_said_also_when_it_runs_for_long() {
    let program =
        crate::harness::compile("#include <unistd.h>\nint main(void) { usleep(300000); return 0; }\n", &["-static"]);
    let result = result(&["--rounds", "2", "--", program.to_str().unwrap()], 1);
    let texts = findings(&result, "not_served");
    assert!(texts.iter().any(|text| text.contains("static")), "{:?}", result["findings"]);
    assert!(findings(&result, "failed").is_empty(), "{:?}", result["findings"]);
}

#[test]
fn jemallocs_statistics_do_not_hide_what_a_program_says() {
    let script = "import os, sys; sys.stderr.write('broken pump\\n'); sys.exit(3 if 'jemalloc' in os.environ.get('LD_PRELOAD', '') else 0)";
    let with = ["--with", "system", "--with", "jemalloc", "--rounds", "2", "--", "/usr/bin/python3", "-c", script];
    let texts = findings(&result(&with, 1), "failed");
    assert!(texts.iter().any(|text| text.contains("broken pump") && !text.contains("{\"jemalloc\"")), "{texts:?}");
}

#[test]
fn children_have_a_status_also_where_the_caller_ignores_them() {
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "trap '' CHLD; exec \"$@\"", "sh"]);
    let jeshim = compare();
    command.arg(jeshim.get_program()).args(jeshim.get_args());
    command.args(["--with", "a=system", "--with", "b=system", "--rounds", "2", "--server", "--ready-log", "on"]);
    let output = command.args(["--phase", "x=true", "--", "sh", "-c", "echo on; exec sleep 100"]).output().expect("sh");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn every_finding_has_its_row_in_the_manual() {
    let manual =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/compare.md")).expect("the manual");
    let after = manual.split("## Findings").nth(1).expect("the chapter");
    let ids = after.lines().filter_map(|line| line.strip_prefix("| `")).flat_map(|line| {
        let cell = line.split(" | ").next().unwrap_or_default();
        cell.split('`')
            .step_by(2)
            .map(str::to_owned)
            .filter(|id| id.contains(|c: char| c.is_ascii_lowercase()))
            .collect::<Vec<_>>()
    });
    let mut ids: Vec<String> = ids.collect();
    let mut known = jeshim_cli::compare::results::finding::ALL.map(str::to_owned).to_vec();
    ids.sort();
    known.sort();
    assert_eq!(ids, known);
}

#[test]
fn a_program_that_loses_the_library_on_the_way_is_not_compared() {
    // The first image is served, what it becomes is not; a child that is static leaves no trace but its process.
    let program =
        crate::harness::compile("#include <unistd.h>\nint main(void) { usleep(400000); return 0; }\n", &["-static"]);
    let program = program.to_str().unwrap();
    for script in
        ["unset LD_PRELOAD; exec perl -e 'select undef, undef, undef, 0.3'".to_owned(), format!("{program}; true")]
    {
        let result = result(&["--rounds", "2", "--", "sh", "-c", &script], 1);
        assert!(super::cell(&result, "wall", 1).is_null(), "{script}: {}", result["proofs"]);
        let served = &result["proofs"][1]["served"];
        assert!(served == "no" || served == "part", "{script}: {}", result["proofs"]);
    }
    let in_part = result(&["--in-part", "--rounds", "2", "--", "sh", "-c", &format!("{program}; true")], 0);
    assert!(super::cell(&in_part, "wall", 1)["median"].is_number());
    assert_eq!(findings(&in_part, "served_in_part").len(), 1, "{}", in_part["findings"]);
}

#[test]
fn a_signal_ends_a_comparison_of_programs_that_end_at_once() {
    let began = Instant::now();
    let mut child = compare()
        .args(["--with", "a=system", "--with", "b=system", "--rounds", "100000", "--", "true"])
        .stdout(Stdio::null())
        .spawn()
        .expect("jeshim");
    std::thread::sleep(Duration::from_secs(2));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("to be there");
    assert_eq!(child.wait().expect("an end").code(), Some(130));
    assert!(began.elapsed() < Duration::from_secs(60));
}

#[test]
fn each_run_reads_standard_input_from_its_beginning() {
    let file = scratch("input").join("lines");
    std::fs::write(&file, "a\nb\nc\n").expect("a file");
    let output = compare()
        .args([
            "--json",
            "--with",
            "a=system",
            "--with",
            "b=system",
            "--rounds",
            "2",
            "--metric",
            "lines=(\\d+)",
            "--",
            "wc",
            "-l",
        ])
        .stdin(std::fs::File::open(&file).expect("the file"))
        .output()
        .expect("jeshim");
    let result = super::read(&output);
    for run in result["runs"].as_array().expect("runs") {
        assert_eq!(run["figures"]["metric/lines"], 3.0, "{run}");
    }
}

#[test]
fn a_metric_that_only_one_prints_is_a_finding() {
    let script = "test -n \"$QUIET\" || echo 3 km/h";
    let with = ["--with", "a=system", "--with", "b=system,QUIET=1", "--rounds", "2", "--metric", "speed=(\\d+) km/h"];
    let result = result(&[&with[..], &["--", "sh", "-c", script]].concat(), 0);
    let found =
        result["findings"].as_array().expect("findings").iter().find(|finding| finding["id"] == "metric_not_printed");
    assert_eq!(found.expect("a finding")["participant"], 1);
}

#[test]
fn a_report_does_not_replace_a_program() {
    let program = planted_copy();
    let (status, said) = refused(&["--html", &program, "--", &program]);
    assert!(status == 125 && said.contains("is a program"), "{said}");
}

fn planted_copy() -> String {
    let copy = scratch("compare").join("program");
    std::fs::copy("/bin/true", &copy).expect("a program");
    copy.to_str().expect("a path").to_owned()
}

#[test]
fn what_nohup_ignores_does_not_end_a_comparison() {
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "trap '' HUP; \"$@\" & pid=$!; sleep 1; kill -HUP $pid; wait $pid", "sh"]);
    let jeshim = compare();
    command.arg(jeshim.get_program()).args(jeshim.get_args());
    command.args(["--with", "a=system", "--with", "b=system", "--rounds", "9", "--", "sleep", "0.2"]);
    assert_eq!(command.output().expect("sh").status.code(), Some(0));
}

#[test]
fn jeshim_can_be_ended_while_nobody_reads_its_report() {
    let mut child = compare()
        .args(["--json", "--with", "a=system", "--with", "b=system", "--rounds", "300", "--", "true"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("jeshim");
    // A pipe holds 64 KiB, and 600 runs are more; so it waits after some seconds.
    std::thread::sleep(Duration::from_secs(12));
    assert!(child.try_wait().expect("its state").is_none(), "it has not waited");
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::TERM)
        .expect("there");
    let began = Instant::now();
    child.wait().expect("an end");
    assert!(began.elapsed() < Duration::from_secs(5));
}
