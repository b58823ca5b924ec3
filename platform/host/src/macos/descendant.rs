//! Signals for processes that this one has not forked itself. macOS has nothing that stays with a process but its number,
//! which may be another's when its parent has waited for it since it was looked at, some microseconds before.

use super::tree;
use std::collections::BTreeMap;
use std::io;

/// A process below another.
pub(crate) struct Descendant {
    pid: u32,
}

/// Those below a process that were found so far.
pub(crate) struct Descendants {
    root: u32,
    found: BTreeMap<u32, Descendant>,
}

impl Descendants {
    /// Of this process, or of a child that it has not waited for.
    pub(crate) fn of(root: u32) -> Descendants {
        Descendants { root, found: BTreeMap::new() }
    }

    /// Looks for others, nearer ones first, and does something with each. How many there were.
    pub(crate) fn find(&mut self, mut then: impl FnMut(&Descendant)) -> usize {
        let before = self.found.len();
        for pid in tree::below(self.root) {
            self.found.entry(pid).or_insert_with(|| {
                let new = Descendant { pid };
                then(&new);
                new
            });
        }
        self.found.len().saturating_sub(before)
    }

    /// All that were found.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Descendant> {
        self.found.values()
    }
}

impl Descendant {
    /// Sends a signal.
    ///
    /// # Errors
    /// When the process has ended and was waited for (ESRCH), or is another user's.
    pub(crate) fn signal(&self, signal: libc::c_int) -> io::Result<()> {
        // SAFETY: sends a signal, to what was a process below a moment ago.
        match unsafe { libc::kill(self.pid.cast_signed(), signal) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}
