//! Ending a tree of processes.

use crate::system::descendant::Descendants;

/// How often it is looked for processes that were forked in the meantime. Few looks are enough for all but a bomb.
const LOOKS: usize = 100;

/// Ends a process group, and what is below its leader: a child of this process that was not waited for, so that the
/// number is its own. All of it is stopped first: what is stopped forks nothing, and no child of it goes to another
/// parent, where it would not be found.
pub(crate) fn end_group(leader: u32) {
    let to_group = |signal| {
        // SAFETY: sends a signal to a group, whose number is in use as long as its leader was not waited for.
        unsafe { libc::kill(leader.cast_signed().saturating_neg(), signal) };
    };
    to_group(libc::SIGSTOP);
    let mut below = Descendants::of(leader);
    for _ in 0..LOOKS {
        // What has ended already needs no signal.
        if below.find(|process| drop(process.signal(libc::SIGSTOP))) == 0 {
            break;
        }
    }
    for process in below.all() {
        let _ = process.signal(libc::SIGKILL);
    }
    to_group(libc::SIGKILL);
}
