//! The end of a server.

use crate::compare::execute::words::ended;
use crate::compare::results::finding;
use jeshim_host::launch::{self, Ended};
use jeshim_host::starter::{Finished, Starter};
use std::io;
use std::time::Duration;

/// What a reader has to know: the finding's id, and its text.
pub(super) type Remark = (&'static str, String);

/// Ends a server: as it wants to be ended, or by force. What it used, and what has to be said of it.
pub(super) fn stop(
    starter: &mut Starter,
    finished: Option<Finished>,
    patience: Duration,
) -> io::Result<(Option<Finished>, Vec<Remark>)> {
    let mut remarks = Vec::new();
    let finished = if finished.is_some() {
        starter.end_all()?;
        finished
    } else {
        starter.signal(launch::TERM)?;
        let by_itself = starter.wait(Some(patience))?;
        if by_itself.is_none() {
            let text = format!(
                "it did not end within {patience:?} of SIGTERM, and was killed; give it longer with --stop-timeout"
            );
            remarks.push((finding::KILLED, text));
        }
        let killed = starter.end_all()?;
        match &by_itself {
            // Most servers that do nothing about SIGTERM end by it.
            Some(finished) if !matches!(finished.ended, Ended::Exited(0) | Ended::Killed(launch::TERM)) => {
                let text =
                    format!("it {} when it was asked to end by SIGTERM; look at what it says", ended(finished.ended));
                remarks.push((finding::ENDED_BADLY, text));
            }
            _ => {}
        }
        by_itself.or(killed)
    };
    if finished.as_ref().is_some_and(|finished| !finished.left_running.is_empty()) {
        let text = "processes ran on after its end, and were ended before the next run";
        remarks.push((finding::LEFT_RUNNING, text.to_owned()));
    }
    Ok((finished, remarks))
}
