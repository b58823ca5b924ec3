//! Waiting for signals, and who sent them: `man 2 signalfd`.

use crate::launch::Arrived;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::SigSet;
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// The signals that wait for this process. They have to be blocked.
pub(crate) struct Arrivals(SignalFd);

impl Arrivals {
    pub(crate) fn of(set: &SigSet) -> std::io::Result<Arrivals> {
        Ok(Arrivals(SignalFd::with_flags(set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?))
    }

    /// The next signal; `None` when none came in that time.
    pub(crate) fn next(&self, patience: Option<Duration>) -> std::io::Result<Option<Arrived>> {
        let until = patience.and_then(|patience| Instant::now().checked_add(patience));
        loop {
            if let Some(info) = self.0.read_signal()? {
                let signal = i32::try_from(info.ssi_signo).unwrap_or(0);
                // Positive: the kernel's own, which a terminal's keys are; and those go to the whole process group.
                let from_kernel = info.ssi_code > 0;
                return Ok(Some(Arrived { signal, from_kernel, sender: (!from_kernel).then_some(info.ssi_pid) }));
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(None);
            }
            // Rounded up: poll counts milliseconds, and 0 would not wait.
            let timeout = left.map_or(PollTimeout::NONE, |left| {
                PollTimeout::try_from(left.as_millis().saturating_add(1)).unwrap_or(PollTimeout::MAX)
            });
            match poll(&mut [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)], timeout) {
                Ok(_) | Err(nix::errno::Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
