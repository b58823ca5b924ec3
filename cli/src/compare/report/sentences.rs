//! What is said in sentences: findings, the machine, how it was measured, how to do it again.

use super::numbers::bytes;
use super::table::label;
use crate::compare::results::{Comparison, Finding};
use crate::terminal::{count, printable};

/// A finding, with who and what it is about.
pub(super) fn finding(comparison: &Comparison, finding: &Finding) -> String {
    let text = printable(&finding.text);
    let who = finding.participant.map(|participant| label(comparison, participant));
    let several = comparison.points.len() > 1;
    let point = finding.point.filter(|_| several).and_then(|point| comparison.points.get(point));
    let about: Vec<String> = who.into_iter().chain(point.map(|point| printable(point.name()))).collect();
    if about.is_empty() {
        return text;
    }
    format!("{}: {text}", about.join(", "))
}

/// The machine and its state, in a line.
pub(super) fn machine(comparison: &Comparison) -> String {
    let machine = &comparison.machine;
    let processors = match machine.quota {
        Some(quota) => format!("{} of which the container may use {quota:.1}", processors(machine.processors)),
        None => processors(machine.processors),
    };
    let memory = match (machine.memory, machine.memory_limit) {
        (Some(memory), Some(limit)) => Some(format!("{} of memory, limited to {}", bytes(memory), bytes(limit))),
        (Some(memory), None) => Some(format!("{} of memory", bytes(memory))),
        (None, limit) => limit.map(|limit| format!("memory limited to {}", bytes(limit))),
    };
    let parts = [
        Some(printable(&machine.system)).filter(|system| !system.is_empty()),
        machine.distribution.as_deref().map(printable),
        machine.c_library.as_deref().map(printable),
        machine.processor.as_deref().map(printable),
        (machine.processors > 0).then_some(processors),
        memory,
        machine.governor.as_deref().map(|governor| format!("governor {}", printable(governor))),
        machine.boost.map(|boost| format!("boost {}", if boost { "on" } else { "off" })),
        machine.huge_pages.as_deref().map(|pages| format!("transparent huge pages {}", printable(pages))),
        (machine.page_size > 0).then(|| format!("pages of {}", bytes(machine.page_size))),
        machine.load.map(|(before, after)| format!("load {before:.2} before, {after:.2} after")),
        Some(format!("jeshim {}", printable(&comparison.jeshim))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn processors(number: u32) -> String {
    count(number.into(), "processor", "processors")
}

/// How many rounds and runs, how long, and when: a sentence without a full stop.
pub(super) fn measured(comparison: &Comparison) -> String {
    let runs = comparison.runs.len();
    let failed = comparison.runs.iter().filter(|run| run.failure.is_some()).count();
    let rounds = comparison.runs.iter().map(|run| run.round.saturating_add(1)).max().unwrap_or(0);
    let points = match comparison.points.len() {
        0 | 1 => String::new(),
        several => format!(" of {several} points"),
    };
    let failed = match failed {
        0 => String::new(),
        1 => ", 1 of which does not count".to_owned(),
        several => format!(", {several} of which do not count"),
    };
    let interrupted = if comparison.interrupted { "; interrupted before it was complete" } else { "" };
    format!(
        "{}{points}, {}{failed}, in {}, begun {}{interrupted}",
        count(rounds.into(), "round", "rounds"),
        count(runs.try_into().unwrap_or(u64::MAX), "run", "runs"),
        duration(comparison.took),
        date(comparison.started),
    )
}

/// Figures that are not in the tables.
pub(super) fn left_out(number: usize) -> String {
    format!("{}: --all", count(number.try_into().unwrap_or(u64::MAX), "more figure", "more figures"))
}

/// The command that does it again.
pub(super) fn repeat(comparison: &Comparison) -> Option<String> {
    let words = ["jeshim"].into_iter().chain(comparison.asked.iter().map(String::as_str));
    (!comparison.asked.is_empty()).then(|| words.map(quoted).collect::<Vec<_>>().join(" "))
}

/// A word as a POSIX shell reads it.
fn quoted(word: &str) -> String {
    let harmless = |c: char| c.is_alphanumeric() || "-_=/.,:+%@".contains(c);
    let word = printable(word);
    if !word.is_empty() && word.chars().all(harmless) { word } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// "2 min 5 s", "0.8 s".
fn duration(seconds: f64) -> String {
    let whole = seconds.max(0.0).round();
    // A float that is too large becomes the largest integer.
    let whole = whole as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, 0..10) => format!("{:.1} s", seconds.max(0.0)),
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// "2026-11-30 14:05 UTC", from seconds since 1970.
pub(super) fn date(seconds: u64) -> String {
    let (mut day, minute) = (seconds / 86_400, seconds / 60 % 1440);
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    // Whole cycles of 400 years first, so that no number makes a long loop.
    let mut year = (day / 146_097).saturating_mul(400).saturating_add(1970);
    day %= 146_097;
    let days_of = |year| if is_leap(year) { 366 } else { 365 };
    while day >= days_of(year) {
        day = day.saturating_sub(days_of(year));
        year = year.saturating_add(1);
    }
    let mut month = 1_u64;
    for days in [31, if is_leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if day < days {
            break;
        }
        day = day.saturating_sub(days);
        month = month.saturating_add(1);
    }
    format!("{year}-{month:02}-{:02} {:02}:{:02} UTC", day.saturating_add(1), minute / 60, minute % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (1_709_251_199, "2024-02-29 23:59 UTC"),
            (1_709_251_200, "2024-03-01 00:00 UTC"),
            (1_796_083_140, "2026-11-30 23:59 UTC"),
            (1_798_761_599, "2026-12-31 23:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
        ] {
            assert_eq!(date(seconds), text);
        }
        // Comes to an end.
        assert!(date(u64::MAX).ends_with("UTC"));
    }

    #[test]
    fn durations_have_two_units_at_most() {
        for (seconds, text) in
            [(0.84, "0.8 s"), (59.2, "59 s"), (125.0, "2 min 5 s"), (7261.0, "2 h 1 min"), (-1.0, "0.0 s")]
        {
            assert_eq!(duration(seconds), text);
        }
    }

    #[test]
    fn a_command_can_be_pasted() {
        let asked = ["compare", "--metric", "it's=(\\d+)", "--", "./x", ""].map(str::to_owned).to_vec();
        let comparison = Comparison { asked, ..Comparison::default() };
        assert_eq!(repeat(&comparison).as_deref(), Some("jeshim compare --metric 'it'\\''s=(\\d+)' -- ./x ''"));
        assert_eq!(repeat(&Comparison::default()), None);
    }
}
