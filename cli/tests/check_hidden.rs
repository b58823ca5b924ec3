//! `jeshim check` of processes that are hard to follow: a wrong "served" is worse than "could not tell".

use crate::check::{NOT_SERVED, Proof, PublicFolder, SERVED, check, fixture, installed, is_root};
use crate::harness::{jeshim, library, scratch};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PYTHON: &str = "/usr/bin/python3";

fn deceives() -> std::path::PathBuf {
    fixture("check_deceives.c", &["-pthread"])
}

#[test]
fn a_process_is_followed_when_its_first_thread_has_ended() {
    Proof::of(check(deceives()).arg("threadforks")).is(SERVED, &["small allocations of program (pid "]);
    let became = Proof::of(check(deceives()).args(["thread", "/bin/ls", "/dev/null"]));
    became.is(SERVED, &["of ls (pid ", "started as program"]);
    assert!(!became.report.contains("more"), "one process: {}", became.report);
    let busybox = installed("/bin/busybox", "busybox-static");
    Proof::of(check(deceives()).args(["thread", busybox, "true"])).is(NOT_SERVED, &["static"]);
}

/// The kernel ends the watch with a program that its user may not read; what comes after it is not known.
#[test]
fn what_comes_after_an_unreadable_program_is_not_known() {
    if !is_root() {
        return println!("not root: not tested");
    }
    let folder = PublicFolder::new("dark");
    let program = folder.take(&deceives());
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o711)).expect("a mode");
    let busybox = installed("/bin/busybox", "busybox-static");
    let proof = Proof::of(folder.check_unprivileged(&program).args(["execs", busybox, "true"]));
    assert_ne!(proof.status, Some(SERVED), "{}", proof.report);
    assert!(proof.report.contains("check it as root"), "{}", proof.report);
}

/// `jeshim check` in a place where the kernel's record is refused.
fn without_perf(command: &[&str]) -> Proof {
    let mut jeshim = Command::new(fixture("without_perf.c", &[]));
    jeshim.arg(env!("CARGO_BIN_EXE_jeshim")).args(["check", "--lib"]).arg(library()).arg("--").args(command);
    for name in ["LD_PRELOAD", "MALLOC_CONF", "JESHIM_REPORT"] {
        jeshim.env_remove(name);
    }
    let proof = Proof::of(&mut jeshim);
    assert!(proof.report.contains("perf_event_open is not allowed"), "{}", proof.report);
    proof
}

#[test]
fn where_processes_are_only_looked_for_short_programs_are_served_too() {
    for _ in 0..3 {
        without_perf(&["ls", "-d", "/"]).is(SERVED, &["of ls (pid "]);
        without_perf(&["bash", "-c", "ls -d /; exit 0"]).is(SERVED, &["of bash (pid "]);
    }
    let busybox = installed("/bin/busybox", "busybox-static");
    without_perf(&[busybox, "true"]).is(NOT_SERVED, &["static"]);
}

#[test]
fn where_processes_are_only_looked_for_the_last_program_counts() {
    let busybox = installed("/bin/busybox", "busybox-static");
    let became = without_perf(&["sh", "-c", &format!("exec {busybox} sleep 0.5")]);
    became.is(NOT_SERVED, &["static"]);
    // The same program again, without the library.
    let code = "import os, sys, time\ntime.sleep(0.3)\nos.execve(sys.executable, [sys.executable, '-c', 'import time; x = [bytes(i) for i in range(1000)]; time.sleep(0.3)'], {})";
    without_perf(&[PYTHON, "-c", code]).is(NOT_SERVED, &["did not pass LD_PRELOAD on"]);
}

#[test]
fn a_record_that_somebody_else_has_written_is_left_out() {
    let busybox = installed("/bin/busybox", "busybox-static");
    let forge = r#"echo "{\"record\":1,\"finished\":true,\"pid\":$$,\"program\":\"/usr/bin/busybox\",\"bound\":{\"names\":{\"malloc\":true},\"ours\":63,\"of\":63},\"served\":{\"small_allocations\":4242}}" > "${JESHIM_REPORT%/*}/$$"; exit 0"#;
    let forged = Proof::of(check(busybox).args(["sh", "-c", forge]));
    forged.is(NOT_SERVED, &["static"]);
    assert!(forged.report.contains("1 record left out"), "{}", forged.report);
}

#[test]
fn a_process_that_has_only_just_started_is_not_said_to_be_unserved() {
    // The shell ends while what it has left behind executes.
    for _ in 0..20 {
        // What is left behind may say something on stderr.
        let file = scratch("check").join("report");
        let mut command = jeshim();
        command.args(["check", "--output"]).arg(&file).arg("--lib").arg(library());
        let status = command.args(["--", "sh", "-c", "(exec sleep 0.05) & x=1"]).stderr(Stdio::null()).status();
        let report = std::fs::read_to_string(&file).expect("a report");
        assert_eq!(status.expect("the command").code(), Some(SERVED), "{report}");
        assert!(report.starts_with("SERVED: ") && !report.contains("did not load it"), "{report}");
    }
}

#[test]
fn ctrl_c_while_following_ends_the_waiting_with_a_verdict() {
    let temporary = scratch("check");
    let mut command = jeshim();
    command.args(["check", "--for", "60s", "--lib"]).arg(library());
    command.args(["--", "sh", "-c", "setsid sleep 30.25 & x=1"]).env("TMPDIR", &temporary).process_group(0);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the command");
    std::thread::sleep(Duration::from_millis(700));
    let start = Instant::now();
    // SAFETY: a signal to the process that was started above and not yet waited for.
    unsafe { libc::kill(child.id().cast_signed(), libc::SIGINT) };
    // What is left running has standard error open, too.
    let _ = Command::new("pkill").args(["-x", "-f", "sleep 30.25"]).status();
    Proof::from(child.wait_with_output().expect("an end")).is(SERVED, &["of sh (pid "]);
    assert!(start.elapsed() < Duration::from_secs(20));
    assert_eq!(std::fs::read_dir(&temporary).expect("a folder").count(), 0, "something was left in TMPDIR");
}

#[test]
fn a_terminal_that_does_not_know_its_width_gets_whole_words() {
    let spawn = "import pty, sys\npty.spawn(sys.argv[1:])";
    let mut command = Command::new(PYTHON);
    command.args(["-c", spawn, env!("CARGO_BIN_EXE_jeshim"), "check", "--lib"]).arg(library()).args([
        "--",
        "ls",
        "/dev/null",
    ]);
    let output = command.stdin(Stdio::null()).output().expect("python");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("63 of 63"), "{text}");
}

#[test]
fn an_execution_in_between_says_whether_it_was_served() {
    let nothing = fixture("check_hello.c", &["-DSILENT", "-DEXECS"]);
    let report = Proof::of(&mut check(nothing)).report;
    assert!(report.contains("it went on as another program") && !report.contains("until it went on"), "{report}");
}

/// What our own reading of a wrapper's arguments does not find may be found all the same.
#[test]
fn wrappers_whose_arguments_are_not_understood_run() {
    let folder = scratch("check");
    let lock = folder.join("lock");
    Proof::of(check("flock").arg(&lock).args(["-c", "/bin/ls -d /"])).is(SERVED, &[]);
    let expands = folder.join("expands");
    std::fs::write(&expands, "#!/usr/bin/env -S ${MYSH} -e\nx=1\n").expect("a file");
    std::fs::set_permissions(&expands, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
    Proof::of(check(&expands).env("MYSH", "/bin/sh")).is(SERVED, &["started as expands"]);
    if is_root() {
        let mut run = jeshim();
        run.args(["run", "--lib"]).arg(library()).args(["--", "runuser", "-u", "nobody", "--", "true"]);
        assert!(run.status().expect("the command").success());
    }
}

#[test]
fn a_damaged_program_is_said_to_be_damaged() {
    let program = scratch("check").join("damaged");
    let whole = std::fs::read("/bin/ls").expect("a program");
    std::fs::write(&program, &whole[..4096]).expect("a file");
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
    Proof::of(&mut check(&program)).is(NOT_SERVED, &["damaged"]);
}

#[test]
fn another_copy_of_the_library_is_left_out() {
    let copy = scratch("check").join("copy.so");
    std::fs::copy(library(), &copy).expect("a copy");
    let proof = Proof::of(check("ls").arg("/dev/null").env("LD_PRELOAD", &copy));
    proof.is(SERVED, &["of ls (pid "]);
    assert!(!proof.report.contains("process more"), "{}", proof.report);
}

#[test]
fn a_link_in_the_place_of_the_records_is_not_followed() {
    let text = "D=$(dirname $JESHIM_REPORT); rm -rf $D; ln -s /proc $D";
    let mut command = Command::new("timeout");
    command.args(["20", env!("CARGO_BIN_EXE_jeshim"), "check", "--lib"]).arg(library()).args(["--", "sh", "-c", text]);
    let status = command.stderr(Stdio::null()).status().expect("the command").code();
    assert!(status.is_some_and(|status| status <= 3), "{status:?}");
}

#[test]
fn a_process_that_is_just_starting_is_not_called_unserved() {
    for _ in 0..10 {
        let mut child = Command::new("sleep").arg("0.7").env("LD_PRELOAD", library()).spawn().expect("sleep");
        let mut look = jeshim();
        look.args(["check", "--pid", &child.id().to_string(), "--lib"]).arg(library());
        let proof = Proof::from(look.output().expect("the command"));
        assert_ne!(proof.status, Some(1), "{}{}", proof.stdout, proof.report);
        let _ = child.kill();
        let _ = child.wait();
    }
}
