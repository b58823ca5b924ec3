//! Processes about which nothing can be told, and wrong usage.

use super::{Live, check, facts, is_root, preloaded, text, waits};
use crate::harness::{compile, jeshim, plain, scratch, stderr};
use std::os::unix::fs::PermissionsExt;

fn refused(pid: u32, id: &str) {
    let (status, facts) = check(pid);
    assert_eq!((status, &facts["verdict"]), (3, &"could_not_tell".into()), "{facts:#}");
    assert_eq!(facts["reasons"][0]["id"], id, "{facts:#}");
    let text = text(pid);
    assert!(text.starts_with("COULD NOT TELL  ") && text.contains("\n  remedy   "), "{text}");
}

#[test]
fn a_pid_that_nobody_has() {
    let mut child = plain("true").spawn().expect("a process");
    child.wait().expect("its end");
    refused(child.id(), "no_process");
    refused(u32::MAX, "no_process");
}

#[test]
fn a_zombie() {
    let mut child = plain("true").spawn().expect("a process");
    std::thread::sleep(std::time::Duration::from_millis(300));
    refused(child.id(), "zombie");
    child.wait().expect("its end");
}

#[test]
fn a_thread_of_the_kernel() {
    // In a container there is none to be seen.
    if std::fs::read_to_string("/proc/2/comm").is_ok_and(|name| name.trim() == "kthreadd") {
        refused(2, "kernel_thread");
    }
}

#[test]
fn another_users_process() {
    let folder = std::env::temp_dir().join(format!("jeshim-refused-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).expect("its owner may");
    let command = folder.join("jeshim");
    std::fs::copy(env!("CARGO_BIN_EXE_jeshim"), &command).expect("a copy");
    let live = Live::start(&mut preloaded(compile(&waits(""), &[])));
    let (mut nobody, pid) = if is_root() {
        let mut nobody = plain("setpriv");
        nobody.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(&command);
        (nobody, live.0.id())
    } else {
        (plain(&command), 1)
    };
    let (status, facts) = facts(nobody.args(["check", "--json", "--pid", &pid.to_string()]));
    let _ = std::fs::remove_dir_all(&folder);
    assert_eq!((status, &facts["reasons"][0]["id"]), (3, &"permission".into()), "{facts:#}");
    let cause = facts["reasons"][0]["cause"].as_str().expect("a cause");
    assert!(cause.contains("another user") && cause.contains(&pid.to_string()), "{cause}");
}

#[test]
fn a_stopped_process_answers_all_the_same() {
    let live = Live::start(&mut preloaded(compile(&waits(""), &[])));
    // SAFETY: a child that has not been waited for.
    unsafe { libc::kill(live.0.id() as i32, libc::SIGSTOP) };
    let (status, facts) = live.check();
    assert_eq!(status, 0, "{facts:#}");
    let state = std::fs::read_to_string(format!("/proc/{}/stat", live.0.id())).expect("its state");
    assert!(state.contains(") T "), "nothing set it going again: {state}");
}

#[test]
fn a_process_whose_main_thread_has_ended_is_looked_at() {
    let source = waits("").replace(
        "int main",
        "static void *rest(void *x) { puts(\"ready\"); fflush(stdout); sleep(120); return x; }\nint main",
    );
    let source = source.replace(
        "puts(\"ready\"); fflush(stdout); alarm(120); for (;;) pause();",
        "pthread_t t; pthread_create(&t, 0, rest, 0); pthread_exit(0);",
    );
    let live = Live::start(&mut preloaded(compile(&source, &["-pthread"])));
    std::thread::sleep(std::time::Duration::from_millis(200));
    let (status, facts) = live.check();
    assert_eq!(status, 0, "{facts:#}");
}

/// Processes that come, change their program and go while they are looked at.
#[test]
fn whoever_ends_meanwhile_is_no_panic() {
    let script =
        "for i in $(seq 300); do /usr/bin/env true & done; wait; exec sh -c 'for i in $(seq 100); do /bin/true; done'";
    let mut shell = plain("sh").args(["-c", script]).spawn().expect("a shell");
    let mut looked = 0;
    while shell.try_wait().expect("a state").is_none() {
        for pid in shell.id()..shell.id() + 20 {
            let output = jeshim().args(["check", "--json", "--pid", &pid.to_string()]).output().expect("the command");
            assert!(matches!(output.status.code(), Some(0..=3)), "{output:?}");
            assert!(output.stderr.is_empty(), "{output:?}");
            looked += 1;
        }
    }
    assert!(looked > 0);
}

#[test]
fn wrong_usage() {
    for pid in ["0", "-1", "x", "99999999999", ""] {
        let output = jeshim().args(["check", "--pid", pid]).output().expect("the command");
        assert_eq!(output.status.code(), Some(125), "{pid}: {output:?}");
        assert!(!output.stderr.is_empty() && output.stdout.is_empty(), "{pid}: {output:?}");
    }
}

#[test]
fn a_report_that_cannot_be_written_is_an_error_and_a_reader_that_leaves_is_not() {
    let nowhere = scratch("nowhere").join("no/file");
    let mut child = plain("true").spawn().expect("a process");
    child.wait().expect("its end");
    let check = |pid: u32| {
        let mut command = jeshim();
        command.args(["check", "--pid", &pid.to_string()]);
        command
    };
    let own = std::process::id();
    let output = check(own).arg("--output").arg(&nowhere).output().expect("the command");
    let line =
        format!("jeshim: {} cannot be written: No such file or directory; name another file\n", nowhere.display());
    assert_eq!((output.status.code(), stderr(&output)), (Some(125), line));
    let full = std::fs::File::options().write(true).open("/dev/full").expect("a device");
    let output = check(own).stdout(full).output().expect("the command");
    let line = "jeshim: standard output cannot be written: No space left on device; send it elsewhere\n";
    assert_eq!((output.status.code(), stderr(&output)), (Some(125), line.to_owned()));
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output = check(child.id()).stdout(writer).output().expect("the command");
    assert_eq!((output.status.code(), stderr(&output)), (Some(3), String::new()));
}
