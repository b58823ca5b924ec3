//! Allocators that are compiled into an executable, by the texts that each of them carries.

use crate::elf::Elf;
use aho_corasick::{AhoCorasick, MatchKind};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// All the texts of one have to be there: a program may mention an allocator, or its options, without having it. Where
/// it is known that there is an allocator, the first one names it.
/// Where a bar stands the text goes on: this very file would otherwise carry them.
const MARKS: &[(&str, &[&str])] = &[
    ("jemalloc", &["<jem|alloc>", "Conf string ends with k|ey"]),
    ("mimalloc", &["mimal|loc: error: ", "eager_co|mmit", "mimal|loc_"]),
    ("tcmalloc", &["TCMAL|LOC_", "MALL|OC: "]),
    ("PartitionAlloc", &["PartitionAl|loc.", "partition_al|loc/"]),
    ("scudo", &["Scudo ERR|OR: ", "SCUDO_OPT|IONS"]),
    ("TBB's allocator", &["TBBmal|loc: ", "TBB_MAL|LOC_"]),
    ("hardened_malloc", &["fatal alloca|tor error: "]),
];

/// How many bytes of a file are searched at most.
const MOST: u64 = 256 << 20;
const CHUNK: usize = 1 << 20;
/// Longer than any mark: what one chunk ends with, the next begins with.
const OVERLAP: usize = 64;

/// What a search came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) allocator: Option<&'static str>,
    /// Whether the file has more than is searched.
    pub(super) capped: bool,
}

/// Searches the constants of an executable, which is known to have an allocator or not.
pub(super) fn search(elf: &Elf, file: &File, known: bool) -> Found {
    let texts: Vec<String> = MARKS.iter().flat_map(|(_, marks)| *marks).map(|mark| mark.replace('|', "")).collect();
    let Ok(searcher) = AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(&texts) else {
        return Found::default();
    };
    let mut seen = vec![false; texts.len()];
    let constants = |segment: &&crate::elf::Segment| !segment.writable && !segment.executable;
    // Linkers of old put constants and code together.
    let apart = elf.segments.iter().any(|segment| constants(&segment));
    let mut left = MOST;
    let mut buffer = vec![0; CHUNK];
    for segment in elf.segments.iter().filter(|segment| !segment.writable && (!apart || constants(segment))) {
        let mut at = 0;
        while at < segment.size {
            if left == 0 {
                return Found { allocator: named(&texts, &seen, known), capped: true };
            }
            let want = usize::try_from((segment.size - at).min(left)).unwrap_or(CHUNK).min(CHUNK);
            let Some(offset) = segment.offset.checked_add(at) else { break };
            let Some(room) = buffer.get_mut(..want) else { break };
            let Ok(length @ 1..) = file.read_at(room, offset) else { break };
            let chunk = room.get(..length).unwrap_or_default();
            let before = seen.iter().filter(|seen| **seen).count();
            for found in searcher.find_iter(chunk) {
                if let Some(seen) = seen.get_mut(found.pattern().as_usize()) {
                    *seen = true;
                }
            }
            let more = seen.iter().filter(|seen| **seen).count() > before;
            if let (true, Some(allocator)) = (more, named(&texts, &seen, known)) {
                return Found { allocator: Some(allocator), capped: false };
            }
            let step = if length > OVERLAP { length - OVERLAP } else { length };
            // The overlap is for what goes on: at the end it would never end.
            let step = if at + length as u64 >= segment.size { length } else { step } as u64;
            at += step;
            left = left.saturating_sub(step);
        }
    }
    Found { allocator: named(&texts, &seen, known), capped: false }
}

/// The first allocator whose texts have all been seen.
fn named(texts: &[String], seen: &[bool], known: bool) -> Option<&'static str> {
    let has = |mark: &str| {
        let mark = mark.replace('|', "");
        texts.iter().zip(seen).any(|(text, seen)| *seen && *text == mark)
    };
    let enough = |marks: &[&str]| marks.iter().take(if known { 1 } else { marks.len() }).all(|mark| has(mark));
    MARKS.iter().find(|(_, marks)| enough(marks)).map(|(name, _)| *name)
}
