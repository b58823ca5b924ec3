//! `jeshim run --stats`: jeshim stands in for its child, and says afterwards what jemalloc did.

use crate::harness::{compile, jeshim, library, scratch, stderr, stdout};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// `jeshim run --stats` with a folder for temporary files of its own.
fn stats(temporary: &Path, command: &[&str]) -> Command {
    let mut jeshim = jeshim();
    jeshim.args(["run", "--stats", "--lib"]).arg(library()).arg("--").args(command).env("TMPDIR", temporary);
    jeshim
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).expect("a folder").next().is_none()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(20), "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// State of a process as in /proc: R, S, T …
fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(") ").next()?.chars().next()
}

fn send(signal: &str, pid: u32) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().expect("kill runs").success());
}

/// Starts a shell script that prints its pid first.
fn start(temporary: &Path, script: &str) -> (Child, u32) {
    let script = format!("echo $$; {script}");
    let mut child = stats(temporary, &["bash", "-c", &script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut line = String::new();
    let output = child.stdout.as_mut().expect("its output");
    // A byte at a time would be right, too; nothing follows that is looked at.
    BufReader::new(output).read_line(&mut line).expect("a line");
    (child, line.trim().parse().expect("a pid"))
}

#[test]
fn the_summary_comes_also_from_a_program_that_closes_standard_error() {
    let folder = scratch("stats-ls");
    let output = stats(&folder, &["ls", "/"]).output().expect("runs");
    let said = stderr(&output);
    assert!(output.status.success() && stdout(&output).contains("proc"));
    for part in ["/ls (pid ", "served by jemalloc 5.3.1", "small ", "large ", "resident", " are the library's"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(is_empty(&folder), "nothing stays");
}

#[test]
fn a_program_without_the_library_is_said_to_be_without() {
    let folder = scratch("stats-static");
    let program = compile("int main(void) { return 4; }", &["-static"]);
    let mut command = jeshim();
    command.args(["run", "--force", "--stats", "--lib"]).arg(library()).arg("--").arg(program).env("TMPDIR", &folder);
    let output = command.output().expect("runs");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(4));
    assert!(said.contains("not on jemalloc") && said.contains("static"), "{said}");
    assert!(is_empty(&folder), "nothing stays");
}

#[test]
fn a_missing_record_is_no_proof() {
    let folder = scratch("stats-no-record");
    let mut command = jeshim();
    command.args(["run", "--stats", "--lib"]).arg(library()).arg("--report").arg(folder.join("none/%p"));
    let output = command.args(["--", "perl", "-e", "exit 4"]).output().expect("runs");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(4));
    assert!(said.contains("could not tell") && !said.contains("not on jemalloc"), "{said}");
    assert!(said.contains("it left no record") && said.contains("jeshim check -- perl"), "{said}");
}

#[test]
fn records_are_found_wherever_the_temporary_folder_is() {
    for name in [&b"100%p"[..], b"100%", b"\xff%%"] {
        let folder = scratch("stats-percent").join(OsStr::from_bytes(name));
        std::fs::create_dir(&folder).expect("a folder");
        let said = stderr(&stats(&folder, &["perl", "-e", "1"]).output().expect("runs"));
        assert!(said.contains("served by jemalloc"), "{}: {said}", folder.display());
        assert!(is_empty(&folder), "nothing stays");
    }
}

#[test]
fn records_are_found_in_folders_of_the_programs_name() {
    let folder = scratch("stats-folders");
    for program in ["bash", "perl", "100%"] {
        std::fs::create_dir(folder.join(program)).expect("a folder");
    }
    let mut command = jeshim();
    command.args(["run", "--stats", "--lib"]).arg(library()).arg("--report").arg(folder.join("%e/r%%-%p.json"));
    let output = command.args(["--", "bash", "-c", "perl -e 1; exec perl -e 1"]).output().expect("runs");
    let said = stderr(&output);
    assert!(said.contains("/perl (pid ") && said.contains("served by jemalloc"), "{said}");
    assert!(said.contains("/bash, then /") && said.contains("1 other process loaded the library"), "{said}");
}

#[test]
fn it_ends_as_the_program_ended_and_says_why_counts_are_missing() {
    let folder = scratch("stats-ends");
    let output = stats(&folder, &["bash", "-c", "kill -KILL $$"]).output().expect("runs");
    assert_eq!(output.status.signal(), Some(9));
    assert!(stderr(&output).contains("SIGKILL ended it"), "{}", stderr(&output));
    let output = stats(&folder, &["perl", "-MPOSIX", "-e", "POSIX::_exit(3)"]).output().expect("runs");
    assert_eq!(output.status.code(), Some(3));
    let said = stderr(&output);
    assert!(said.contains("served by") && said.contains("_exit"), "{said}");
    assert!(is_empty(&folder), "nothing stays");
}

#[test]
fn processes_and_programs_on_the_way_are_counted() {
    let folder = scratch("stats-children");
    let script = "perl -e 1; perl -e 1; exec env perl -e 1";
    let said = stderr(&stats(&folder, &["bash", "-c", script]).output().expect("runs"));
    assert!(said.contains("2 other processes loaded the library; 2 of them served"), "{said}");
    let programs = said.lines().find(|line| line.trim_start().starts_with("executed")).unwrap_or_default();
    for program in ["/bash, then ", "/env, then ", "/perl"] {
        assert!(programs.contains(program), "{said}");
    }
    assert!(said.lines().next().is_some_and(|line| line.contains("/perl (pid")), "{said}");
}

#[test]
fn the_users_own_report_is_read_and_kept() {
    let folder = scratch("stats-report");
    let report = folder.join("r%%-%p-%e.json");
    let mut command = jeshim();
    command.args(["run", "--stats", "--lib"]).arg(library()).arg("--report").arg(&report);
    let output = command.args(["--", "perl", "-e", "1"]).output().expect("runs");
    assert!(stderr(&output).contains("served by jemalloc"), "{}", stderr(&output));
    assert!(!is_empty(&folder));
}

#[test]
fn signals_reach_the_program() {
    let folder = scratch("stats-signals");
    for (signal, number) in [("-TERM", 15), ("-HUP", 1), ("-USR1", 10), ("-INT", 2), ("-QUIT", 3), ("-35", 35)] {
        let (child, pid) = start(&folder, "exec sleep 60");
        // bash ignores nothing here, and becomes sleep.
        wait_until("sleep", || {
            std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "sleep")
        });
        send(signal, child.id());
        let output = child.wait_with_output().expect("ends");
        // A signal of real time has no default that jeshim can name, and ends it with the shell's status.
        let ended = output.status.signal().or(output.status.code().map(|code| code - 128));
        assert_eq!(ended, Some(number), "{signal}: {}", stderr(&output));
    }
}

#[test]
fn signals_that_the_program_sends_to_its_parent_are_not_sent_back() {
    let folder = scratch("stats-own-signals");
    // Some programs tell their parent so that they are ready; in between, signals of others still come.
    let script = "trap 'echo USR1' USR1; trap 'echo HUP' HUP; trap 'echo USR2; exit 0' USR2
        kill -USR1 $PPID; kill -HUP $PPID; sleep 0.3; sh -c \"kill -USR2 $PPID; true\"
        for i in 1 2 3 4 5 6 7 8 9; do sleep 0.2; done";
    let output = stats(&folder, &["dash", "-c", script]).output().expect("runs");
    assert_eq!((stdout(&output).as_str(), output.status.code()), ("USR2\n", Some(0)), "{}", stderr(&output));
}

#[test]
fn a_program_that_handles_a_signal_goes_on() {
    let folder = scratch("stats-handled");
    let (child, _) = start(&folder, "trap 'exit 5' TERM; while :; do sleep 0.05; done");
    std::thread::sleep(Duration::from_millis(300));
    send("-TERM", child.id());
    assert_eq!(child.wait_with_output().expect("ends").status.code(), Some(5));
}

#[test]
fn both_stop_and_continue_together() {
    let folder = scratch("stats-stop");
    // A session of its own, with a leader outside the group: in an orphaned group the kernel ignores SIGTSTP.
    let command = stats(&folder, &["bash", "-c", "kill -TSTP $$; exit 6"]);
    let script = compile(
        "#define _GNU_SOURCE\n#include <stdio.h>\n#include <sys/wait.h>\n#include <signal.h>\n#include <unistd.h>
        int main(int c, char **v) { setsid(); int s; pid_t p = fork();
            if (!p) { setpgid(0, 0); execvp(v[1], v + 1); _exit(127); }
            setpgid(p, p); waitpid(p, &s, WUNTRACED); printf(\"%d \", WIFSTOPPED(s));
            kill(p, SIGCONT); waitpid(p, &s, 0); printf(\"%d\", WEXITSTATUS(s)); return 0; }",
        &[],
    );
    let mut shell = Command::new(script);
    shell.arg(command.get_program()).args(command.get_args()).env("TMPDIR", &folder);
    assert_eq!(stdout(&shell.output().expect("runs")), "1 6");
}

#[test]
fn records_of_processes_that_still_run_stay() {
    let folder = scratch("stats-daemon");
    let script = "sleep 60 >/dev/null 2>&1 & echo $!; until grep -q sleep /proc/$!/comm; do :; done; sleep 0.3; true";
    let output = stats(&folder, &["bash", "-c", script]).output().expect("runs");
    let said = stderr(&output);
    let sleeping = stdout(&output).trim().parse().expect("a pid");
    assert_eq!(state(sleeping), Some('S'), "{said}");
    send("-KILL", sleeping);
    assert!(said.contains("1 process still runs; records are in "), "{said}");
    assert!(!is_empty(&folder));
}
