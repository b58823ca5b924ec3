//! Where the memory of a process is that jemalloc serves: parts that add up to what is resident.
//!
//! jemalloc's own totals overlap. What it allocates for itself among the program's blocks (`internal`: a cache for each
//! thread, buffers) is in `allocated` and in `metadata`; what threads keep in those caches is in `allocated`; `metadata`
//! counts bytes, and `resident` the pages that they take. So usable bytes are `allocated` less the first two, and what
//! is resident and neither active nor dirty is jemalloc's, together with `internal`.
//!
//! How many bytes the program asked for, jemalloc does not know. Its heap profiler does, of a sample, and in a run of its
//! own ([`REQUESTED_CONF`]), since a sampled block takes whole pages: such a run tells only which share of the usable
//! bytes was asked for.

use super::results::Memory;
use crate::record::Record;
use serde_json::Value;
use std::ops::Range;

/// Options for the run that tells how much was asked for. A sample for each 8 KiB, of one frame of the stack: measured
/// over this project's workloads that costs 3 to 15% of CPU (64 frames: up to three times the CPU) and 40% of memory, and
/// the answer is right to 0.3% from 1 MiB in use on; a sample for each 16 KiB misses by 1% there, and one for each 4 KiB
/// doubles the memory.
pub const REQUESTED_CONF: &str = "prof:true,prof_stats:true,lg_prof_sample:13,prof_bt_max:1,prof_final:false";

/// jemalloc's totals and parts, as it counts them, in bytes.
struct Totals {
    allocated: u64,
    active: u64,
    resident: u64,
    retained: u64,
    thread_caches: u64,
    internal: u64,
    dirty: u64,
    muzzy: u64,
}

impl Totals {
    fn memory(&self, allocations: u64) -> Memory {
        let usable = self.allocated.saturating_sub(self.thread_caches).saturating_sub(self.internal);
        let pages = self.active.saturating_add(self.dirty);
        Memory {
            requested: None,
            usable,
            thread_caches: self.thread_caches,
            slab_free: self.active.saturating_sub(self.allocated),
            dirty: self.dirty,
            muzzy: self.muzzy,
            metadata: self.resident.saturating_sub(pages).saturating_add(self.internal),
            active: self.active,
            resident: self.resident,
            retained: self.retained,
            allocations,
        }
    }
}

/// From the record of a process that has finished. `None` when it has not, and when its library is one that does not
/// tell the parts.
pub fn of(record: &Record) -> Option<Memory> {
    let served = record.served.as_ref()?;
    let totals = Totals {
        allocated: served.allocated,
        active: served.active,
        resident: served.resident,
        retained: served.retained,
        thread_caches: served.thread_caches?,
        internal: served.internal?,
        dirty: served.dirty?,
        muzzy: served.muzzy?,
    };
    let mut memory = totals.memory(served.small_allocations.saturating_add(served.large_allocations));
    if let (Some(requested), Some(rounded)) = (served.requested, served.rounded) {
        memory.requested = share(memory.usable, requested, rounded);
    }
    Some(memory)
}

/// From jemalloc's statistics in JSON (`stats_print_opts:J`). `None` when a member is missing.
pub fn of_statistics(statistics: &Value) -> Option<Memory> {
    let number = |pointer: &str| statistics.pointer(pointer).and_then(Value::as_u64);
    let total = |name: &str| number(&format!("/jemalloc/stats/{name}"));
    let merged = |name: &str| number(&format!("/jemalloc/stats.arenas/merged/{name}"));
    let page = number("/jemalloc/arenas/page")?;
    let totals = Totals {
        allocated: total("allocated")?,
        active: total("active")?,
        resident: total("resident")?,
        retained: total("retained")?,
        thread_caches: merged("tcache_bytes")?,
        internal: merged("internal")?,
        dirty: merged("pdirty")?.saturating_mul(page),
        muzzy: merged("pmuzzy")?.saturating_mul(page),
    };
    Some(totals.memory(merged("small/nrequests")?.saturating_add(merged("large/nrequests")?)))
}

/// From jemalloc's statistics in JSON in what a program and its children have printed. They do not say whose they are:
/// those with the most allocations are taken for those of the program that was meant.
pub fn printed(output: &[u8]) -> Option<Memory> {
    documents(output).filter_map(|(_, document)| of_statistics(&document)).max_by_key(|memory| memory.allocations)
}

/// What a program has printed, without jemalloc's statistics in JSON.
pub fn without_statistics(output: &[u8]) -> Vec<u8> {
    let mut rest = Vec::new();
    let mut at = 0;
    for (place, _) in documents(output) {
        rest.extend_from_slice(output.get(at..place.start).unwrap_or_default());
        at = place.end;
    }
    rest.extend_from_slice(output.get(at..).unwrap_or_default());
    rest
}

/// jemalloc's statistics, each with its place.
fn documents(output: &[u8]) -> impl Iterator<Item = (Range<usize>, Value)> {
    memchr::memmem::find_iter(output, b"\"jemalloc\"").filter_map(|at| {
        let before = output.get(..at)?.trim_ascii_end();
        let start = before.strip_suffix(b"{")?.len();
        let mut documents = serde_json::Deserializer::from_slice(output.get(start..)?).into_iter::<Value>();
        let document = documents.next()?.ok()?;
        Some((start..start.saturating_add(documents.byte_offset()), document))
    })
}

/// The same with what was asked for: the share of the usable bytes that `other`, from a run with [`REQUESTED_CONF`], has.
pub fn with_requested(memory: Memory, other: &Memory) -> Memory {
    let requested = other.requested.and_then(|requested| share(memory.usable, requested, other.usable));
    Memory { requested, ..memory }
}

/// `part` of `whole`, of a number of bytes; `None` of nothing.
fn share(bytes: u64, part: u64, whole: u64) -> Option<u64> {
    let bytes = u128::from(bytes).saturating_mul(u128::from(part.min(whole)));
    bytes.checked_div(u128::from(whole)).and_then(|bytes| u64::try_from(bytes).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Served;
    use proptest::prelude::*;

    fn parts(memory: &Memory) -> u64 {
        memory.usable + memory.thread_caches + memory.slab_free + memory.dirty + memory.metadata
    }

    fn served() -> Served {
        Served {
            small_allocations: 7,
            large_allocations: 2,
            allocated: 100_000,
            active: 122_880,
            resident: 200_704,
            retained: 5,
            thread_caches: Some(3_000),
            internal: Some(30_000),
            dirty: Some(8_192),
            muzzy: Some(4_096),
            ..Served::default()
        }
    }

    fn record(served: Served) -> Record {
        Record { served: Some(served), ..Record::default() }
    }

    #[test]
    fn the_parts_of_a_record_add_up_to_what_is_resident() {
        let memory = of(&record(served())).unwrap();
        assert_eq!((memory.usable, memory.slab_free, memory.metadata), (67_000, 22_880, 99_632));
        assert_eq!((memory.allocations, memory.requested, memory.retained, memory.muzzy), (9, None, 5, 4_096));
        assert_eq!(parts(&memory), memory.resident);
    }

    #[test]
    fn what_a_library_does_not_tell_is_not_known() {
        assert_eq!(of(&Record::default()), None, "not finished");
        for without in [
            Served { thread_caches: None, ..served() },
            Served { internal: None, ..served() },
            Served { dirty: None, ..served() },
            Served { muzzy: None, ..served() },
        ] {
            assert_eq!(of(&record(without)), None);
        }
    }

    #[test]
    fn the_share_that_was_asked_for_is_carried_over() {
        let profiled = Served { allocated: 90_000, requested: Some(33_000), rounded: Some(48_000), ..served() };
        let other = of(&record(profiled)).unwrap();
        assert_eq!(other.requested, Some(57_000 * 33 / 48));
        let memory = with_requested(of(&record(served())).unwrap(), &other);
        // Of the rounded half a byte may be lost.
        assert!((memory.requested.unwrap() as f64 / 67_000.0 - 33.0 / 48.0).abs() < 1e-4);
        assert_eq!(with_requested(memory, &Memory::default()).requested, None, "nothing was asked for");
    }

    /// As jemalloc 5.3.0 prints it, shortened.
    const STATISTICS: &str = r#"{"jemalloc":{"version":"5.3.0","arenas":{"page":4096},"stats":{"allocated":5017088,
        "active":5033984,"metadata":2785392,"resident":7733248,"mapped":11325440,"retained":2830336},
        "stats.arenas":{"merged":{"pactive":1229,"pdirty":2,"pmuzzy":1,"small":{"nrequests":100001},
        "large":{"nrequests":3},"internal":94208,"tcache_bytes":36864}}}}"#;

    #[test]
    fn the_parts_of_statistics_add_up_too() {
        let memory = of_statistics(&serde_json::from_str(STATISTICS).unwrap()).unwrap();
        assert_eq!((memory.usable, memory.dirty, memory.muzzy), (4_886_016, 8_192, 4_096));
        assert_eq!((memory.allocations, parts(&memory)), (100_004, memory.resident));
        assert_eq!(of_statistics(&Value::Null), None);
    }

    #[test]
    fn statistics_are_found_among_what_a_program_prints() {
        let allocations = |output: &str| printed(output.as_bytes()).map(|memory| memory.allocations);
        let older = STATISTICS.replace("{\"jemalloc\":", "{\n\t\"jemalloc\": ").replace("100001", "7");
        for (output, expected) in [
            (format!("warning: {{ \"jemalloc\"\n{STATISTICS}bye\n"), Some(100_004)),
            (format!("{STATISTICS}\n{older}\n"), Some(100_004)),
            (format!("{older}{STATISTICS}\n"), Some(100_004)),
            (format!("{older}{}", STATISTICS.get(..100).unwrap()), Some(10)),
            ("{\"jemalloc\": ".to_owned(), None),
            ("{\"jemalloc\": 1}".to_owned(), None),
            ("\"jemalloc\"".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(allocations(&output), expected, "{output}");
        }
    }

    proptest! {
        #[test]
        fn no_figures_overflow(figures in proptest::array::uniform10(any::<u64>())) {
            let [allocated, active, resident, retained, thread_caches, internal, dirty, muzzy, requested, rounded] =
                figures;
            let memory = of(&record(Served {
                allocated, active, resident, retained,
                thread_caches: Some(thread_caches), internal: Some(internal), dirty: Some(dirty), muzzy: Some(muzzy),
                requested: Some(requested), rounded: Some(rounded),
                small_allocations: u64::MAX, large_allocations: 1,
                ..Served::default()
            })).unwrap();
            prop_assert!(memory.requested.is_none_or(|requested| requested <= memory.usable));
            let _ = with_requested(memory, &memory);
        }
    }
}
