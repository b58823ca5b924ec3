//! What the caller gave this process and Rust's runtime changes before `main`: it ignores SIGPIPE, and opens
//! `/dev/null` in place of a closed standard descriptor. A program that is started in this process's place has to find
//! things as they were, so they are noted by a constructor, which runs before the runtime.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static SIGPIPE_IGNORED: AtomicBool = AtomicBool::new(false);
static CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

ctor::declarative::ctor! {
    #[ctor(unsafe)]
    fn note() {
        // SAFETY: a constructor; a sigaction of zeros is one (the default, an empty mask); sigaction writes to the
        // variable only, fcntl with F_GETFD changes nothing.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(libc::SIGPIPE, std::ptr::null(), &mut action) == 0 {
                SIGPIPE_IGNORED.store(action.sa_sigaction == libc::SIG_IGN, Relaxed);
            }
            for (descriptor, closed) in (0..).zip(&CLOSED) {
                closed.store(libc::fcntl(descriptor, libc::F_GETFD) == -1, Relaxed);
            }
        }
    }
}

/// Whether SIGPIPE was ignored when this process began, as after `trap '' PIPE`.
pub fn sigpipe_was_ignored() -> bool {
    SIGPIPE_IGNORED.load(Relaxed)
}

/// Those of the descriptors 0, 1 and 2 that were closed when this process began, as after `>&-`.
pub fn closed_descriptors() -> impl Iterator<Item = i32> {
    (0..).zip(&CLOSED).filter(|(_, closed)| closed.load(Relaxed)).map(|(descriptor, _)| descriptor)
}
