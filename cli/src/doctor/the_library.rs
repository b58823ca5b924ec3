//! Checks of the library: that it is there, that everybody can read it, that it loads.

use super::finding::Finding;
use super::machine::Machine;
use super::trial::Trial;
use crate::library::{Library, System};
use crate::terminal::{bytes, count, printable};
use jeshim_host::machine::CLibrary;
use jeshim_host::preload;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;

const NO_LIBRARY: &str = "there is no library";

pub(super) fn found(machine: &Machine) -> Finding {
    match &machine.library {
        Ok(library) => {
            let Library { path, version, jemalloc_version, .. } = library;
            Finding::ok(format!("{}: jeshim {version} with jemalloc {jemalloc_version}", printable(path)))
                .fact("path", path.to_string_lossy())
                .fact("version", version.as_str())
                .fact("jemalloc_version", jemalloc_version.as_str())
        }
        // The messages of LibraryError end with the remedy.
        Err(message) => match message.rsplit_once("; ") {
            Some((cause, remedy)) => Finding::problem(printable(cause)).remedy(printable(remedy)),
            None => Finding::problem(printable(message)),
        },
    }
}

/// By the modes: services run as other users, and a library that others can change is code of theirs.
pub(super) fn readable(machine: &Machine) -> Finding {
    let Ok(library) = &machine.library else { return Finding::unknown(NO_LIBRARY) };
    for path in library.path.ancestors() {
        let metadata = match path.metadata() {
            Ok(metadata) => metadata,
            Err(error) => return Finding::unknown(format!("{}: {error}", printable(path))),
        };
        let mode = metadata.mode() & 0o7777;
        let (needed, sticky) = if metadata.is_dir() { (0o001, mode & 0o1000 != 0) } else { (0o004, false) };
        if mode & needed == 0 {
            return Finding::note(format!(
                "{} has mode {mode:04o}: programs of other users cannot load the library",
                printable(path)
            ))
            .remedy("put it where everybody can read it, such as /usr/local/lib/jeshim");
        }
        if mode & 0o002 != 0 && !sticky {
            let path = printable(path);
            return Finding::note(format!("every user can write {path} (mode {mode:04o}), and so change the library"))
                .remedy(format!("chmod o-w {path}"));
        }
    }
    Finding::ok("every user can read it, and the folders on the way")
}

pub(super) fn c_library(machine: &Machine) -> Finding {
    let system = machine.library.as_ref().ok().map(|library| &library.target.system);
    let musl = ["x86_64", "aarch64", "i386", "armhf", "riscv64", "ppc64le", "s390x"]
        .map(|name| format!("/lib/ld-musl-{name}.so.1"))
        .into_iter()
        .find(|path| machine.has(path));
    let glibc = [
        "/lib64/ld-linux-x86-64.so.2",
        "/lib/ld-linux-aarch64.so.1",
        "/lib/ld-linux.so.2",
        "/lib/ld-linux-armhf.so.3",
        "/lib/ld-linux-riscv64-lp64d.so.1",
        "/lib64/ld64.so.2",
    ]
    .into_iter()
    .any(|path| machine.has(path));
    if let (Some(musl), false, None | Some(System::Glibc(_))) = (&musl, glibc, system) {
        return Finding::problem(format!("this is a system of musl ({musl}), and the library is for glibc"))
            .remedy("use a system of glibc, such as an image of Debian or Ubuntu")
            .fact("c_library", "musl");
    }
    let CLibrary::Glibc(major, minor) = machine.c_library else {
        return Finding::unknown("this command does not run on glibc, and cannot ask for its version");
    };
    let also = musl.map_or(String::new(), |_| "; programs of musl, which are here, too, cannot load it".to_owned());
    let finding = match system {
        Some(System::Glibc(Some(needed))) if *needed > (major, minor) => Finding::problem(format!(
            "glibc {major}.{minor} is older than the {}.{} that the library needs",
            needed.0, needed.1
        ))
        .remedy("build the library on this machine, or one as old: cargo build --release"),
        Some(System::Glibc(Some(needed))) => {
            Finding::ok(format!("glibc {major}.{minor}; the library needs {}.{}{also}", needed.0, needed.1))
        }
        _ => Finding::ok(format!("glibc {major}.{minor}{also}")),
    };
    finding.fact("c_library", "glibc").fact("version", format!("{major}.{minor}"))
}

pub(super) fn loads(machine: &Machine) -> Finding {
    match &machine.trial {
        Trial::NoLibrary => Finding::unknown(NO_LIBRARY),
        Trial::NotTried(reason) => Finding::unknown(printable(reason)),
        Trial::TookTooLong { program, limit } => Finding::problem(format!(
            "a test program ({}) with the library did not end within {} s",
            printable(program),
            limit.as_secs()
        ))
        .remedy(format!("try it with {} and MALLOC_CONF unset, to see which of them it is", preload::VARIABLE)),
        Trial::Recorded { program, .. } => recorded(machine, &printable(program)),
        Trial::Silent { program, status, messages } => {
            let program = printable(program);
            if let Some(line) = messages.lines().find(|line| line.starts_with("jeshim[")) {
                return Finding::note(format!("a test program ({program}) had it, but no record: {}", printable(line)));
            }
            let name = preload::FILE_NAME;
            let path = machine.library.as_ref().map(|library| library.path.clone()).unwrap_or_default();
            let path = path.to_string_lossy();
            if let Some(line) = messages.lines().find(|line| line.contains(&*path) || line.contains(name)) {
                let cause = line.trim_start_matches("ERROR: ").trim_end_matches('.');
                return Finding::problem(printable(cause)).remedy(remedy_for(line));
            }
            let said = messages.lines().last().map_or(String::new(), |line| format!(": {}", printable(line)));
            match status.signal() {
                Some(signal) => Finding::problem(format!(
                    "a test program ({program}) with the library was ended by signal {signal}{said}"
                ))
                .remedy(format!("try it with {} and MALLOC_CONF unset, to see which of them it is", preload::VARIABLE)),
                None => Finding::unknown(format!("a test program ({program}) ended without a record ({status}){said}")),
            }
        }
    }
}

fn recorded(machine: &Machine, program: &str) -> Finding {
    let number = |pointer: &str| machine.trial.recorded(pointer).and_then(|value| value.as_u64()).unwrap_or(0);
    let (ours, of) = (number("/bound/ours"), number("/bound/of"));
    let small = number("/served/small_allocations");
    let malloc = machine.trial.recorded("/bound/names/malloc");
    let finding = match malloc.and_then(|value| value.as_str()) {
        Some(other) => Finding::problem(format!(
            "a test program ({program}) loaded it, and took malloc from {}, which comes before it",
            printable(other)
        ))
        .remedy(format!("take that out of {} and /etc/ld.so.preload", preload::VARIABLE)),
        None => Finding::ok(format!(
            "a test program ({program}) had {ours} of {of} names bound to it, and {} served",
            count(small, "small allocation", "small allocations")
        )),
    };
    finding.fact("bound", ours).fact("of", of).fact("small_allocations", small)
}

/// For the messages of glibc's and musl's dynamic linkers.
fn remedy_for(message: &str) -> &'static str {
    let remedies = [
        ("static TLS", "set GLIBC_TUNABLES=glibc.rtld.optional_static_tls=1024, or unset LD_AUDIT"),
        ("wrong ELF class", "name a library for this machine's programs with --lib PATH"),
        ("version `GLIBC_", "build the library on this machine, or one as old: cargo build --release"),
        ("failed to map", "put the library on a file system that is mounted without noexec"),
        ("Permission denied", "let this user read it: chmod a+r, and a+x for the folders on the way"),
        ("cannot open shared object", "look at its mode and whether its whole path can be read by this user"),
        ("file too short", "the file is damaged: build it again, cargo build --release"),
        ("invalid ELF header", "the file is damaged: build it again, cargo build --release"),
    ];
    let found = remedies.iter().find(|(part, _)| message.contains(part));
    found.map_or("LD_DEBUG=all shows what the dynamic linker tried", |(_, remedy)| *remedy)
}

pub(super) fn page_size(machine: &Machine) -> Finding {
    let Ok(library) = &machine.library else { return Finding::unknown(NO_LIBRARY).fact("kernel", machine.page_size) };
    let (kernel, built_for) = (machine.page_size, library.page_size);
    let finding = if built_for == 0 {
        Finding::unknown("the library does not say for which size of pages it was built")
    } else if kernel > built_for {
        Finding::problem(format!(
            "the kernel's pages are of {}, and the library is built for {} at most: jemalloc would not start",
            bytes(kernel),
            bytes(built_for)
        ))
        .remedy(format!("build it for them: JEMALLOC_SYS_WITH_LG_PAGE={} cargo build --release", kernel.max(1).ilog2()))
    } else {
        Finding::ok(format!("pages of {}; the library is built for up to {}", bytes(kernel), bytes(built_for)))
    };
    finding.fact("kernel", kernel).fact("library", built_for)
}
