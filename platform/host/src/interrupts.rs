//! Being asked to stop: Ctrl-C, and the signals with which services are ended.

use nix::sys::signal::{SigSet, SigmaskHow, Signal, pthread_sigmask};
use std::sync::OnceLock;

const SIGNALS: [Signal; 4] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];

/// What was blocked before [`Interrupts::hold`] was called first.
static BEFORE: OnceLock<SigSet> = OnceLock::new();

/// Holds these signals back, from its making until the process ends: after the first one there is only an end to be made
/// in good order. The programs that this command starts do not inherit that.
pub struct Interrupts(());

impl Interrupts {
    /// Begins.
    pub fn hold() -> Interrupts {
        let signals: SigSet = SIGNALS.into_iter().collect();
        let mut before = SigSet::empty();
        // It cannot fail with a set of valid signals; if it does, they end the process as before.
        if pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&signals), Some(&mut before)).is_ok() {
            BEFORE.get_or_init(|| before);
        }
        Interrupts(())
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
        SIGNALS.into_iter().any(|signal| pending.contains(signal))
    }
}

/// A thread's mask without what [`Interrupts::hold`] has added to it: the mask for programs.
pub(crate) fn without_held(mut mask: SigSet) -> SigSet {
    if let Some(before) = BEFORE.get() {
        for signal in SIGNALS {
            if !before.contains(signal) {
                mask.remove(signal);
            }
        }
    }
    mask
}
