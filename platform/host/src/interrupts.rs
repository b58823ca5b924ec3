//! Being asked to stop: Ctrl-C, and the signals with which services are ended.

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, pthread_sigmask, sigaction};

const SIGNALS: [Signal; 4] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];

/// Holds these signals back, from its making until [`Interrupts::release`]: after the first one there is only an end to be
/// made in good order. Those that the caller ignores, as `nohup`
/// does, are left as they are: blocked, they would wait, and count.
pub struct Interrupts(SigSet);

impl Interrupts {
    /// Begins.
    pub fn hold() -> Interrupts {
        let signals: SigSet = SIGNALS.into_iter().filter(|signal| !is_ignored(*signal)).collect();
        // It cannot fail with a set of valid signals; if it does, they end the process as before.
        let _ = pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&signals), None);
        Interrupts(signals)
    }

    /// Lets them have their effect again: for what may take its time after all that matters is done. Nothing happens for those
    /// that have come until now.
    pub fn release(self) {
        // An ignored signal that is pending is thrown away.
        for signal in self.0.iter() {
            let ignore = SigAction::new(SigHandler::SigIgn, SaFlags::empty(), SigSet::empty());
            // SAFETY: no handler is installed.
            if let Ok(before) = unsafe { sigaction(signal, &ignore) } {
                // SAFETY: what was there before.
                let _ = unsafe { sigaction(signal, &before) };
            }
        }
        let _ = pthread_sigmask(SigmaskHow::SIG_UNBLOCK, Some(&self.0), None);
    }

    /// Whether one of them has come.
    pub fn arrived(&self) -> bool {
        let mut pending = SigSet::empty();
        let mut raw = *pending.as_ref();
        // SAFETY: the set is writable.
        if unsafe { libc::sigpending(&mut raw) } == 0 {
            // SAFETY: sigpending has filled it.
            pending = unsafe { SigSet::from_sigset_t_unchecked(raw) };
        }
        self.0.iter().any(|signal| pending.contains(signal))
    }
}

fn is_ignored(signal: Signal) -> bool {
    // SAFETY: a sigaction of zeros is one; with no new one, sigaction writes to the variable only.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal as libc::c_int, std::ptr::null(), &mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}
