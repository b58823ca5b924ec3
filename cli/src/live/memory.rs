//! Who has the private memory of a process.

use super::objects::Object;
use super::owners::{Known, Owner};
use jeshim_host::live::{Mapping, Process};
use std::collections::BTreeMap;
use std::ops::Range;

/// Private memory by owner.
#[derive(Debug)]
pub struct Memory {
    /// All of it, in bytes.
    pub private: u64,
    /// Each owner's share in bytes, largest first.
    pub shares: Vec<(Owner, u64)>,
}

impl Memory {
    /// What jemalloc has, in bytes.
    pub fn jemalloc(&self) -> u64 {
        self.shares.iter().find(|(owner, _)| *owner == Owner::Jemalloc).map_or(0, |(_, bytes)| *bytes)
    }

    /// The same in percent of all; 0 when there is nothing.
    pub fn percent(&self, bytes: u64) -> f64 {
        if self.private == 0 { 0.0 } else { bytes as f64 * 100.0 / self.private as f64 }
    }
}

/// Adds up the shares. `ranges` is what jemalloc has mapped, sorted.
pub fn shares(process: &Process, mappings: &[Mapping], objects: &[Object], ranges: &[Range<u64>]) -> Memory {
    let known = Known::new(process, mappings, objects);
    let mut shares: BTreeMap<Owner, u64> = BTreeMap::new();
    let mut private: u64 = 0;
    for (index, mapping) in mappings.iter().enumerate().filter(|(_, mapping)| mapping.private > 0 && !mapping.shared) {
        private = private.saturating_add(mapping.private);
        let mut add = |owner, bytes| {
            let share = shares.entry(owner).or_default();
            *share = share.saturating_add(bytes);
        };
        let whole = mapping.start..mapping.end;
        let others = if mapping.inode == 0 { without(&whole, ranges) } else { vec![whole.clone()] };
        match &others[..] {
            [] => add(Owner::Jemalloc, mapping.private),
            [all] if *all == whole => add(known.owner(mappings, index, all), mapping.private),
            // Neighbours without a file are one mapping to the kernel: it is asked for each page.
            _ => {
                let mut left = mapping.private;
                for other in &others {
                    let Some(bytes) = process.private_in(other.clone()) else {
                        add(Owner::Mixed, left);
                        left = 0;
                        break;
                    };
                    let bytes = bytes.min(left);
                    left -= bytes;
                    add(known.owner(mappings, index, other), bytes);
                }
                add(Owner::Jemalloc, left);
            }
        }
    }
    let mut shares: Vec<_> = shares.into_iter().filter(|(_, bytes)| *bytes > 0).collect();
    shares.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    Memory { private, shares }
}

/// What remains of a range without others, which are sorted.
fn without(whole: &Range<u64>, others: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut rest = Vec::new();
    let mut from = whole.start;
    for other in others.iter().filter(|other| other.start < whole.end && whole.start < other.end) {
        if from < other.start {
            rest.push(from..other.start);
        }
        from = from.max(other.end);
    }
    if from < whole.end {
        rest.push(from..whole.end);
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_without_others_is_its_gaps() {
        let gaps = |others: &[(u64, u64)]| {
            let others: Vec<Range<u64>> = others.iter().map(|(start, end)| *start..*end).collect();
            without(&(10..20), &others).iter().map(|gap| (gap.start, gap.end)).collect::<Vec<_>>()
        };
        assert_eq!(gaps(&[]), [(10, 20)]);
        assert_eq!(gaps(&[(0, 10), (20, 30)]), [(10, 20)]);
        assert_eq!(gaps(&[(0, 12), (14, 15), (15, 16), (19, 40)]), [(12, 14), (16, 19)]);
        assert_eq!(gaps(&[(0, 15), (3, 12), (13, 20)]), []);
        assert_eq!(gaps(&[(11, 19)]), [(10, 11), (19, 20)]);
    }
}
