//! Who calls this process with SIGCHLD ignored does not take the ends of its children from it. A file of its own: the
//! signals are the whole process's.

use jeshim_host::launch::{default_sigchld, start_group};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use std::process::Command;

#[test]
fn children_have_a_status_also_where_the_caller_ignores_it() {
    let ignore = SigAction::new(SigHandler::SigIgn, SaFlags::empty(), SigSet::empty());
    let set_ignored = || {
        // SAFETY: no handler is installed.
        unsafe { sigaction(Signal::SIGCHLD, &ignore) }.expect("the signal is one");
    };
    set_ignored();
    assert!(Command::new("true").status().is_err(), "what this is about");
    // The command itself has it as every program expects it.
    let trapped =
        start_group(Command::new("sh").args(["-c", "trap 'exit 7' CHLD; true & sleep 0.5; sleep 0.5; exit 3"]));
    default_sigchld().expect("the signal is one");
    let mut trapped = trapped.expect("it starts");
    let status = loop {
        if let Some(status) = trapped.finished().expect("a child") {
            break status;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    };
    assert_eq!(status.code(), Some(7));
    drop(trapped);
    assert_eq!(Command::new("sh").args(["-c", "exit 4"]).status().expect("a status").code(), Some(4));
}
