//! Looking at all processes of a run while it goes on: their memory over time, and whether a library is in them.
//!
//! It is a thread that sleeps most of the time: whatever it does takes at most a share of its time ([`pace`]).

mod curve;
mod library;
mod memory;
mod pace;

use curve::Curve;
use jeshim_host::process::own_thread_time;
use library::Search;
use memory::Tree;
use pace::Pace;
use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A run that is looked at.
#[derive(Debug)]
pub struct Sampler {
    /// Dropped to end the thread.
    stop: Sender<()>,
    thread: Option<JoinHandle<Samples>>,
}

/// A library that is looked for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The library.
    pub library: &'a Path,
    /// Whether it is looked for in every process, and not only until it is seen in one.
    pub everywhere: bool,
}

/// What was seen.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Samples {
    /// Seconds since the start, and the resident bytes of all processes: of one alone, its resident set; of several, each
    /// page divided among those that have it.
    pub memory: Vec<(f32, u64)>,
    /// The largest of them, before they were thinned.
    pub peak: u64,
    /// Whether the library was seen in a process. `None`: none could be looked at; `false`: in one that had time
    /// enough to load it, it was not there.
    pub loaded: Option<bool>,
    /// Programs that had time enough to load it, and have not: only when it was looked for everywhere.
    pub without: Vec<String>,
}

impl Sampler {
    /// Begins to look at what is below `root`, the starter. Times are counted from `started`, which is just before the
    /// program was started. Memory is looked at every so often (zero for never).
    ///
    /// # Errors
    /// When there can be no more threads.
    pub fn begin(root: u32, started: Instant, every: Duration, wanted: Option<Wanted>) -> io::Result<Sampler> {
        let (stop, stopped) = channel();
        if every.is_zero() && wanted.is_none() {
            return Ok(Sampler { stop, thread: None });
        }
        let search = wanted.map(|wanted| Search::of(wanted.library, wanted.everywhere));
        let work = move || look_until(&stopped, root, started, every, search);
        let thread = std::thread::Builder::new().name("sampler".into()).spawn(work)?;
        Ok(Sampler { stop, thread: Some(thread) })
    }

    /// Ends it.
    pub fn end(self) -> Samples {
        drop(self.stop);
        self.thread.and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

/// The resident bytes of all processes below `root`, now, as in [`Samples::memory`]. Takes as long as the processes are
/// large: a millisecond for some hundred MB when there are several.
pub fn memory_below(root: u32) -> u64 {
    Tree::below(root).resident(Instant::now()).unwrap_or(0)
}

fn look_until(
    stopped: &Receiver<()>,
    root: u32,
    started: Instant,
    every: Duration,
    mut search: Option<Search>,
) -> Samples {
    let mut tree = Tree::below(root);
    let mut curve = (!every.is_zero()).then(|| (Curve::default(), Pace::new(every, started)));
    loop {
        let now = Instant::now();
        let before = own_thread_time();
        let mut next = None;
        if let Some((curve, pace)) = &mut curve {
            if pace.is_due(now) {
                let bytes = tree.resident(now);
                if bytes.is_some_and(|bytes| curve.add(now.saturating_duration_since(started), bytes)) {
                    pace.slow_down();
                }
                // What it took to find the share of each process has a pace of its own.
                pace.done(now, own_thread_time().saturating_sub(before).saturating_sub(tree.took_for_shares()));
            }
            next = Some(pace.next());
        }
        if let Some(search) = &mut search
            && let Some(due) = search.look(now, || tree.pids(now))
        {
            next = Some(next.map_or(due, |next| due.min(next)));
        }
        let pause = next.map_or(Duration::MAX, |next| next.saturating_duration_since(Instant::now()));
        if stopped.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
    let (memory, peak) = curve.map(|(curve, _)| curve.finish()).unwrap_or_default();
    let loaded = search.as_ref().and_then(Search::answer);
    let without = search.map(|search| search.without.into_iter().collect()).unwrap_or_default();
    Samples { memory, peak, loaded, without }
}
