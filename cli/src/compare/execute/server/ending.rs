//! The end of a server.

use jeshim_host::launch;
use jeshim_host::starter::{Finished, Starter};
use std::time::Duration;

/// What a reader has to know: the finding's id, and its text.
pub(super) type Remark = (&'static str, String);

/// Ends a server: as it wants to be ended, or by force.
pub(super) fn stop(
    starter: &mut Starter,
    finished: Option<Finished>,
    patience: Duration,
) -> std::io::Result<(Option<Finished>, Vec<Remark>)> {
    let finished = match finished {
        Some(finished) => Some(finished),
        // It may have ended since.
        None => starter.wait(Some(Duration::ZERO))?,
    };
    if finished.is_some() {
        starter.end_all()?;
        return Ok((finished, Vec::new()));
    }
    let _ = starter.signal(launch::TERM);
    let finished = starter.wait(Some(patience))?;
    let mut remarks = Vec::new();
    if finished.is_none() {
        remarks.push((
            "killed",
            format!("the server did not end within {patience:?} of SIGTERM, and was killed; give it longer with --stop-timeout"),
        ));
    }
    let killed = starter.end_all()?;
    Ok((finished.or(killed), remarks))
}
