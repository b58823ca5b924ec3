//! What `--stats` prints, on the standard error that jeshim was given: the program may have closed its own.

use super::stats::Outcome;
use crate::examine::Obstacle;
use crate::record::{Binding, Record, Served};
use crate::terminal::{BAD, BOLD, GOOD, NOTE, bytes, count, printable, styled};
use jeshim_host::launch::Ended;
use std::fmt::Write as _;

/// Names that are shown of those which are not the library's.
const SHOWN: usize = 4;

/// Prints it.
pub(super) fn print(outcome: &Outcome) {
    let _ = std::io::Write::write_all(&mut anstream::stderr(), text(outcome).as_bytes());
}

fn text(outcome: &Outcome) -> String {
    let mut text = String::new();
    let mut line = |label: &str, fact: String| _ = writeln!(text, "  {label:<10}{fact}");
    let program = printable(&outcome.program);
    let head = match outcome.own.last() {
        None => {
            // A missing record alone is no proof: a full disk keeps a process from writing it, too.
            let (known, why) = match &outcome.obstacle {
                Some(Obstacle { cause, remedy, .. }) => (styled(BAD, "not on jemalloc"), format!("{cause}; {remedy}")),
                None => (
                    styled(NOTE, "could not tell"),
                    format!(
                        "the library was not loaded, or could not write it; 'jeshim check -- {program}' tells more"
                    ),
                ),
            };
            line("why", format!("it left no record: {why}"));
            format!("{}: {known}", styled(BOLD, program))
        }
        Some(record) => {
            of_process(record, outcome.ended, &mut line);
            let head = format!("{} (pid {})", styled(BOLD, printable(&record.program)), record.pid);
            let jemalloc = format!("jemalloc {}", release(&record.jemalloc_version));
            match record.is_served() {
                true => format!("{head}: {}", styled(GOOD, format!("served by {jemalloc}"))),
                false if record.finished => {
                    format!("{head}: {}", styled(NOTE, format!("{jemalloc} served it nothing small")))
                }
                false => format!("{head}: {}", styled(NOTE, format!("{jemalloc} was loaded"))),
            }
        }
    };
    if outcome.own.len() > 1 {
        let programs: Vec<String> = outcome.own.iter().map(|record| printable(&record.program)).collect();
        line("executed", programs.join(", then "));
    }
    let mut pids: Vec<(u32, bool)> = outcome.others.iter().map(|record| (record.pid, record.is_served())).collect();
    // A process has a record for each program that it executed; served once is served.
    pids.sort_unstable_by_key(|(pid, served)| (*pid, !served));
    pids.dedup_by_key(|(pid, _)| *pid);
    if !pids.is_empty() {
        let served = pids.iter().filter(|(_, served)| *served).count() as u64;
        let processes = count(pids.len() as u64, "other process", "other processes");
        line("children", format!("{processes} loaded the library; {served} of them served"));
    }
    if let Some((running, folder)) = &outcome.running {
        let processes = count(*running, "process still runs", "processes still run");
        line("running", format!("{processes}; records are in {}", printable(folder)));
    }
    format!("{} {head}\n{text}", styled(BOLD, "jeshim:"))
}

/// The lines about the program itself.
fn of_process(record: &Record, ended: Ended, line: &mut impl FnMut(&str, String)) {
    match &record.served {
        Some(served) if record.finished => counts(served, line),
        _ => line("counts", format!("none: {}; they are written at exit", unfinished(ended))),
    }
    let bound = &record.bound;
    line("names", format!("{} of {} are the library's", bound.ours, bound.of));
    let others = bound.names.iter().filter_map(|(name, binding)| match binding {
        Binding::Other(path) => Some((name, path)),
        Binding::Ours(_) => None,
    });
    for (name, path) in others.clone().take(SHOWN) {
        line("", format!("{} is {}'s", printable(name), printable(path)));
    }
    let more = others.count().saturating_sub(SHOWN) as u64;
    if more > 0 {
        line("", format!("and {}", count(more, "more name is somebody else's", "more names are somebody else's")));
    }
}

/// Why a process has not completed its record.
fn unfinished(ended: Ended) -> String {
    match ended {
        Ended::Killed(signal) => format!("signal {} ended it", jeshim_host::launch::signal_name(signal)),
        Ended::Exited(_) => {
            "it ended by _exit or quick_exit, or executed a program that the library could not be loaded into"
                .to_owned()
        }
    }
}

fn counts(served: &Served, line: &mut impl FnMut(&str, String)) {
    for (size, allocations, allocated, frees) in [
        ("small", served.small_allocations, served.small_bytes, served.small_frees),
        ("large", served.large_allocations, served.large_bytes, served.large_frees),
    ] {
        let allocations = count(allocations, "allocation", "allocations");
        line(size, format!("{allocations}, {}; {}", bytes(allocated), count(frees, "free", "frees")));
    }
    let totals = [
        ("allocated", served.allocated, "in blocks that were not freed"),
        ("active", served.active, "in pages that hold such blocks"),
        ("resident", served.resident, "in memory, with free pages and jemalloc's own"),
        ("mapped", served.mapped, "of address space in use"),
        ("retained", served.retained, "of address space kept for later, without memory behind it"),
    ];
    for (index, (name, number, meaning)) in totals.into_iter().enumerate() {
        line(if index == 0 { "at exit" } else { "" }, format!("{name:<10}{:>11}  {meaning}", bytes(number)));
    }
}

/// "5.3.1" of "5.3.1-0-g81034ce…".
fn release(version: &str) -> String {
    printable(version.split('-').next().unwrap_or(version))
}
