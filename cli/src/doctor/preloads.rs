//! Checks of what else is preloaded, and of other allocators.

use super::finding::Finding;
use super::machine::{Machine, cause};
use crate::terminal::printable;
use jeshim_host::preload;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

const LD_SO_PRELOAD: &str = "/etc/ld.so.preload";

/// Where the dynamic linker looks in any case.
const FOLDERS: [&str; 4] = ["/lib", "/usr/lib", "/lib64", "/usr/lib64"];

/// How the files of other allocators' libraries begin.
const ALLOCATORS: [&str; 14] = [
    "libjemalloc",
    "libtcmalloc",
    "libmimalloc",
    "libtbbmalloc",
    "libsnmalloc",
    "libhardened_malloc",
    "librpmalloc",
    "libscudo",
    "libclang_rt.scudo",
    "libhoard",
    "libmesh",
    "libnedmalloc",
    "libumem",
    "libptmalloc",
];

fn is_allocator(path: &OsStr) -> bool {
    let file = Path::new(path).file_name().unwrap_or_default();
    ALLOCATORS.iter().any(|name| file.as_encoded_bytes().starts_with(name.as_bytes()))
}

fn is_ours(machine: &Machine, name: &OsStr) -> bool {
    preload::is_ours(name, machine.library.as_ref().ok().map(|library| library.path.as_path()))
}

/// What the dynamic linker knows by name: names and paths, from its cache.
fn known_libraries(machine: &Machine) -> Result<Vec<(String, String)>, String> {
    // Not on every user's PATH.
    let program = ["/sbin/ldconfig", "/usr/sbin/ldconfig"].into_iter().find(|path| Path::new(path).exists());
    let program = program.ok_or("there is no ldconfig")?;
    let mut command = Command::new(program);
    command.arg("-p").arg("-C").arg(machine.path("/etc/ld.so.cache")).env_clear();
    let output = command.output().map_err(|error| format!("{program}: {}", cause(&error)))?;
    if !output.status.success() {
        return Err(format!("{program} -p: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    // "\tlibz.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libz.so.1"
    let pair = |line: &str| {
        let (left, path) = line.split_once(" => ")?;
        Some((left.split_whitespace().next()?.to_owned(), path.trim().to_owned()))
    };
    Ok(text.lines().filter_map(pair).collect())
}

/// Whether the dynamic linker will find an entry; `None` when it depends on the program.
fn exists(machine: &Machine, entry: &OsStr) -> Option<bool> {
    let has = |byte: u8| entry.as_encoded_bytes().contains(&byte);
    if has(b'$') {
        return None; // $LIB, $ORIGIN, $PLATFORM
    }
    if Path::new(entry).is_absolute() {
        return Some(machine.has(entry));
    }
    if has(b'/') {
        return Some(Path::new(entry).exists()); // From where the program starts.
    }
    let more = machine.variable("LD_LIBRARY_PATH").unwrap_or_default().to_string_lossy();
    if more.contains('$') {
        return None;
    }
    let more = more.split([':', ';']).filter(|folder| !folder.is_empty());
    let in_folders = FOLDERS.into_iter().chain(more).any(|folder| machine.has(Path::new(folder).join(entry)));
    Some(in_folders || known_libraries(machine).ok()?.iter().any(|(name, _)| entry == name.as_str()))
}

/// What a list of preloads does, whatever it is in.
fn judge(machine: &Machine, place: &str, entries: &[&OsStr]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let ours = entries.iter().position(|entry| is_ours(machine, entry));
    for (position, entry) in entries.iter().enumerate() {
        let shown = printable(entry);
        if exists(machine, entry) == Some(false) {
            findings.push(
                Finding::problem(format!(
                    "{place} names {shown}, which is not there: each program says so as it starts"
                ))
                .remedy(format!("take {shown} out of {place}")),
            );
        } else if is_allocator(entry) && ours.is_some_and(|ours| position < ours) {
            findings.push(
                Finding::problem(format!("{place} names {shown} before jemalloc's library: malloc is taken from that"))
                    .remedy(format!("take {shown} out of {place}")),
            );
        }
    }
    findings
}

/// As text, for a list of facts.
fn texts(entries: &[&OsStr]) -> Vec<String> {
    entries.iter().map(|entry| entry.to_string_lossy().into_owned()).collect()
}

fn names(entries: &[&OsStr]) -> String {
    printable(texts(entries).join(", "))
}

pub(super) fn variable(machine: &Machine) -> Finding {
    let name = preload::VARIABLE;
    let Some(value) = machine.variable(name) else {
        return Finding::ok(format!("{name} is not set"));
    };
    let entries: Vec<&OsStr> = preload::names(value).collect();
    let mut findings = judge(machine, name, &entries);
    let ours = entries.iter().any(|entry| is_ours(machine, entry));
    if let (Some(other), false) = (entries.iter().find(|entry| is_allocator(entry)), ours) {
        let other = printable(other);
        findings.push(Finding::note(format!("{name} names {other}; 'jeshim run' puts its library before it")));
    }
    Finding::worst_of(findings, Finding::ok(format!("{name} names {}", names(&entries))))
        .fact("entries", texts(&entries))
}

/// Whitespace and colons part the names, and `#` begins a comment (glibc, elf/rtld.c). The dynamic linker loads them
/// for every program, setuid ones too, after those of LD_PRELOAD.
pub(super) fn file(machine: &Machine) -> Finding {
    let text = match machine.text(LD_SO_PRELOAD) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Finding::ok(format!("there is no {LD_SO_PRELOAD}"));
        }
        Err(error) => return Finding::unknown(error),
    };
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let entries = lines.flat_map(|line| line.split([' ', '\t', ':'])).filter(|entry| !entry.is_empty());
    let entries: Vec<&OsStr> = entries.map(OsStr::new).collect();
    if entries.is_empty() {
        return Finding::ok(format!("{LD_SO_PRELOAD} names nothing"));
    }
    let mut findings = judge(machine, LD_SO_PRELOAD, &entries);
    for entry in &entries {
        let shown = printable(entry);
        if is_ours(machine, entry) {
            findings.push(Finding::note(format!(
                "{LD_SO_PRELOAD} names {shown}: every program of the machine has it, setuid programs, too"
            )));
        } else if is_allocator(entry) {
            findings.push(Finding::note(format!(
                "{LD_SO_PRELOAD} names {shown}: it serves every program that is not run with LD_PRELOAD, which comes before it"
            )));
        }
    }
    Finding::worst_of(findings, Finding::ok(format!("{LD_SO_PRELOAD} names {}", names(&entries))))
        .fact("entries", texts(&entries))
}

/// With auditors glibc reserves thread-local storage before it knows of preloaded libraries.
pub(super) fn audit(machine: &Machine) -> Finding {
    let Some(auditors) = machine.variable("LD_AUDIT") else { return Finding::ok("LD_AUDIT is not set") };
    let auditors = printable(auditors);
    if machine.trial.recorded("/bound").is_some() {
        return Finding::ok(format!("LD_AUDIT is {auditors}, and the test program ran with it"));
    }
    let tunable = "glibc.rtld.optional_static_tls";
    if machine.variable("GLIBC_TUNABLES").is_some_and(|tunables| tunables.to_string_lossy().contains(tunable)) {
        return Finding::note(format!("LD_AUDIT is {auditors}, and no test program ran with it"));
    }
    Finding::problem(format!("LD_AUDIT is {auditors}: glibc then has too little thread-local storage for jemalloc"))
        .remedy(format!("GLIBC_TUNABLES={tunable}=1024, or unset LD_AUDIT"))
}

pub(super) fn other_allocators(machine: &Machine) -> Finding {
    let known = match known_libraries(machine) {
        Ok(known) => known,
        Err(reason) => return Finding::unknown(printable(reason)),
    };
    let mut found: Vec<String> = Vec::new();
    for (_, path) in known.iter().filter(|(name, _)| is_allocator(OsStr::new(name))) {
        // libtcmalloc.so.4 is a link to libtcmalloc.so.4.5.9, which says the version.
        let file = machine.path(path).canonicalize().unwrap_or_else(|_| Path::new(path).to_owned());
        let file = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if !found.contains(&file) {
            found.push(file);
        }
    }
    let finding = if found.is_empty() {
        Finding::ok("no other allocator is installed as a library")
    } else {
        let list = printable(found.join(", "));
        Finding::note(format!(
            "installed: {list}; a program that links with one takes malloc from the preloaded library all the same"
        ))
    };
    finding.fact("libraries", found)
}
