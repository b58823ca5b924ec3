//! Checks of this process's limits (`ulimit`), which programs that it starts inherit.

use super::finding::Finding;
use super::machine::Machine;
use crate::terminal::bytes;
use jeshim_host::machine::{self, Limits};

/// A proof record is 5 KB.
const RECORD: u64 = 16 << 10;
/// Threads have stacks of this size when the program does not say otherwise; glibc's own minimum is 16 KiB.
const SMALL_STACK: u64 = 256 << 10;

fn with(which: fn(&Limits) -> Option<u64>, judge: fn(u64) -> Finding, unlimited: &str) -> Finding {
    match machine::limits() {
        Ok(limits) => match which(&limits) {
            Some(limit) => judge(limit).fact("limit", limit),
            None => Finding::ok(unlimited).fact("limit", serde_json::Value::Null),
        },
        Err(error) => Finding::unknown(format!("getrlimit: {error}")),
    }
}

pub(super) fn address_space(_: &Machine) -> Finding {
    let judge = |limit| {
        Finding::note(format!(
            "the address space is limited to {} (ulimit -v), and what jemalloc reserves counts: malloc fails there",
            bytes(limit)
        ))
        .remedy("ulimit -v unlimited; to bound memory in use, a control group")
    };
    with(|limits| limits.address_space, judge, "the address space is not limited (ulimit -v)")
}

pub(super) fn data(_: &Machine) -> Finding {
    let judge = |limit| {
        Finding::note(format!(
            "data is limited to {} (ulimit -d), and all that jemalloc maps counts: malloc fails there",
            bytes(limit)
        ))
        .remedy("ulimit -d unlimited; to bound memory in use, a control group")
    };
    with(|limits| limits.data, judge, "data is not limited (ulimit -d)")
}

pub(super) fn stack(_: &Machine) -> Finding {
    let judge = |limit| {
        if limit < SMALL_STACK {
            Finding::note(format!("stacks are limited to {} (ulimit -s): deep calls end a program", bytes(limit)))
                .remedy("ulimit -s 8192")
        } else {
            Finding::ok(format!("stacks are limited to {} (ulimit -s)", bytes(limit)))
        }
    };
    with(|limits| limits.stack, judge, "stacks are not limited (ulimit -s)")
}

pub(super) fn file_size(_: &Machine) -> Finding {
    let judge = |limit| {
        if limit < RECORD {
            Finding::note(format!(
                "files are limited to {} (ulimit -f): proof records do not fit, and 'jeshim check' cannot tell",
                bytes(limit)
            ))
            .remedy("ulimit -f unlimited")
        } else {
            Finding::ok(format!("files are limited to {} (ulimit -f)", bytes(limit)))
        }
    };
    with(|limits| limits.file_size, judge, "the size of files is not limited (ulimit -f)")
}

pub(super) fn core(_: &Machine) -> Finding {
    let judge = |limit| {
        if limit == 0 {
            Finding::ok("core files are off (ulimit -c)")
        } else {
            Finding::ok(format!("core files are limited to {} (ulimit -c)", bytes(limit)))
        }
    };
    with(|limits| limits.core, judge, "core files are not limited (ulimit -c)")
}
