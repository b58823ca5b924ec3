//! jemalloc's figures, read through mallctl(3), and the orders that are given through it.

mod breakdown;

pub(crate) use breakdown::{Parts, Requested};

use core::ffi::{CStr, c_char, c_void};
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, Ordering};
use jeshim_platform::process;
use jeshim_platform::text::Text;
use tikv_jemalloc_sys as je;

/// The index that stands for all arenas together (`MALLCTL_ARENAS_ALL`, jemalloc.h).
const ALL_ARENAS: usize = 4096;

/// One reader at a time: figures that belong together are read between two refreshes. Holds the reader's process, so
/// that a forked child does not wait for a thread that exists in its parent only; 0 for nobody.
static READER: AtomicU32 = AtomicU32::new(0);

/// The right to read, until it is dropped.
pub(crate) struct Reader(u32);

/// Waits for other readers, but not for ever: without the right, figures may be of two moments, that is all.
pub(crate) fn reader() -> Reader {
    const PATIENCE: u32 = 10_000;
    let own = process::pid();
    for _ in 0..PATIENCE {
        match READER.compare_exchange(0, own, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => return Reader(own),
            Err(holder) if holder == own => process::yield_processor(),
            // The parent's: taken over, unless another thread of ours was quicker.
            Err(holder) => {
                if READER.compare_exchange(holder, own, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                    return Reader(own);
                }
            }
        }
    }
    Reader(0)
}

impl Drop for Reader {
    fn drop(&mut self) {
        if self.0 != 0 {
            READER.store(0, Ordering::Release);
        }
    }
}

/// Reads a value; `None` when there is none of this name and size.
pub(crate) fn read<T: Copy>(name: &CStr) -> Option<T> {
    let mut value = MaybeUninit::<T>::zeroed();
    let mut size = size_of::<T>();
    // SAFETY: the place is writable for `size` bytes, and jemalloc writes no more.
    let error = unsafe { je::mallctl(name.as_ptr(), value.as_mut_ptr().cast(), &mut size, null_mut(), 0) };
    // SAFETY: jemalloc wrote all of it, as the size shows. T is an integer, a bool or a pointer that it has.
    (error == 0 && size == size_of::<T>()).then(|| unsafe { value.assume_init() })
}

/// Reads a string value, which is jemalloc's own and stays.
pub(crate) fn read_text(name: &CStr) -> Option<&'static CStr> {
    let text = read::<*const c_char>(name)?;
    // SAFETY: jemalloc's string values are C strings that live as long as the process.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}

fn write<T>(name: &CStr, value: &mut T) -> bool {
    let place: *mut T = value;
    // SAFETY: the value is readable for its size; jemalloc compares that with what it expects.
    unsafe { je::mallctl(name.as_ptr(), null_mut(), null_mut(), place.cast(), size_of::<T>()) == 0 }
}

fn order(name: &CStr) -> bool {
    // SAFETY: no memory is passed.
    unsafe { je::mallctl(name.as_ptr(), null_mut(), null_mut(), null_mut(), 0) == 0 }
}

/// Makes jemalloc gather its figures anew.
fn refresh() {
    write(c"epoch", &mut 1_u64);
}

/// The name `start` `arena` `end`.
fn named<R>(start: &[u8], arena: usize, end: &[u8], use_name: impl FnOnce(&CStr) -> Option<R>) -> Option<R> {
    let mut buffer = [0; 96];
    let mut name = Text::new(&mut buffer);
    name.push(start).push_number(arena as u64).push(end);
    use_name(name.as_c_str()?)
}

fn of_arena<T: Copy>(arena: usize, figure: &[u8]) -> Option<T> {
    named(b"stats.arenas.", arena, figure, read::<T>)
}

/// How many arenas there may be; not all of them are in use.
pub(crate) fn arenas() -> usize {
    read::<u32>(c"arenas.narenas").unwrap_or(0) as usize
}

/// Gives the blocks in the calling thread's cache back to their arenas.
pub(crate) fn empty_cache() {
    // A thread without a cache answers with an error: there is then nothing to empty.
    order(c"thread.tcache.flush");
}

/// Gives back to the system all pages that hold no block, after emptying the calling thread's cache. Whether pages
/// were given back.
pub(crate) fn purge() -> bool {
    let _one = reader();
    let purged = || {
        refresh();
        let pages = |figure| of_arena::<u64>(ALL_ARENAS, figure).unwrap_or(0);
        pages(b".dirty_purged") + pages(b".muzzy_purged")
    };
    let before = purged();
    empty_cache();
    named(b"arena.", ALL_ARENAS, b".purge", |name| Some(order(name)));
    purged() > before
}

/// Sets for every arena, also those to come, how long an unused page is kept, in milliseconds: 0 gives it back at
/// once, -1 never.
pub(crate) fn set_dirty_decay(milliseconds: isize) {
    let mut milliseconds = milliseconds;
    write(c"arenas.dirty_decay_ms", &mut milliseconds);
    for arena in 0..arenas() {
        // An arena that was never used refuses; it takes the value of "arenas." when it begins.
        named(b"arena.", arena, b".dirty_decay_ms", |name| Some(write(name, &mut milliseconds)));
    }
}

/// What an arena, or all of them, hold, in bytes.
pub(crate) struct Memory {
    /// In blocks of the program.
    pub(crate) allocated: usize,
    /// In pages that hold at least one block.
    active: usize,
    /// In pages that hold none, and are kept for reuse (dirty and muzzy).
    pub(crate) kept: usize,
    /// In address space that has no memory behind it.
    retained: usize,
}

impl Memory {
    /// Of all arenas, at this moment.
    pub(crate) fn now() -> Memory {
        let _one = reader();
        refresh();
        Memory::read(ALL_ARENAS)
    }

    /// Of one arena, as of the last [`Memory::now`]; `None` for one that was never used.
    pub(crate) fn of_arena(arena: usize) -> Option<Memory> {
        named(b"arena.", arena, b".initialized", read::<bool>)?.then(|| Memory::read(arena))
    }

    fn read(arena: usize) -> Memory {
        let page = read::<usize>(c"arenas.page").unwrap_or(0);
        let bytes = |figure| of_arena::<usize>(arena, figure).unwrap_or(0);
        Memory {
            allocated: bytes(b".small.allocated") + bytes(b".large.allocated"),
            active: bytes(b".pactive") * page,
            kept: (bytes(b".pdirty") + bytes(b".pmuzzy")) * page,
            retained: bytes(b".retained"),
        }
    }

    /// Bytes taken from the system, in use or kept for reuse.
    pub(crate) fn held(&self) -> usize {
        self.active + self.kept
    }

    /// Bytes of address space.
    pub(crate) fn address_space(&self) -> usize {
        self.held() + self.retained
    }
}

/// Allocations and frees of blocks in one class of sizes, since the process started.
#[derive(Clone, Copy)]
pub(crate) struct Served {
    /// Calls that were answered with a block.
    pub(crate) allocations: u64,
    /// Bytes in those blocks, as rounded up to jemalloc's size classes.
    pub(crate) bytes: u64,
    /// Blocks given back. What waits in the caches of other threads than the calling one is not counted yet.
    pub(crate) frees: u64,
    /// Bytes in those.
    pub(crate) freed_bytes: u64,
}

impl Served {
    /// Nothing yet.
    pub(crate) const NONE: Served = Served { allocations: 0, bytes: 0, frees: 0, freed_bytes: 0 };

    /// Of small blocks (in slabs, up to 14 KiB) and of large ones (of their own), at this moment. Empties the calling
    /// thread's cache, so that it is counted. Other figures that are read with the same right are of this moment, too.
    pub(crate) fn now(_: &Reader) -> [Served; 2] {
        order(c"thread.tcache.flush");
        refresh();
        let small = read::<u32>(c"arenas.nbins").unwrap_or(0) as usize;
        let large = read::<u32>(c"arenas.nlextents").unwrap_or(0) as usize;
        [
            Served::sum(small, c"arenas.bin.0.size", b".bins.0.nrequests", b".bins.0.nmalloc", b".bins.0.ndalloc"),
            Served::sum(
                large,
                c"arenas.lextent.0.size",
                b".lextents.0.nrequests",
                b".lextents.0.nmalloc",
                b".lextents.0.ndalloc",
            ),
        ]
    }

    fn sum(classes: usize, size: &CStr, requests: &[u8], taken: &[u8], returned: &[u8]) -> Served {
        let series = |figure| named(b"stats.arenas.", ALL_ARENAS, figure, Series::of);
        let mut total = Served::NONE;
        let (Some(size), Some(requests), Some(taken), Some(returned)) =
            (Series::of(size), series(requests), series(taken), series(returned))
        else {
            return total;
        };
        for class in 0..classes {
            let bytes = size.read::<usize>(2, class).unwrap_or(0) as u64;
            let count = |series: &Series| series.read::<u64>(4, class).unwrap_or(0);
            // Blocks leave an arena in batches, into a thread's cache, and return in batches: only the requests are
            // the program's. What it has freed is what it has asked for and has not any more.
            let asked = count(&requests);
            let out = count(&taken).saturating_sub(count(&returned));
            let freed = asked.saturating_sub(out);
            total.allocations = total.allocations.saturating_add(asked);
            total.bytes = total.bytes.saturating_add(asked.saturating_mul(bytes));
            total.frees = total.frees.saturating_add(freed);
            total.freed_bytes = total.freed_bytes.saturating_add(freed.saturating_mul(bytes));
        }
        total
    }

    /// What was added since `earlier`.
    pub(crate) fn since(self, earlier: Served) -> Served {
        Served {
            allocations: self.allocations.saturating_sub(earlier.allocations),
            bytes: self.bytes.saturating_sub(earlier.bytes),
            frees: self.frees.saturating_sub(earlier.frees),
            freed_bytes: self.freed_bytes.saturating_sub(earlier.freed_bytes),
        }
    }
}

/// A name of jemalloc's, translated once, in which one number is then varied.
struct Series {
    mib: [usize; 8],
    length: usize,
}

impl Series {
    fn of(name: &CStr) -> Option<Series> {
        let mut series = Series { mib: [0; 8], length: 8 };
        // SAFETY: the array is writable for `length` numbers.
        let error = unsafe { je::mallctlnametomib(name.as_ptr(), series.mib.as_mut_ptr(), &mut series.length) };
        (error == 0).then_some(series)
    }

    fn read<T: Copy>(&self, place: usize, index: usize) -> Option<T> {
        let mut mib = self.mib;
        *mib.get_mut(place)? = index;
        let mut value = MaybeUninit::<T>::zeroed();
        let mut size = size_of::<T>();
        let to: *mut c_void = value.as_mut_ptr().cast();
        // SAFETY: the place is writable for `size` bytes, the mib readable for its length.
        let error = unsafe { je::mallctlbymib(mib.as_ptr(), self.length, to, &mut size, null_mut(), 0) };
        // SAFETY: jemalloc wrote all of it, as the size shows; T is plain integers without padding: any bytes are one.
        (error == 0 && size == size_of::<T>()).then(|| unsafe { value.assume_init() })
    }
}
