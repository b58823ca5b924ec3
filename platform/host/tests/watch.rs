//! Processes of a tree are seen, however short they live.

use jeshim_host::watch::{Event, Watch};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Runs a shell's script and gives what was seen of it.
fn watched(mut watch: Watch, script: &str) -> (u32, Vec<Event>) {
    let mut child = Command::new("/bin/sh").args(["-c", script]).spawn().expect("a shell");
    let root = child.id();
    let mut events = Vec::new();
    loop {
        events.extend(watch.events(root));
        if child.try_wait().expect("a state").is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    events.extend(watch.events(root));
    (root, events)
}

fn library() -> PathBuf {
    // Any file that programs map as code does.
    let candidates = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6", "/lib64/libc.so.6"];
    candidates.iter().find_map(|path| std::fs::canonicalize(path).ok()).expect("glibc")
}

fn executed(events: &[Event], name: &str) -> Vec<u32> {
    let is = |program: &Path| program.file_name().is_some_and(|file| file == name);
    let pid = |event: &Event| match event {
        Event::Executed { pid, program: Some(program) } if is(program) => Some(*pid),
        _ => None,
    };
    events.iter().filter_map(pid).collect()
}

#[test]
fn every_process_that_lives_for_a_moment_is_seen() {
    let watch = Watch::begin(&library());
    let allowed = watch.is_exact();
    let script = "for i in 1 2 3 4 5 6 7 8 9 10; do /bin/busybox true; done; (exec /bin/ls / >/dev/null); exec /bin/ls / >/dev/null";
    let (root, events) = watched(watch, script);
    if !allowed {
        eprintln!("SKIPPED: perf_event_open is not allowed here");
        return;
    }
    let busybox = executed(&events, "busybox");
    assert_eq!(busybox.len(), 10, "{events:#?}");
    // It is static: it maps no library.
    assert!(busybox.iter().all(|pid| !events.contains(&Event::Mapped { pid: *pid })), "{events:#?}");
    assert!(busybox.iter().all(|pid| events.contains(&Event::Forked { parent: root, child: *pid })), "{events:#?}");
    assert!(busybox.iter().all(|pid| events.contains(&Event::Ended { pid: *pid })), "{events:#?}");
    let ls = executed(&events, "ls");
    assert_eq!((ls.len(), ls[1]), (2, root), "{events:#?}");
    assert!(events.contains(&Event::Mapped { pid: ls[0] }), "{events:#?}");
}

#[test]
fn by_polling_those_are_seen_that_live_a_little_longer() {
    let (root, events) = watched(Watch::by_polling(&library()), "/bin/sleep 0.3; exec /bin/sleep 0.3");
    let sleep = executed(&events, "sleep");
    assert_eq!((sleep.len(), sleep[1]), (2, root), "{events:#?}");
    assert!(events.contains(&Event::Forked { parent: root, child: sleep[0] }), "{events:#?}");
    assert!(events.contains(&Event::Mapped { pid: root }), "{events:#?}");
    assert!(events.contains(&Event::Ended { pid: sleep[0] }), "{events:#?}");
}

#[test]
fn a_process_lives_as_long_as_its_last_thread() {
    let watch = Watch::begin(&library());
    if !watch.is_exact() {
        eprintln!("SKIPPED: perf_event_open is not allowed here");
        return;
    }
    // The first thread ends; another one forks, and then executes something.
    let code = "import ctypes, os, threading, time\n\
        def rest():\n    time.sleep(0.2)\n    os.spawnv(os.P_WAIT, '/bin/true', ['true'])\n    os.execv('/bin/ls', ['ls', '/dev/null'])\n\
        threading.Thread(target=rest).start()\nctypes.CDLL(None).pthread_exit(None)";
    let (root, events) = watched(watch, &format!("exec /usr/bin/python3 -c \"{code}\""));
    let ends = events.iter().filter(|event| **event == Event::Ended { pid: root }).count();
    assert_eq!(ends, 1, "{events:#?}");
    assert_eq!(events.last(), Some(&Event::Ended { pid: root }), "{events:#?}");
    assert_eq!(executed(&events, "ls"), [root], "{events:#?}");
    assert_eq!(executed(&events, "true").len(), 1, "{events:#?}");
}

#[test]
fn by_polling_a_program_that_executes_itself_is_seen() {
    let code = "import os, sys, time\ntime.sleep(0.2)\nos.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(0.2)'])";
    let (root, events) = watched(Watch::by_polling(&library()), &format!("exec /usr/bin/python3 -c \"{code}\""));
    let times = events.iter().filter(|event| matches!(event, Event::Executed { pid, program: Some(program) } if *pid == root && program.to_string_lossy().contains("python3")));
    // Looked at in the middle of an execution, it may be told twice.
    assert!(times.count() >= 2, "{events:#?}");
}
