//! Signals for processes that this one has not forked itself: their own parents may wait for them at any moment, and
//! then their numbers are free for others. A descriptor (`man 2 pidfd_open`) stays with the process that it was opened
//! for.

use super::tree;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;

/// A process below another.
pub(crate) struct Descendant {
    pid: u32,
    /// `None` where the kernel has none (before 5.3): then a signal goes to the number, which may have become another's
    /// since it was looked at, some microseconds before.
    process: Option<OwnedFd>,
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
        let mut count: usize = 0;
        for pid in tree::below(self.root) {
            if !self.found.contains_key(&pid)
                && let Some(new) = self.hold(pid)
            {
                then(&new);
                self.found.insert(pid, new);
                count = count.saturating_add(1);
            }
        }
        count
    }

    /// All that were found.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Descendant> {
        self.found.values()
    }

    /// Makes sure that it is the process that was seen. The number is looked at after the descriptor was opened: if it
    /// was another's by then, the descriptor's process has ended, and signals to it fail. A parent is there after it was
    /// looked at: the number was its own.
    fn hold(&self, pid: u32) -> Option<Descendant> {
        let number = Pid::from_raw(i32::try_from(pid).ok()?)?;
        let process = match pidfd_open(number, PidfdFlags::empty()) {
            Ok(process) => Some(process),
            Err(rustix::io::Errno::SRCH) => return None,
            Err(_) => None,
        };
        let parent = tree::parent(pid)?;
        let is_below = parent == self.root || self.found.get(&parent).is_some_and(Descendant::is_there);
        is_below.then_some(Descendant { pid, process })
    }
}

impl Descendant {
    /// Sends a signal.
    ///
    /// # Errors
    /// When the process has ended and was waited for (ESRCH), or is another user's.
    pub(crate) fn signal(&self, signal: libc::c_int) -> io::Result<()> {
        let result = match &self.process {
            Some(process) => {
                let (descriptor, none) = (process.as_raw_fd(), ptr::null::<libc::siginfo_t>());
                // SAFETY: sends a signal; there is no siginfo to be read.
                unsafe { libc::syscall(libc::SYS_pidfd_send_signal, descriptor, signal, none, 0) }
            }
            // SAFETY: sends a signal, to what was a process below a moment ago.
            None => libc::c_long::from(unsafe { libc::kill(self.pid.cast_signed(), signal) }),
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Whether its number is its own still.
    fn is_there(&self) -> bool {
        !matches!(self.signal(0), Err(error) if error.raw_os_error() == Some(libc::ESRCH))
    }
}
