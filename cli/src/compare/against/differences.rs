//! What is different about two results, apart from what was measured.

use crate::compare::results::{Comparison, Machine, Participant};
use crate::terminal::printable;
use std::collections::BTreeSet;

/// A line for each thing that is different between a result and an older one.
pub fn differences(new: &Comparison, old: &Comparison) -> Vec<String> {
    let mut lines = Vec::new();
    differ(&mut lines, "jeshim", &new.jeshim, &old.jeshim);
    machines(&mut lines, &new.machine, &old.machine);
    let kind = |server: bool| if server { "a server" } else { "a program that ends by itself" };
    differ(&mut lines, "what was run", kind(new.server), kind(old.server));
    let label = |of: &Comparison| of.participants.get(of.baseline).map(|baseline| baseline.label.clone());
    maybe_differ(&mut lines, "the baseline", label(new), label(old));
    for one in &new.participants {
        if let Some(other) = old.participants.iter().find(|other| other.label == one.label) {
            participants(&mut lines, one, other);
        }
    }
    for one in &new.points {
        if let Some(other) = old.points.iter().find(|other| other.name() == one.name()) {
            let name = one.name();
            let what = if name.is_empty() { "the command".to_owned() } else { format!("the command of {name}") };
            differ(&mut lines, &what, &one.words.join(" "), &other.words.join(" "));
        }
    }
    for one in &new.figures {
        if old.figures.iter().any(|other| other.id == one.id && other.higher_is_better != one.higher_is_better) {
            lines.push(format!(
                "which direction of {} is better has changed: that of now is used",
                printable(&one.name)
            ));
        }
    }
    only(&mut lines, "participant", labels(new), labels(old));
    only(&mut lines, "point", names(new), names(old));
    only(&mut lines, "figure", figures(new), figures(old));
    for (comparison, which) in [(new, "this result"), (old, "the older result")] {
        if comparison.interrupted {
            lines.push(format!("{which} was interrupted before it was complete"));
        }
    }
    lines
}

fn machines(lines: &mut Vec<String>, new: &Machine, old: &Machine) {
    let whole = |number: u64| Some(number.to_string()).filter(|_| number > 0);
    let boost = |boost: bool| if boost { "on" } else { "off" };
    maybe_differ(lines, "the system", Some(&new.system), Some(&old.system));
    maybe_differ(lines, "the distribution", new.distribution.as_ref(), old.distribution.as_ref());
    maybe_differ(lines, "the processor", new.processor.as_ref(), old.processor.as_ref());
    maybe_differ(lines, "the number of processors", whole(new.processors.into()), whole(old.processors.into()));
    maybe_differ(lines, "the container's limit of processors", new.quota, old.quota);
    maybe_differ(lines, "the frequency governor", new.governor.as_ref(), old.governor.as_ref());
    maybe_differ(lines, "boost", new.boost.map(boost), old.boost.map(boost));
    maybe_differ(lines, "transparent huge pages", new.huge_pages.as_ref(), old.huge_pages.as_ref());
    maybe_differ(lines, "the machine's memory in bytes", new.memory, old.memory);
    maybe_differ(lines, "the container's limit of memory in bytes", new.memory_limit, old.memory_limit);
    maybe_differ(lines, "the page size", whole(new.page_size), whole(old.page_size));
    maybe_differ(lines, "the C library", new.c_library.as_ref(), old.c_library.as_ref());
}

fn participants(lines: &mut Vec<String>, new: &Participant, old: &Participant) {
    let label = printable(&new.label);
    differ(lines, &format!("the allocator of {label}"), &new.allocator, &old.allocator);
    maybe_differ(lines, &format!("the version of {label}"), new.version.as_ref(), old.version.as_ref());
    // The same library may lie elsewhere: its name and version tell.
    let names: BTreeSet<&String> = new.variables.keys().chain(old.variables.keys()).collect();
    for name in names.into_iter().filter(|name| *name != "LD_PRELOAD") {
        maybe_differ(lines, &format!("{name} of {label}"), new.variables.get(name), old.variables.get(name));
    }
}

fn labels(of: &Comparison) -> Vec<String> {
    of.participants.iter().map(|participant| participant.label.clone()).collect()
}

fn names(of: &Comparison) -> Vec<String> {
    of.points.iter().map(super::super::results::Point::name).collect()
}

fn figures(of: &Comparison) -> Vec<String> {
    of.figures.iter().map(|figure| figure.id.clone()).collect()
}

/// Names that are in one of them only.
fn only(lines: &mut Vec<String>, what: &str, new: Vec<String>, old: Vec<String>) {
    for (these, those, which) in [(&new, &old, "this result"), (&old, &new, "the older result")] {
        for name in these.iter().filter(|name| !those.contains(name)) {
            let name = if name.is_empty() { "without a name".to_owned() } else { printable(name) };
            lines.push(format!("the {what} {name} is in {which} only"));
        }
    }
}

fn maybe_differ(lines: &mut Vec<String>, what: &str, new: Option<impl ToString>, old: Option<impl ToString>) {
    let text = |value: Option<String>| value.unwrap_or_else(|| "nothing".to_owned());
    differ(lines, what, &text(new.map(|value| value.to_string())), &text(old.map(|value| value.to_string())));
}

fn differ(lines: &mut Vec<String>, what: &str, new: &str, old: &str) {
    if new != old {
        lines.push(format!("{} is different: {} now, {} then", printable(what), printable(new), printable(old)));
    }
}
