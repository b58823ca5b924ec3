//! Checks of how the kernel hands out memory, and what that means for jemalloc.

use super::finding::Finding;
use super::groups::{self, Bound};
use super::machine::Machine;
use crate::terminal::{bytes, printable};
use jeshim_host::machine;
use std::io;

const HUGE: &str = "/sys/kernel/mm/transparent_hugepage";
/// Below this much left of the commit limit, programs are about to be refused memory.
const LITTLE: u64 = 256 << 20;
/// The kernel's default of `vm.max_map_count`.
const MAPS: i64 = 65530;

/// The word in brackets: `always [madvise] never`.
fn chosen(machine: &Machine, file: &str) -> io::Result<String> {
    let path = format!("{HUGE}/{file}");
    let text = machine.text(&path)?;
    let word = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    word.map(str::to_owned).ok_or_else(|| io::Error::other(format!("{path} has no word in brackets")))
}

pub(super) fn huge_pages(machine: &Machine) -> Finding {
    let mode = match chosen(machine, "enabled") {
        Ok(mode) => mode,
        Err(error) => return Finding::unknown(error),
    };
    let finding = match mode.as_str() {
        "always" => Finding::note(
            "transparent huge pages are 'always': a page in use can keep a whole huge page resident, so programs grow",
        )
        .remedy(format!("MALLOC_CONF=thp:never for a program; for all, as root: echo madvise > {HUGE}/enabled")),
        "madvise" => {
            Finding::ok("transparent huge pages are 'madvise': jemalloc's memory gets them only with thp:always")
        }
        "never" => Finding::ok("transparent huge pages are 'never': thp:always would have no effect"),
        other => Finding::ok(format!("transparent huge pages are '{}'", printable(other))),
    };
    finding.fact("mode", mode)
}

pub(super) fn huge_pages_defrag(machine: &Machine) -> Finding {
    let mode = match chosen(machine, "defrag") {
        Ok(mode) => mode,
        Err(error) => return Finding::unknown(error),
    };
    let everywhere = chosen(machine, "enabled").is_ok_and(|enabled| enabled == "always");
    let finding = if mode == "always" && everywhere {
        Finding::note("defrag is 'always': a program that touches new memory can wait while the kernel joins pages")
            .remedy(format!("as root: echo madvise > {HUGE}/defrag"))
    } else {
        Finding::ok(format!("defrag is '{}'", printable(&mode)))
    };
    finding.fact("mode", mode)
}

pub(super) fn overcommit(machine: &Machine) -> Finding {
    let mode = match machine.number("/proc/sys/vm/overcommit_memory") {
        Ok(mode) => mode,
        Err(error) => return Finding::unknown(error),
    };
    let finding = match (mode, machine::memory(&machine.root)) {
        (2, Ok(machine::Memory { commit_limit: Some(limit), committed, .. })) => {
            let left = limit.saturating_sub(committed);
            let says = format!(
                "vm.overcommit_memory is 2: malloc fails when what is promised reaches {}, and {} are left",
                bytes(limit),
                bytes(left)
            );
            let finding = if left < LITTLE { Finding::problem(says) } else { Finding::note(says) };
            finding
                .remedy("as root: sysctl vm.overcommit_memory=0, or a larger vm.overcommit_ratio")
                .fact("commit_limit", limit)
                .fact("committed", committed)
        }
        (2, _) => Finding::note("vm.overcommit_memory is 2: malloc fails at a limit that could not be read")
            .remedy("as root: sysctl vm.overcommit_memory=0"),
        (0 | 1, _) => Finding::ok(format!("vm.overcommit_memory is {mode}: what jemalloc reserves costs nothing")),
        _ => Finding::unknown(format!("vm.overcommit_memory is {mode}, which is not known")),
    };
    finding.fact("mode", mode)
}

pub(super) fn map_count(machine: &Machine) -> Finding {
    let count = match machine.number("/proc/sys/vm/max_map_count") {
        Ok(count) => count,
        Err(error) => return Finding::unknown(error),
    };
    let finding = if count < MAPS {
        Finding::note(format!(
            "vm.max_map_count is {count}, below the usual {MAPS}: malloc fails when a process has as many maps"
        ))
        .remedy(format!("as root: sysctl vm.max_map_count={MAPS}"))
    } else {
        Finding::ok(format!("vm.max_map_count is {count}"))
    };
    finding.fact("max_map_count", count)
}

pub(super) fn swap(machine: &Machine) -> Finding {
    match machine::memory(&machine.root) {
        Ok(memory) => {
            let swap = if memory.swap == 0 { "no swap".to_owned() } else { format!("{} of swap", bytes(memory.swap)) };
            Finding::ok(format!("{} of memory, {swap}", bytes(memory.total)))
                .fact("memory", memory.total)
                .fact("swap", memory.swap)
        }
        Err(error) => Finding::unknown(format!("/proc/meminfo: {error}")),
    }
}

pub(super) fn group_limit(machine: &Machine) -> Finding {
    let bound = match groups::memory_limit(machine) {
        Ok(Some(bound)) => bound,
        Ok(None) => return Finding::ok("no control group limits memory"),
        Err(error) => return Finding::unknown(error),
    };
    let Bound { group, value: limit } = bound;
    let group = printable(group);
    let finding = match machine::memory(&machine.root) {
        // Version 1 has a number of bytes also where nothing is limited.
        Ok(memory) if limit >= memory.total => {
            Finding::ok("no control group limits memory to less than the machine has")
        }
        _ => {
            let decay = machine.trial.recorded("/options/effective/dirty_decay_ms").and_then(|value| value.as_i64());
            let kept = match decay {
                Some(-1) => "keeps freed pages for good (dirty_decay_ms is -1)".to_owned(),
                Some(0) => "gives freed pages back at once (dirty_decay_ms is 0)".to_owned(),
                Some(ms) => format!("keeps freed pages for up to {ms} ms (dirty_decay_ms)"),
                None => "keeps freed pages for a while (dirty_decay_ms)".to_owned(),
            };
            let says = format!(
                "the control group {group} limits memory to {}; jemalloc does not know of it, and {kept}",
                bytes(limit)
            );
            match decay {
                Some(0..=1000) => Finding::ok(says),
                _ => Finding::note(says).remedy("where it is tight: MALLOC_CONF=dirty_decay_ms:1000"),
            }
        }
    };
    finding.fact("limit", limit).fact("group", group)
}
