//! The memory of a tree of processes. Of a single one it is its resident set. Several share pages, which must not be
//! counted more than once: the kernel tells the share of each (Pss), but looks at every page for it. So the shares are
//! asked for as often as that is affordable, of all at the same time, and in between what a process shared then is taken
//! from its resident set.

use super::pace::Pace;
use jeshim_host::process::own_thread_time;
use jeshim_host::tree::{self, Resident};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(super) struct Tree {
    root: u32,
    pids: Vec<u32>,
    /// What each process has that is counted with others: its resident set less its share.
    shared: BTreeMap<u32, u64>,
    listing: Pace,
    sharing: Pace,
    took_for_shares: Duration,
}

impl Tree {
    /// All below a process, without it.
    pub(super) fn below(root: u32) -> Tree {
        let pace = || Pace::new(Duration::ZERO, Instant::now());
        let (listing, sharing) = (pace(), pace());
        Tree { root, pids: Vec::new(), shared: BTreeMap::new(), listing, sharing, took_for_shares: Duration::ZERO }
    }

    /// Who is there: now, or not long ago.
    pub(super) fn pids(&mut self, now: Instant) -> Vec<u32> {
        if self.listing.is_due(now) {
            let before = own_thread_time();
            self.pids = tree::below(self.root);
            self.listing.done(now, own_thread_time().saturating_sub(before));
        }
        self.pids.clone()
    }

    /// Resident bytes of all. `None`: there is nobody.
    pub(super) fn resident(&mut self, now: Instant) -> Option<u64> {
        self.took_for_shares = Duration::ZERO;
        let mut all = residents(&self.pids(now));
        if all.len() > 1 && self.sharing.is_due(now) {
            let before = own_thread_time();
            all = self.ask_for_shares();
            self.took_for_shares = own_thread_time().saturating_sub(before);
            self.sharing.done(now, self.took_for_shares);
        }
        if all.len() < 2 {
            self.shared.clear();
            return all.first().map(|(_, resident)| resident.all);
        }
        let first = all.first().map(|(pid, _)| *pid);
        let own = all.iter().map(|(pid, resident)| match self.shared.get(pid) {
            Some(shared) => resident.all.saturating_sub(*shared),
            None => at_least(*pid, *resident, Some(*pid) == first),
        });
        Some(own.fold(0, u64::saturating_add))
    }

    /// The shares of all, which belong together only when nobody comes or goes meanwhile.
    fn ask_for_shares(&mut self) -> Vec<(u32, Resident)> {
        self.pids = tree::below(self.root);
        let all = residents(&self.pids);
        let shared = all.iter().map(|(pid, resident)| (*pid, shared(*pid, *resident))).collect();
        if tree::below(self.root) == self.pids {
            self.shared = shared;
        }
        all
    }

    /// Of the time of the last look, what went into the shares.
    pub(super) fn took_for_shares(&self) -> Duration {
        self.took_for_shares
    }
}

/// Those that have memory; a zombie has none.
fn residents(pids: &[u32]) -> Vec<(u32, Resident)> {
    let all = pids.iter().filter_map(|pid| Some((*pid, tree::resident(*pid)?)));
    all.filter(|(_, resident)| resident.all > 0).collect()
}

/// What others have as well. Where the kernel does not tell (another user's process), what belongs to files.
fn shared(pid: u32, resident: Resident) -> u64 {
    resident.all.saturating_sub(tree::proportional(pid).unwrap_or(resident.anonymous))
}

/// What is surely its own, of a process whose share is not known yet: a fork has nothing of its own, and what has
/// executed something has what belongs to no file.
fn at_least(pid: u32, resident: Resident, is_first: bool) -> u64 {
    match tree::has_executed(pid) {
        _ if is_first => resident.all,
        Some(true) => resident.anonymous,
        _ => 0,
    }
}
