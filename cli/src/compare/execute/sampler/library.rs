//! Whether a library is mapped in any of the processes: a new process is looked at soon, and again and again, more and
//! more rarely, since it may take its time to load it, or execute something else.

use super::pace::Pace;
use jeshim_host::process::own_thread_time;
use jeshim_host::tree;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The dynamic linker has loaded by then what it loads, unless it takes minutes.
const ENOUGH: Duration = Duration::from_millis(50);
/// After this, a process is looked at for the first time; the time is doubled with each look.
const FIRST: Duration = Duration::from_millis(3);
/// The longest time between two looks at a process.
const LONGEST: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Search {
    library: PathBuf,
    known: BTreeMap<u32, Known>,
    pace: Pace,
    found: bool,
    /// A process had time enough, and does not have it.
    missing: bool,
    /// Whether it is looked for in all of them, and the programs of those that do not have it.
    everywhere: bool,
    pub(super) without: BTreeSet<String>,
}

#[derive(Debug)]
struct Known {
    next: Instant,
    pause: Duration,
    /// When it was first seen to execute something.
    executes: Option<Instant>,
}

impl Search {
    pub(super) fn of(library: &Path, everywhere: bool) -> Search {
        let library = library.canonicalize().unwrap_or_else(|_| library.to_owned());
        let pace = Pace::new(FIRST, Instant::now());
        Search {
            library,
            known: BTreeMap::new(),
            pace,
            found: false,
            missing: false,
            everywhere,
            without: BTreeSet::new(),
        }
    }

    /// Looks at those whose turn it is. When the next turn is; `None` when there is nothing more to learn.
    pub(super) fn look(&mut self, now: Instant, pids: impl FnOnce() -> Vec<u32>) -> Option<Instant> {
        if self.found && !self.everywhere {
            return None;
        }
        if self.pace.is_due(now) {
            let before = own_thread_time();
            let pids = pids();
            self.known.retain(|pid, _| pids.contains(pid));
            for pid in pids {
                let new = || Known { next: now + FIRST, pause: FIRST, executes: None };
                let known = self.known.entry(pid).or_insert_with(new);
                if (self.everywhere || !self.found) && now >= known.next {
                    match known.look(pid, now, &self.library) {
                        Some(true) => self.found = true,
                        Some(false) => {
                            self.missing = true;
                            if self.everywhere {
                                self.without.extend(tree::program(pid).map(crate::terminal::printable));
                            }
                        }
                        None => {}
                    }
                }
            }
            self.pace.done(now, own_thread_time().saturating_sub(before));
        }
        Some(self.pace.next())
    }

    pub(super) fn answer(&self) -> Option<bool> {
        if self.found { Some(true) } else { self.missing.then_some(false) }
    }
}

impl Known {
    /// Whether it is there; `None`: that cannot be told, or not yet.
    fn look(&mut self, pid: u32, now: Instant, library: &Path) -> Option<bool> {
        self.pause = self.pause.saturating_mul(2).min(LONGEST);
        self.next = now + self.pause;
        // Asked first: what is mapped before is the parent's.
        if !tree::has_executed(pid)? {
            return None;
        }
        let executes = *self.executes.get_or_insert(now);
        let maps = tree::maps(pid, library)?;
        (maps || now.saturating_duration_since(executes) >= ENOUGH).then_some(maps)
    }
}
