//! Where the memory went: the parts of what is resident, for participants that can tell.

use super::document::{Entry, Table};
use super::numbers::{bytes, share};
use super::table::label;
use crate::compare::results::{Comparison, Memory, Proof};
use crate::terminal::printable;

/// What the parts mean.
pub(super) const KEY: &str = "at the end of a run of its own, in bytes and as a share of what is resident. \
    Rounding: blocks are as large as their size class. Thread caches: freed blocks that threads keep. Free in slabs: \
    free blocks beside others in use, and what large blocks have for their alignment. Dirty: unused pages that are kept \
    for a while. Muzzy pages and retained addresses are not in what is resident";

/// A part of what is resident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    /// Which one, for its colour.
    pub(super) kind: usize,
    pub(super) name: &'static str,
    /// Bytes.
    pub(super) bytes: u64,
}

/// All kinds, in order. What was asked for is known, or it is in the second with its rounding.
const NAMES: [&str; 8] = [
    "requested",
    "in use, with rounding",
    "rounding to size classes",
    "thread caches",
    "free in slabs",
    "dirty pages",
    "metadata",
    "not explained",
];

/// The parts that add up to what is resident.
pub(super) fn parts(memory: &Memory) -> Vec<Part> {
    // It is an estimate, and may be more than there is.
    let requested = memory.requested.map(|requested| requested.min(memory.usable));
    let known = [
        requested,
        requested.is_none().then_some(memory.usable),
        requested.map(|requested| memory.usable.saturating_sub(requested)),
        Some(memory.thread_caches),
        Some(memory.slab_free),
        Some(memory.dirty),
        Some(memory.metadata),
    ];
    let sum = known.iter().flatten().fold(0_u64, |sum, part| sum.saturating_add(*part));
    // The counters are read one after the other, while the program's threads may run.
    let rest = Some(memory.resident.saturating_sub(sum)).filter(|rest| *rest > 0);
    let all = known.into_iter().chain([rest]).zip(NAMES).enumerate();
    all.filter_map(|(kind, (bytes, name))| bytes.map(|bytes| Part { kind, name, bytes })).collect()
}

/// The proofs with memory of a point.
pub(super) fn of_point(comparison: &Comparison, point: usize) -> Vec<(&Proof, &Memory)> {
    let proofs = comparison.proofs.iter().filter(|proof| proof.point == point);
    proofs.filter_map(|proof| proof.memory.as_ref().map(|memory| (proof, memory))).collect()
}

/// A table for each point for which anybody can tell.
pub(super) fn tables(comparison: &Comparison) -> Vec<Table> {
    let points = comparison.points.iter().enumerate();
    points
        .filter_map(|(index, point)| {
            let columns = of_point(comparison, index);
            (!columns.is_empty()).then(|| table(comparison, printable(point.name()), &columns))
        })
        .collect()
}

fn table(comparison: &Comparison, title: String, columns: &[(&Proof, &Memory)]) -> Table {
    let labels = columns.iter().map(|(proof, _)| label(comparison, proof.participant));
    let mut table = Table { title, names: 1, header: vec!["memory".to_owned()], rows: Vec::new() };
    table.header.extend(labels);
    let parts: Vec<Vec<Part>> = columns.iter().map(|(_, memory)| parts(memory)).collect();
    for (kind, name) in NAMES.into_iter().enumerate() {
        let found = |parts: &Vec<Part>| parts.iter().find(|part| part.kind == kind).map(|part| part.bytes);
        let values: Vec<Option<u64>> = parts.iter().map(found).collect();
        if values.iter().any(Option::is_some) {
            table.rows.push(row(name, values.into_iter().zip(columns.iter().map(|(_, memory)| memory.resident))));
        }
    }
    let all = |name: &str, value: fn(&Memory) -> u64| {
        row(name, columns.iter().map(|(_, memory)| (Some(value(memory)), memory.resident)))
    };
    table.rows.push(all("= resident", |memory| memory.resident));
    for (name, value) in [
        ("besides: muzzy pages", (|memory| memory.muzzy) as fn(&Memory) -> u64),
        ("besides: retained addresses", |memory| memory.retained),
    ] {
        let mut entries = vec![Entry::text(name)];
        entries.extend(columns.iter().map(|(_, memory)| Entry::text(bytes(value(memory)))));
        table.rows.push(entries);
    }
    table
}

fn row(name: &str, values: impl Iterator<Item = (Option<u64>, u64)>) -> Vec<Entry> {
    let written = values.map(|(value, resident)| match value {
        Some(value) => Entry::text(format!("{} ({})", bytes(value), share(value, resident))),
        None => Entry::text("-"),
    });
    [Entry::text(name)].into_iter().chain(written).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(memory: &Memory) -> u64 {
        parts(memory).iter().map(|part| part.bytes).sum()
    }

    #[test]
    fn the_parts_add_up_to_what_is_resident() {
        let memory = Memory {
            requested: Some(90),
            usable: 100,
            thread_caches: 10,
            slab_free: 20,
            dirty: 30,
            metadata: 5,
            active: 130,
            resident: 165,
            ..Memory::default()
        };
        assert_eq!(sum(&memory), 165);
        assert_eq!(parts(&memory)[1], Part { kind: 2, name: "rounding to size classes", bytes: 10 });
        // Not known what was asked for; an estimate of more than there is; counters that do not agree.
        assert_eq!(sum(&Memory { requested: None, ..memory }), 165);
        assert_eq!(sum(&Memory { requested: Some(400), ..memory }), 165);
        let odd = Memory { resident: 170, ..memory };
        assert_eq!(parts(&odd).last().map(|part| (part.name, part.bytes)), Some(("not explained", 5)));
    }
}
