//! Servers: phases, their figures, and what goes wrong with them.

use super::{cell, compare, findings, result};
use crate::harness::{scratch, stderr};
use std::net::TcpListener;

/// A server that keeps what it is told to: a megabyte for every line of its fifo.
const SERVER: &str = "
import os, sys, time, signal
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
kept = []
path = sys.argv[1]
if not os.path.exists(path): os.mkfifo(path)
print('listening', flush=True)
while True:
    for line in open(path):
        kept.append(bytearray(int(line) << 20))
        kept[-1][::4096] = b'x' * len(kept[-1][::4096])
        print('megabytes: %d' % len(kept), flush=True)
        open(path + '.done', 'a').write('x')
";

fn server(phases: &[&str], more: &[&str], status: i32) -> serde_json::Value {
    let folder = scratch("server");
    let file = folder.join("server.py");
    std::fs::write(&file, SERVER).expect("a file");
    let fifo = folder.join("fifo");
    let mut arguments = vec!["--with", "a=system", "--with", "b=system", "--rounds", "3", "--server"];
    let phases: Vec<String> = phases.iter().map(|phase| phase.replace("FIFO", fifo.to_str().unwrap())).collect();
    for phase in &phases {
        arguments.extend(["--phase", phase]);
    }
    arguments.extend(more);
    arguments.extend(["--", "python3", file.to_str().unwrap(), fifo.to_str().unwrap()]);
    result(&arguments, status)
}

#[test]
fn memory_and_metrics_are_read_at_each_phase() {
    let wait =
        |count: u32| format!("; until [ $(wc -c < FIFO.done) -ge {count} ]; do sleep 0.01; done; wc -c < FIFO.done");
    let loaded = format!("loaded=rm -f FIFO.done; echo 60 > FIFO{}", wait(1));
    let grown = format!("grown=echo 100 > FIFO{}", wait(2));
    let result = server(
        &[&loaded, &grown],
        &[
            "--ready-log",
            "^listening",
            "--metric",
            "lines=^(\\d+)$",
            "--probe",
            "echo probe: 5",
            "--metric",
            "probe=probe: (\\d+)",
            "--settle",
            "300ms",
        ],
        0,
    );
    let median = |figure: &str| cell(&result, figure, 0)["median"].as_f64().unwrap_or_else(|| panic!("{figure}"));
    let mebibytes = |figure: &str| median(figure) / 1048576.0;
    assert!((58.0..100.0).contains(&mebibytes("phase/loaded/rss")), "{}", mebibytes("phase/loaded/rss"));
    let grown = mebibytes("phase/grown/rss") - mebibytes("phase/loaded/rss");
    assert!((98.0..105.0).contains(&grown), "{grown}");
    assert!((mebibytes("phase/settled/rss") - mebibytes("phase/grown/rss")).abs() < 5.0);
    assert_eq!((median("phase/loaded/metric/lines"), median("phase/grown/metric/lines")), (1.0, 2.0));
    assert_eq!((median("phase/grown/metric/probe"), median("phase/settled/metric/probe")), (5.0, 5.0));
    let marks = result["runs"][0]["marks"].as_array().expect("marks");
    let names: Vec<&str> = marks.iter().filter_map(|mark| mark[1].as_str()).collect();
    assert_eq!(names, ["ready", "loaded", "grown", "settled"]);
}

#[test]
fn a_server_that_is_never_ready_says_what_it_said() {
    let output = compare()
        .args([
            "--with",
            "a=system",
            "--with",
            "b=system",
            "--server",
            "--ready-log",
            "never",
            "--ready-timeout",
            "500ms",
            "--rounds",
            "3",
        ])
        .args(["--phase", "x=true", "--", "sh", "-c", "echo cannot find my files >&2; sleep 100"])
        .output()
        .expect("jeshim");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(125), "{said}");
    for part in ["not ready", "500ms", "cannot find my files", "--ready-timeout"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_server_that_ends_before_it_is_ready_says_how() {
    let output = compare()
        .args([
            "--with",
            "a=system",
            "--with",
            "b=system",
            "--server",
            "--ready-log",
            "never",
            "--rounds",
            "3",
            "--phase",
            "x=true",
        ])
        .args(["--", "sh", "-c", "echo bad option >&2; exit 9"])
        .output()
        .expect("jeshim");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("status 9") && said.contains("bad option"), "{said}");
}

#[test]
fn a_taken_port_is_named_with_its_owner() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let output = compare()
        .args([
            "--with",
            "a=system",
            "--with",
            "b=system",
            "--server",
            "--ready-port",
            &port,
            "--rounds",
            "3",
            "--phase",
            "x=true",
            "--",
            "sleep",
            "100",
        ])
        .output()
        .expect("jeshim");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(125), "{said}");
    let pid = format!("pid {}", std::process::id());
    assert!(said.contains(&format!("port {port} is taken by")) && said.contains(&pid), "{said}");
}

#[test]
fn a_server_that_does_not_stop_is_killed_and_that_is_said() {
    let result = result(
        &[
            "--with",
            "a=system",
            "--with",
            "b=system",
            "--rounds",
            "3",
            "--server",
            "--ready-log",
            "on",
            "--phase",
            "x=true",
            "--stop-timeout",
            "200ms",
            "--",
            "python3",
            "-uc",
            "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('on'); time.sleep(1000)",
        ],
        0,
    );
    let texts = findings(&result, "killed");
    assert!(texts.iter().any(|text| text.contains("200ms") && text.contains("--stop-timeout")), "{texts:?}");
}

#[test]
fn a_phase_that_fails_is_the_runs_failure() {
    let output = compare()
        .args([
            "--with",
            "a=system",
            "--with",
            "b=system",
            "--server",
            "--ready-log",
            "on",
            "--rounds",
            "3",
            "--phase",
            "load=echo no such table >&2; exit 6",
        ])
        .args(["--", "python3", "-uc", "import time; print('on'); time.sleep(1000)"])
        .output()
        .expect("jeshim");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("the phase 'load' ended with status 6") && said.contains("no such table"), "{said}");
}

#[test]
fn what_is_for_servers_only_asks_for_one() {
    for (arguments, expected) in [
        (&["--phase", "x=true"][..], "--phase is for a server"),
        (&["--server", "--phase", "x=true"], "--ready-port"),
        (&["--server", "--ready-log", "x", "--phase", "settled=true"], "another name"),
    ] {
        let output = compare().args(arguments).args(["--", "sleep", "1"]).output().expect("jeshim");
        let said = stderr(&output);
        assert!(output.status.code() == Some(125) && said.contains(expected), "{arguments:?}: {said}");
    }
}

/// A server of one line; it says "on" when it is ready.
fn python(line: &str) -> [String; 3] {
    ["python3".to_owned(), "-uc".to_owned(), format!("import os, signal, sys, time\n{line}")]
}

fn driven(options: &[&str], server: &str) -> std::process::Output {
    let mut command = compare();
    command.args(["--with", "a=system", "--with", "b=system", "--rounds", "2", "--json", "--server"]);
    command.args(options).arg("--").args(python(server)).output().expect("jeshim")
}

#[test]
fn phases_find_signals_as_they_were_given_to_jeshim() {
    let began = std::time::Instant::now();
    let phase = "x=sleep 60 & p=$!; sleep 0.2; kill $p; wait $p; test $? -eq 143";
    let output = driven(&["--ready-log", "on", "--phase", phase], "print('on'); time.sleep(100)");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(began.elapsed() < std::time::Duration::from_secs(50));
}

#[test]
fn what_a_phase_leaves_running_is_ended() {
    let marker = format!("60.{:09}", std::process::id());
    let phase = format!("x=setsid sleep {marker} & sleep {marker} & true");
    let output = driven(&["--ready-log", "on", "--phase", &phase], "print('on'); time.sleep(100)");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let left = std::process::Command::new("pgrep").args(["-f", &format!("sleep {marker}")]).output().expect("pgrep");
    assert!(left.stdout.is_empty(), "{}", String::from_utf8_lossy(&left.stdout));
}

#[test]
fn a_server_that_ends_while_it_is_asked_whether_it_is_ready_says_how() {
    let output =
        driven(&["--ready-cmd", "sleep 1; false", "--phase", "x=true"], "sys.stderr.write('no disk'); sys.exit(9)");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("status 9") && said.contains("no disk"), "{said}");
}

#[test]
fn the_time_of_workers_that_have_ended_is_the_servers() {
    let server = "
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
print('on')
while True:
    time.sleep(0.05)
    pid = os.fork()
    if pid == 0:
        end = time.process_time() + 0.2
        while time.process_time() < end: pass
        os._exit(0)
    os.waitpid(pid, 0)
";
    let output = driven(&["--ready-log", "on", "--phase", "x=sleep 2"], server);
    let result = super::read(&output);
    let used = cell(&result, "phase/x/cpu_time", 0)["median"].as_f64().expect("a number");
    assert!(used > 0.3, "{used}");
}

#[test]
fn a_server_that_fails_when_it_is_to_end_is_a_finding() {
    let server = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7)); print('on'); time.sleep(100)";
    let result = super::read(&driven(&["--ready-log", "on", "--phase", "x=true"], server));
    let texts = findings(&result, "ended_badly");
    assert!(texts.iter().any(|text| text.contains("status 7")), "{texts:?}");
}
