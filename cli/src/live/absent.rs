//! Why the library is not in a process.

use super::objects::Object;
use super::report::Reason;
use crate::library::Library;
use crate::terminal::printable;
use jeshim_host::live::Process;
use jeshim_host::preload;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The most telling reason that shows.
pub fn why(process: &Process, objects: &[Object]) -> Reason {
    let Some(program) = objects.iter().find(|object| object.is_program) else {
        return started(process);
    };
    let name = printable(&program.path);
    let interpreter = program.image.interpreter();
    if interpreter.is_none() && objects.len() == 1 {
        return Reason::new(
            "static",
            format!("{name} is linked statically, and no dynamic linker runs that would load anything"),
            "link jemalloc in, or use a dynamically linked build of the program",
        );
    }
    if program.image.bits != 64 {
        return Reason::new(
            "word_size",
            format!("{name} is a 32-bit program, which a 64-bit library cannot be loaded into"),
            "use a 64-bit build of the program",
        );
    }
    if interpreter.is_some_and(|path| path.contains("/ld-musl-")) {
        return Reason::new(
            "musl",
            format!("{name} is a program of musl, which a library for glibc cannot be loaded into"),
            "preload a libjeshim.so that was built for musl",
        );
    }
    if process.is_secure() == Some(true) {
        return Reason::new(
            "secure",
            format!(
                "{name} was started with the rights of another user, group or capabilities, and LD_PRELOAD is ignored then"
            ),
            "name the library in /etc/ld.so.preload, which is for every program of the machine, or take these rights from the file",
        );
    }
    started(process)
}

/// Which file it is, in the process's view of files, is asked afterwards.
fn is_ours(name: &OsStr) -> bool {
    preload::is_ours(name, None)
}

/// What the environment tells with which it was started.
fn started(process: &Process) -> Reason {
    let variable = preload::VARIABLE;
    let Some(environment) = process.environment() else {
        return Reason::new(
            "not_loaded",
            "no library of jeshim is loaded, and the process's environment may not be read to say why",
            "look again as root",
        );
    };
    let Some(value) = value_of(&environment).filter(|value| !value.is_empty()) else {
        let parents = process.environment_of_parent().unwrap_or_default();
        if value_of(&parents).is_some_and(|value| preload::names(value).any(is_ours)) {
            return Reason::new(
                "environment_cleared",
                format!("it was started without {variable}, though its parent, process {}, has it", process.parent),
                "look at how it is started: env -i, sudo, su and services pass the variable on only when told to",
            );
        }
        return Reason::new(
            "not_preloaded",
            format!("it was started without {variable}"),
            "start it with 'jeshim run -- CMD', or set the variables of 'jeshim env' where it is started",
        );
    };
    let Some(name) = preload::names(value).find(|name| is_ours(name)) else {
        return Reason::new(
            "not_named",
            format!("it was started with {variable}={}, which does not name the library", printable(value)),
            "start it with 'jeshim run -- CMD', which keeps what is there",
        );
    };
    named(process, name)
}

/// The variable names the library, and yet it is not loaded.
fn named(process: &Process, name: &OsStr) -> Reason {
    let (variable, shown) = (preload::VARIABLE, printable(name));
    let path = Path::new(name);
    if !path.is_absolute() {
        return Reason::new(
            "not_found",
            format!(
                "{variable} names {shown}, which depends on the folder it is started in, or on the dynamic linker's own folders"
            ),
            "name the library with its whole path",
        );
    }
    let inside = process.inside(path);
    match std::fs::metadata(&inside) {
        Err(_) => Reason::new(
            "not_found",
            format!("{variable} names {shown}, and the process has no such file that may be read"),
            "put the library there, in the container where the process is in one",
        ),
        Ok(file) if !file.is_file() => {
            Reason::new("not_a_library", format!("{variable} names {shown}, which is not a file"), "name libjeshim.so")
        }
        Ok(_) => match Library::read(&inside) {
            Err(_) => Reason::new(
                "not_a_library",
                format!("{variable} names {shown}, which is not jeshim's library"),
                "name libjeshim.so",
            ),
            Ok(_) => Reason::new(
                "refused",
                format!("{variable} names {shown}, and the dynamic linker did not load it"),
                "it said why on standard error when the program started; 'jeshim check -- CMD' shows it",
            ),
        },
    }
}

fn value_of(environment: &[(OsString, OsString)]) -> Option<&OsStr> {
    environment.iter().find(|(name, _)| name == preload::VARIABLE).map(|(_, value)| value.as_os_str())
}
