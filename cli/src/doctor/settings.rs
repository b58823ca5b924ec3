//! Checks of where options come from: what is set, what of it is wrong, and what has no effect.

use super::finding::Finding;
use super::machine::{Machine, cause};
use crate::options;
use crate::terminal::printable;
use std::io::ErrorKind;

const FILE: &str = "/etc/malloc.conf";
/// The library's own variables (docs/options.md), with the values that they take; none: any.
const OURS: [(&str, &[&str]); 3] =
    [("JESHIM_REPORT", &[]), ("JESHIM_CHILDREN", &["inherit", "strip"]), ("JESHIM_DEEPBIND", &["clear", "keep"])];
/// glibc's variables (`man 3 mallopt`, `man 3 mtrace`), and the options of jemalloc that come nearest.
const GLIBC: [(&str, Option<&str>); 9] = [
    ("MALLOC_ARENA_MAX", Some("narenas:N")),
    ("MALLOC_ARENA_TEST", None),
    ("MALLOC_TRIM_THRESHOLD_", Some("dirty_decay_ms:N")),
    ("MALLOC_TOP_PAD_", None),
    ("MALLOC_MMAP_THRESHOLD_", None),
    ("MALLOC_MMAP_MAX_", None),
    ("MALLOC_PERTURB_", Some("junk:true")),
    ("MALLOC_CHECK_", None),
    ("MALLOC_TRACE", None),
];

/// Checks a string of jemalloc's options; `place` is where it is set.
fn judge(machine: &Machine, place: &str, text: &str) -> Finding {
    let Ok(library) = &machine.library else {
        return Finding::unknown(format!("there is no library to ask about the options in {place}"));
    };
    let finding = match options::check(text, library) {
        Ok(()) => Finding::ok(format!("{place} has {}", printable(text))),
        Err(mistake) => {
            let mistake = mistake.to_string();
            let (cause, remedy) = mistake.split_once("; ").unwrap_or((&mistake, "correct it"));
            Finding::problem(format!("{place}: {cause}")).remedy(remedy)
        }
    };
    finding.fact("value", text)
}

/// jemalloc reads where the symbolic link points to, as text, and nothing else.
pub(super) fn etc_malloc_conf(machine: &Machine) -> Finding {
    let path = machine.path(FILE);
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => Finding::ok(format!("there is no {FILE}")),
        Err(error) => Finding::unknown(format!("{FILE}: {}", cause(&error))),
        Ok(metadata) if !metadata.is_symlink() => {
            Finding::note(format!("{FILE} is not a symbolic link: jemalloc reads what one points to, and no file"))
                .remedy(format!("ln -sfn 'NAME:VALUE' {FILE}"))
        }
        Ok(_) => match path.read_link() {
            Ok(target) => judge(machine, FILE, &target.to_string_lossy()),
            Err(error) => Finding::unknown(format!("{FILE}: {}", cause(&error))),
        },
    }
}

pub(super) fn malloc_conf(machine: &Machine) -> Finding {
    match machine.variable("MALLOC_CONF") {
        None => Finding::ok("MALLOC_CONF is not set"),
        Some(value) => judge(machine, "MALLOC_CONF", &value.to_string_lossy()),
    }
}

pub(super) fn ours(machine: &Machine) -> Finding {
    let mut findings = Vec::new();
    let mut set = Vec::new();
    for (name, value) in &machine.variables {
        let name = name.to_string_lossy();
        if !name.starts_with("JESHIM_") || value.is_empty() {
            continue;
        }
        let (shown, value) = (printable(&*name), printable(value));
        match OURS.iter().find(|(known, _)| *known == name) {
            None => {
                let nearest = options::nearest(&name, OURS.iter().map(|(known, _)| *known));
                let meant = nearest.map_or(String::new(), |nearest| format!("; the nearest is {nearest}"));
                findings.push(
                    Finding::note(format!("{shown} is not a variable that the library reads{meant}"))
                        .remedy(format!("unset {shown}")),
                );
            }
            Some((_, values)) if !values.is_empty() && !values.contains(&value.as_str()) => findings.push(
                Finding::problem(format!("{shown} does not take '{value}'; the default is used"))
                    .remedy(format!("set it to {}, or unset it", values.join(" or "))),
            ),
            Some(_) => set.push(format!("{shown}={value}")),
        }
    }
    let otherwise = if set.is_empty() { "no variable JESHIM_... is set".to_owned() } else { set.join(", ") };
    Finding::worst_of(findings, Finding::ok(otherwise))
}

pub(super) fn prefixed(machine: &Machine) -> Finding {
    let name = "_RJEM_MALLOC_CONF";
    match machine.variable(name) {
        None => Finding::ok(format!("{name} is not set")),
        Some(_) => Finding::note(format!("{name} is set, and the library does not read it"))
            .remedy("put its options into MALLOC_CONF"),
    }
}

pub(super) fn glibc_tunables(machine: &Machine) -> Finding {
    let value = machine.variable("GLIBC_TUNABLES").unwrap_or_default().to_string_lossy();
    let tunables = value.split(':').filter_map(|pair| pair.split('=').next());
    let of_malloc: Vec<&str> = tunables.filter(|name| name.starts_with("glibc.malloc.")).collect();
    if of_malloc.is_empty() {
        return Finding::ok("GLIBC_TUNABLES has nothing for malloc");
    }
    let list = printable(of_malloc.join(", "));
    Finding::note(format!("GLIBC_TUNABLES has {list}: glibc's malloc reads that, and jemalloc does not"))
        .remedy("use jemalloc's options: MALLOC_CONF")
}

pub(super) fn glibc_variables(machine: &Machine) -> Finding {
    let is_set = |(name, _): &&(&str, Option<&str>)| machine.variable(name).is_some();
    let set: Vec<_> = GLIBC.iter().filter(is_set).collect();
    if set.is_empty() {
        return Finding::ok("no variable of glibc's malloc is set (MALLOC_ARENA_MAX and others)");
    }
    let names: Vec<&str> = set.iter().map(|(name, _)| *name).collect();
    let finding = Finding::note(format!("{}: glibc's malloc reads that, and jemalloc does not", names.join(", ")));
    let options: Vec<&str> = set.iter().filter_map(|(_, option)| *option).collect();
    let finding = if options.is_empty() {
        finding
    } else {
        finding.remedy(format!("in jemalloc: MALLOC_CONF={}", options.join(",")))
    };
    finding.fact("variables", names)
}
