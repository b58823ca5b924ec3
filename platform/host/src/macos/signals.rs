//! Waiting for signals. Not run on a Mac.

use crate::launch::Arrived;
use nix::sys::signal::{SigSet, Signal};
use std::time::{Duration, Instant};

/// The signals that wait for this process. They have to be blocked.
pub(crate) struct Arrivals(SigSet);

impl Arrivals {
    pub(crate) fn of(set: &SigSet) -> std::io::Result<Arrivals> {
        Ok(Arrivals(*set))
    }

    /// The next signal; `None` when none came in that time. There is no sigtimedwait here, so a limited wait looks
    /// every few milliseconds.
    pub(crate) fn next(&self, patience: Option<Duration>) -> std::io::Result<Option<Arrived>> {
        let Some(until) = patience.and_then(|patience| Instant::now().checked_add(patience)) else {
            return Ok(Some(arrived(self.0.wait()?)));
        };
        loop {
            // SAFETY: sigpending writes to the set only.
            let pending = unsafe {
                let mut pending: libc::sigset_t = std::mem::zeroed();
                libc::sigpending(&mut pending);
                SigSet::from_sigset_t_unchecked(pending)
            };
            if self.0.iter().any(|signal| pending.contains(signal)) {
                return Ok(Some(arrived(self.0.wait()?)));
            }
            if Instant::now() >= until {
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// sigwait does not tell who sent a signal: those that a terminal's keys send are taken for its, and what the child
/// sends to this process goes back to it.
fn arrived(signal: Signal) -> Arrived {
    let keys = [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTSTP];
    Arrived { signal: signal as i32, from_kernel: keys.contains(&signal), sender: None }
}
