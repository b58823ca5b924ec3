//! A start that fails leaves this process as it was. A file of its own: the signals are the whole process's.

use jeshim_host::launch;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use std::process::Command;

#[test]
fn a_start_that_fails_changes_nothing() {
    let ignore = SigAction::new(SigHandler::SigIgn, SaFlags::empty(), SigSet::empty());
    // SAFETY: no handler is installed.
    unsafe { sigaction(Signal::SIGCHLD, &ignore) }.expect("the signal is one");
    let mask = SigSet::thread_get_mask().expect("a mask");
    assert!(launch::start(&mut Command::new("/nonexistent/program")).is_err());
    // SAFETY: no handler is installed.
    let after = unsafe { sigaction(Signal::SIGCHLD, &ignore) }.expect("the signal is one");
    assert!(matches!(after.handler(), SigHandler::SigIgn), "{after:?}");
    assert_eq!(SigSet::thread_get_mask().expect("a mask"), mask);
}
