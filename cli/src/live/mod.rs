//! `jeshim check --pid`: a live process from outside, without stopping it.
//!
//! | module | what it answers |
//! |---|---|
//! | [`objects`], [`image`] | what is loaded, and what its files say |
//! | [`bindings`] | whose `malloc` each object calls |
//! | [`served`] | what the library in the process shows of itself |
//! | [`memory`], [`owners`] | who has the private memory |
//! | [`absent`], [`own`] | why the library is not there; what is inside the program |
//! | [`look`], [`report`], [`show`] | the judgement, and how it is printed |

pub mod absent;
pub mod bindings;
pub mod image;
pub mod look;
pub mod memory;
pub mod objects;
pub mod own;
pub mod owners;
pub mod report;
pub mod served;
pub mod show;

use crate::terminal::write_report;
use crate::verdict::Verdict;
use jeshim_host::process;
use report::{Looked, Reason, Report};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

/// The kernel keeps whoever asks about memory waiting while the process maps memory, and it may hang in that.
const PATIENCE: Duration = Duration::from_secs(10);

/// So long a process may take to start.
const YOUNG: Duration = Duration::from_millis(500);

/// Runs the command.
///
/// # Errors
/// When it cannot do its work: exit status 125.
pub fn main(arguments: &crate::arguments::Check, pid: u32) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(pid != 0, "no process has the pid 0; find the pid of a program with 'pgrep -a NAME'");
    let mut report = patiently(pid);
    // A process that has only just started has the library named, and not mapped yet.
    while report.verdict == Verdict::NotServed && process::age(pid).is_some_and(|age| age < YOUNG) {
        std::thread::sleep(YOUNG / 5);
        report = patiently(pid);
    }
    let text =
        if arguments.json { serde_json::to_string_pretty(&report)? + "\n" } else { show::text(&report, arguments.all) };
    write_report(&text, arguments.output.as_deref(), true)?;
    Ok(ExitCode::from(report.verdict.status()))
}

/// Looks from a thread that can be left behind.
fn patiently(pid: u32) -> Report {
    let (sender, receiver) = mpsc::channel();
    let thread = std::thread::Builder::new().name("look".into()).spawn(move || {
        let _ = sender.send(look::look(pid));
    });
    let answer = thread.map_err(|_| ()).and_then(|_| receiver.recv_timeout(PATIENCE).map_err(|_| ()));
    answer.unwrap_or_else(|()| {
        look::could_not_tell(
            Looked { pid, ..Looked::default() },
            Reason::new(
                "no_answer",
                format!("the system gave no answer about process {pid} in {} seconds", PATIENCE.as_secs()),
                "it may hang in the kernel, or its files are on a server that does not answer; look again later",
            ),
        )
    })
}
