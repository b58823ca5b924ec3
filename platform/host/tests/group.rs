//! Commands with a process group of their own: nothing of what they start stays.

use jeshim_host::interrupts::Interrupts;
use jeshim_host::launch::{GroupChild, start_group};
use jeshim_host::tree::{below, is_running};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

fn shell(script: &str) -> GroupChild {
    start_group(Command::new("/bin/sh").args(["-c", script])).expect("it starts")
}

/// A file of this name and this process.
fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("group-{}-{name}", std::process::id()))
}

/// Waits until it is so; in vain for half a minute.
fn comes_true(mut condition: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + Duration::from_secs(30);
    while Instant::now() < until {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

fn ended(child: &mut GroupChild) -> ExitStatus {
    assert!(comes_true(|| child.finished().expect("a child").is_some()));
    child.finished().expect("a child").expect("it has ended")
}

#[test]
fn the_end_is_told_and_the_number_stays() {
    for (script, code, signal) in [("exit 0", Some(0), None), ("exit 9", Some(9), None), ("kill -9 $$", None, Some(9))]
    {
        let mut child = shell(script);
        let status = ended(&mut child);
        assert_eq!((status.code(), status.signal()), (code, signal), "{script}");
        // SAFETY: asks whether there is such a process.
        assert_eq!(unsafe { libc::kill(child.pid().cast_signed(), 0) }, 0);
        assert_eq!(child.end().expect("it has ended"), status);
    }
    assert!(start_group(&mut Command::new("/no/such/program")).is_err());
}

#[test]
fn what_runs_is_ended_with_all_below_it() {
    for drop_it in [false, true] {
        // In the group; in a session of its own; below that one.
        let script = "trap '' TERM; sleep 600 & setsid sh -c 'sleep 600 & sleep 600' & wait";
        let mut child = shell(script);
        assert!(comes_true(|| below(child.pid()).len() == 4));
        let all = below(child.pid());
        assert_eq!(child.finished().expect("a child"), None);
        if drop_it {
            drop(child);
        } else {
            assert_eq!(child.end().expect("it ends").signal(), Some(9));
        }
        assert!(comes_true(|| !all.iter().any(|pid| is_running(*pid))), "{all:?}");
    }
}

#[test]
fn what_forks_all_the_time_is_ended_too() {
    // Each one goes on with a fork of itself, and leaves the group.
    let mark = format!("forks-{}", std::process::id());
    let script = "for (1..400) { setpgrp; last if fork; select undef, undef, undef, 0.002 } sleep 600";
    let child = start_group(Command::new("perl").args(["-e", script, &mark])).expect("perl");
    let marked = || {
        let processes = std::fs::read_dir("/proc").expect("processes").flatten();
        let has_mark = |line: &[u8]| line.split(|byte| *byte == 0).any(|word| word == mark.as_bytes());
        processes.filter(|process| has_mark(&std::fs::read(process.path().join("cmdline")).unwrap_or_default())).count()
    };
    assert!(comes_true(|| marked() > 20));
    child.end().expect("it ends");
    assert!(comes_true(|| marked() == 0));
    // None has got away to fork others later.
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(marked(), 0);
}

#[test]
fn what_is_left_in_the_group_is_ended() {
    let file = place("left");
    let script = format!("sleep 600 & echo $! > {}", file.display());
    let mut child = shell(&script);
    assert!(ended(&mut child).success());
    let left: u32 = std::fs::read_to_string(file).expect("a file").trim().parse().expect("a pid");
    assert!(is_running(left));
    assert!(child.end().expect("it has ended").success());
    assert!(comes_true(|| !is_running(left)));
}

#[test]
fn signals_that_are_held_back_here_are_not_there() {
    use nix::sys::signal::{SigSet, Signal};
    // Something else that this thread blocks is the command's to find.
    let mut own = SigSet::empty();
    own.add(Signal::SIGUSR1);
    own.thread_block().expect("a mask");
    let _held = Interrupts::hold();
    let _again = Interrupts::hold();
    assert!(SigSet::thread_get_mask().expect("a mask").contains(Signal::SIGINT));
    let file = place("status");
    // No shell, which may have a mask of its own.
    let output = std::fs::File::create(&file).expect("a file");
    let mut child = start_group(Command::new("cat").arg("/proc/self/status").stdout(output)).expect("cat");
    assert!(ended(&mut child).success());
    let text = std::fs::read_to_string(file).expect("a file");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.contains(&format!("SigBlk:\t{:016x}", 1 << (libc::SIGUSR1 - 1)).as_str()), "{text}");
    child.end().expect("it ends");
}
