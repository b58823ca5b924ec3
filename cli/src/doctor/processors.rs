//! Checks of the CPUs that this process has, and what the library makes of them.

use super::finding::Finding;
use super::groups::{self, Bound};
use super::machine::Machine;
use crate::terminal::{count, printable};
use jeshim_host::machine;

/// CPUs in a list of the kernel's: `0-3,8`.
fn in_list(text: &str) -> Option<u32> {
    text.split(',').try_fold(0_u32, |sum, range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        sum.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

fn affinity(machine: &Machine) -> Option<u32> {
    machine::confinement(&machine.root).ok()?.cpus_allowed
}

pub(super) fn affinity_mask(machine: &Machine) -> Finding {
    let Some(allowed) = affinity(machine) else {
        return Finding::unknown("/proc/self/status does not say which CPUs are allowed");
    };
    let online = machine.text("/sys/devices/system/cpu/online").ok().and_then(|text| in_list(&text));
    let of = online.map_or(String::new(), |online| format!(" of the machine's {online}"));
    let finding = Finding::ok(format!("this process may run on {}{of}", count(allowed.into(), "CPU", "CPUs")));
    finding.fact("allowed", allowed).fact("online", online)
}

pub(super) fn quota(machine: &Machine) -> Finding {
    let Bound { group, value: cpus } = match groups::cpu_quota(machine) {
        Ok(Some(bound)) => bound,
        Ok(None) => return Finding::ok("no control group has a quota of CPU time"),
        Err(error) => return Finding::unknown(error),
    };
    let group = printable(group);
    let whole = cpus.ceil().max(1.0);
    let affinity = affinity(machine);
    let says = format!("the control group {group} has a quota of {cpus:.2} CPUs");
    let set = machine.trial.recorded("/options/sources/jeshim_defaults").and_then(|value| value.as_str());
    let finding = match (set, affinity) {
        (_, Some(affinity)) if whole >= f64::from(affinity) => Finding::ok(format!("{says}, as many as it may run on")),
        (Some(set), _) => Finding::ok(format!("{says}: the library sets {}", printable(set))),
        (None, _) if machine.trial.recorded("/options").is_none() => Finding::ok(says),
        (None, _) => {
            let arenas = if whole > 1.0 { whole * 4.0 } else { 1.0 };
            Finding::note(format!("{says}, and the library did not see it: jemalloc makes arenas for all CPUs"))
                .remedy(format!("MALLOC_CONF=narenas:{arenas:.0}"))
        }
    };
    finding.fact("cpus", cpus).fact("group", group).fact("jeshim_defaults", set)
}

pub(super) fn arenas(machine: &Machine) -> Finding {
    match machine.trial.recorded("/options/effective/narenas").and_then(|value| value.as_u64()) {
        Some(arenas) => Finding::ok(format!("jemalloc makes up to {} here", count(arenas, "arena", "arenas")))
            .fact("narenas", arenas),
        None => Finding::unknown("no test program said how many arenas jemalloc makes"),
    }
}

#[cfg(test)]
mod tests {
    use super::in_list;

    #[test]
    fn lists_of_cpus_are_counted() {
        assert_eq!(in_list("0"), Some(1));
        assert_eq!(in_list("0-3,8,10-11"), Some(7));
        for nonsense in ["", "-", "3-1", "0-4294967295", "a", "0-4294967294,0-4294967294"] {
            assert_eq!(in_list(nonsense), None, "{nonsense}");
        }
    }
}
