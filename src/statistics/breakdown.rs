//! Where the memory is that jemalloc has taken from the system, beyond its own totals; and how much of it the program
//! asked for. As of the last refresh, so that it belongs to the totals that are read with the same right; only the
//! profiler's samples are of the moment at which they are read.

use super::{ALL_ARENAS, Reader, Series, named, of_arena, read};

/// Parts of jemalloc's totals that it has for each arena only, of all arenas, in bytes.
pub(crate) struct Parts {
    /// Freed blocks that threads keep for themselves; jemalloc counts them as allocated.
    pub(crate) thread_caches: u64,
    /// What jemalloc has allocated for itself among the program's blocks: counted as allocated, and as metadata.
    pub(crate) internal: u64,
    /// Unused pages that are kept as they are.
    pub(crate) dirty: u64,
    /// Unused pages that the system may take when it needs them.
    pub(crate) muzzy: u64,
}

impl Parts {
    /// As of the last refresh.
    pub(crate) fn now(_: &Reader) -> Parts {
        let page = read::<usize>(c"arenas.page").unwrap_or(0) as u64;
        let figure = |name| of_arena::<usize>(ALL_ARENAS, name).unwrap_or(0) as u64;
        Parts {
            thread_caches: figure(b".tcache_bytes"),
            internal: figure(b".internal"),
            dirty: figure(b".pdirty").saturating_mul(page),
            muzzy: figure(b".pmuzzy").saturating_mul(page),
        }
    }
}

/// Samples of one class of sizes that the program has not freed (`prof_stats_t`, prof_stats.h).
#[repr(C)]
#[derive(Clone, Copy)]
struct Samples {
    /// Bytes that were asked for.
    requested: u64,
    /// How many.
    count: u64,
}

/// Any bytes are one, as [`Series::read`] wants it: two integers, and nothing between or behind them.
const _: () = assert!(size_of::<Samples>() == 2 * size_of::<u64>());

/// The program's blocks: bytes that were asked for, and bytes of the classes to which jemalloc rounded those up. Blocks
/// that wait in thread caches count as if they were in use: the share of the two is what this is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Requested {
    /// An estimate: in each class, the mean of its samples is taken for all blocks.
    pub(crate) requested: u64,
    /// Of the same blocks.
    pub(crate) rounded: u64,
}

impl Requested {
    /// Blocks as of the last refresh, samples as of now: jemalloc reads those under a lock of their own. While other threads
    /// allocate, the mean of a class may be that of slightly other blocks. `None` unless jemalloc runs with
    /// `prof:true,prof_stats:true`.
    ///
    /// A sampled small block has pages of its own (arena.c, `arena_prof_promote`). jemalloc counts it among the blocks
    /// of no small class, and, when those pages are as many as a large block has, among the large ones of that size.
    pub(crate) fn now(reader: &Reader) -> Option<Requested> {
        let sampled_small = Series::of(c"prof.stats.bins.0.live")?;
        let sampled_large = Series::of(c"prof.stats.lextents.0.live")?;
        let [small_size, large_size] = [c"arenas.bin.0.size", c"arenas.lextent.0.size"].map(Series::of);
        let (small_size, large_size) = (small_size?, large_size?);
        let small_count = named(b"stats.arenas.", ALL_ARENAS, b".bins.0.curregs", Series::of)?;
        let large_count = named(b"stats.arenas.", ALL_ARENAS, b".lextents.0.curlextents", Series::of)?;
        let classes = |name| read::<u32>(name).unwrap_or(0) as usize;
        let page = read::<usize>(c"arenas.page")? as u64;
        let smallest_large = large_size.read::<usize>(2, 0)? as u64;
        let number = |series: &Series, place, class| series.read::<usize>(place, class).unwrap_or(0) as u64;
        let samples =
            |series: &Series, class| series.read::<Samples>(3, class).unwrap_or(Samples { requested: 0, count: 0 });

        let mut total = Requested { requested: 0, rounded: 0 };
        // Sampled small blocks that are among the smallest large ones.
        let mut promoted = 0_u64;
        for class in 0..classes(c"arenas.nbins") {
            let size = number(&small_size, 2, class);
            let sampled = samples(&sampled_small, class);
            if size.next_multiple_of(page.max(1)) >= smallest_large {
                promoted = promoted.saturating_add(sampled.count);
            }
            total.add(size, number(&small_count, 4, class).saturating_add(sampled.count), sampled);
        }
        for class in 0..classes(c"arenas.nlextents") {
            let others = if class == 0 { promoted } else { 0 };
            let count = number(&large_count, 4, class).saturating_sub(others);
            total.add(number(&large_size, 2, class), count, samples(&sampled_large, class));
        }
        // jemalloc's own are among them, in classes that the program has blocks in, too.
        let own = Parts::now(reader).internal;
        total.requested = total.requested.saturating_sub(own);
        total.rounded = total.rounded.saturating_sub(own);
        Some(total)
    }

    /// Adds the blocks of a class. Of one without samples nothing is known but that its blocks fit.
    fn add(&mut self, size: u64, count: u64, sampled: Samples) {
        let rounded = size.saturating_mul(count);
        let requested = u128::from(sampled.requested)
            .saturating_mul(u128::from(count))
            .checked_div(u128::from(sampled.count))
            .map_or(rounded, |requested| u64::try_from(requested).unwrap_or(rounded));
        self.rounded = self.rounded.saturating_add(rounded);
        self.requested = self.requested.saturating_add(requested);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_the_samples_stands_for_the_class() {
        let mut total = Requested { requested: 0, rounded: 0 };
        total.add(48, 1000, Samples { requested: 350, count: 10 });
        assert_eq!(total, Requested { requested: 35_000, rounded: 48_000 });
        total.add(64, 2, Samples { requested: 0, count: 0 });
        assert_eq!(total, Requested { requested: 35_128, rounded: 48_128 });
        total.add(u64::MAX, u64::MAX, Samples { requested: u64::MAX, count: 1 });
        assert_eq!(total, Requested { requested: u64::MAX, rounded: u64::MAX });
    }
}
