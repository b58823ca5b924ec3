//! What can be seen of a process from outside, while it runs: whether jemalloc serves it, and which memory is
//! jemalloc's. `jeshim check --pid` finds the section in the library's file and reads it in the process's memory.
//!
//! Both are learnt on slow paths: where jemalloc fills a thread's cache with small blocks, and where it maps memory.

use core::hint::spin_loop;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// How many mappings are kept. jemalloc takes few and large ones, each new one larger than the last.
const RANGES: usize = 256;
/// How far fills are counted. Beyond it the count is not written any more: it would be a cache line that all threads
/// fight for.
const ENOUGH: usize = 1000;

/// The layout, in the words of the processor, is read from outside: a change of it changes `MAGIC`.
#[repr(C)]
struct Live {
    magic: [u8; 8],
    /// How often small blocks were handed out by the slow path, each time at least one: a lower bound, up to `ENOUGH`.
    fills: AtomicUsize,
    /// So many of `ranges` have been in use at most.
    used: AtomicU32,
    /// Mappings that found no place, or could not be noted.
    lost: AtomicU32,
    /// Start and length in bytes; a length of 0 is a free place.
    ranges: [Range; RANGES],
}

#[repr(C)]
struct Range {
    start: AtomicUsize,
    length: AtomicUsize,
}

const MAGIC: [u8; 8] = *b"jeshim1\0";

#[used]
#[unsafe(link_section = ".jeshim.live")]
static LIVE: Live = Live {
    magic: MAGIC,
    fills: AtomicUsize::new(0),
    used: AtomicU32::new(0),
    lost: AtomicU32::new(0),
    ranges: [const { Range { start: AtomicUsize::new(0), length: AtomicUsize::new(0) } }; RANGES],
};

/// Small blocks were handed out by the slow path.
pub(crate) fn filled() {
    let fills = LIVE.fills.load(Ordering::Relaxed);
    if fills < ENOUGH {
        // Two threads may write the same number: it is a lower bound.
        LIVE.fills.store(fills + 1, Ordering::Relaxed);
    }
}

/// jemalloc has mapped memory: new, or, where the kernel does not overcommit, over what it has already.
pub(crate) fn mapped(start: usize, length: usize) {
    let _one = Writer::new();
    cut(start, length);
    // Beside what is known already, as most is, it takes no place of its own.
    let before = used_ranges().find(|range| {
        let size = range.length.load(Ordering::Relaxed);
        size != 0 && range.start.load(Ordering::Relaxed).saturating_add(size) == start
    });
    match before {
        Some(range) => {
            range.length.store(range.length.load(Ordering::Relaxed).saturating_add(length), Ordering::Release)
        }
        None => insert(start, length),
    }
}

/// jemalloc is about to unmap memory, all or a part of what it has mapped in one or several calls.
pub(crate) fn unmapped(start: usize, length: usize) {
    let _one = Writer::new();
    cut(start, length);
}

/// Takes addresses out of the ranges.
fn cut(start: usize, length: usize) {
    let end = start.saturating_add(length);
    for range in used_ranges() {
        let (first, size) = (range.start.load(Ordering::Relaxed), range.length.load(Ordering::Relaxed));
        let last = first.saturating_add(size);
        if size == 0 || last <= start || end <= first {
            continue;
        }
        // The length first where both change: who reads in between sees less than there is, not more.
        if first < start {
            range.length.store(start - first, Ordering::Release);
            if end < last {
                insert(end, last - end);
            }
        } else if end < last {
            range.length.store(last - end, Ordering::Release);
            range.start.store(end, Ordering::Release);
        } else {
            range.length.store(0, Ordering::Release);
        }
    }
}

fn used_ranges() -> impl Iterator<Item = &'static Range> {
    LIVE.ranges.iter().take(LIVE.used.load(Ordering::Relaxed) as usize)
}

/// Notes a range in the first free place.
fn insert(start: usize, length: usize) {
    for (index, range) in LIVE.ranges.iter().enumerate() {
        if range.length.load(Ordering::Relaxed) == 0 {
            range.start.store(start, Ordering::Release);
            range.length.store(length, Ordering::Release);
            LIVE.used.fetch_max(index as u32 + 1, Ordering::Relaxed);
            return;
        }
    }
    LIVE.lost.fetch_add(1, Ordering::Relaxed);
}

/// One thread at a time, for a few instructions. Not for ever: after a fork the holder may exist in the parent only,
/// and then the turn is taken over.
struct Writer;

static WRITING: AtomicU32 = AtomicU32::new(0);

impl Writer {
    fn new() -> Writer {
        const PATIENCE: u32 = 10_000;
        for _ in 0..PATIENCE {
            if WRITING.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                break;
            }
            spin_loop();
        }
        Writer
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        WRITING.store(0, Ordering::Release);
    }
}
