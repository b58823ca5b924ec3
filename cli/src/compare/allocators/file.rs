//! What the file of a library says: whether it can serve this machine's programs, which allocator is in it, its version.

use super::Kind;
use super::trial;
use crate::doctor::machine::cause;
use crate::elf::{Elf, Name};
use crate::library::{Library, System, Target};
use crate::terminal::printable;
use anyhow::bail;
use jeshim_host::{executable, preload};
use object::elf;
use object::read::ReadCache;
use object::{Object, ObjectSymbol};
use regex::bytes::Regex;
use std::path::Path;

/// How much of a library is searched for jemalloc's version, in bytes.
const LONGEST: u64 = 64 << 20;

/// Looks at a library that is to be preloaded: which kind it is, and its version.
///
/// # Errors
/// Cause and remedy in a line: it is missing, no library, not for this machine's programs, or has no malloc.
pub fn look(path: &Path) -> anyhow::Result<(Kind, Option<String>)> {
    if let Ok(library) = Library::read(path) {
        let version = version_of(&library);
        return Ok((Kind::Jeshim(library.path), Some(version)));
    }
    let name = printable(path);
    if !preload::TAKES_OTHERS {
        bail!("{name} cannot take part: on this system only jeshim's library can be proven to serve; take it out");
    }
    let file = match executable::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            bail!("{name} is not there; look at the spelling, or at jeshim compare --list")
        }
        Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {
            bail!("{name} is not a file; name a shared library (.so)")
        }
        Err(error) => bail!("{name} cannot be read: {}; look at its permissions, and at the path", cause(&error)),
    };
    let cache = ReadCache::new(&file);
    let library = match Elf::read(&cache) {
        Ok(library) => library,
        Err(why) => bail!("{name} is not a shared library: {why}; name an ELF library (.so)"),
    };
    if library.file_type != elf::ET_DYN || library.pie {
        bail!("{name} is not a shared library, but a program or an object file; name a .so file");
    }
    let machine = trial::programs().next().map(|(_, target)| target);
    if let Some(machine) = machine {
        fits(&library, &machine, &name)?;
    }
    if !library.exports(|name| name == Name::Malloc) {
        bail!("{name} has no malloc to offer: it is no allocator's library to preload; name another");
    }
    let (is_jemalloc, version) = contents(path);
    let path = path.to_owned();
    Ok(if is_jemalloc { (Kind::Jemalloc(path), version) } else { (Kind::Other(path), version) })
}

/// "0.1.0 (jemalloc 5.3.1)".
pub fn version_of(library: &Library) -> String {
    format!("{} (jemalloc {})", library.version, short(&library.jemalloc_version))
}

/// Whether programs of this machine can load it.
fn fits(library: &Elf, machine: &Target, name: &str) -> anyhow::Result<()> {
    let is = |target: &Target| {
        let architecture = target.sub_architecture.clone().unwrap_or_else(|| format!("{:?}", target.architecture));
        format!("{} ({} bits)", architecture.to_lowercase(), target.bits)
    };
    let target = library.target();
    if !library.same_machine(machine) {
        bail!("{name} is for {} programs, and this machine's are {}; use a build for those", is(&target), is(machine));
    }
    let c_library = |system: &System| match system {
        System::Glibc(_) => "glibc",
        System::Musl => "musl",
        _ => "another C library",
    };
    let (theirs, ours) = (c_library(&target.system), c_library(&machine.system));
    // One that needs nobody is for all.
    if theirs != ours && !library.needed.is_empty() {
        bail!("{name} is for programs of {theirs}, and this machine's are of {ours}; use a build for that");
    }
    Ok(())
}

/// Whether it is jemalloc under its own names, and the version.
fn contents(path: &Path) -> (bool, Option<String>) {
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let after = |name: &str| Some(name.split_once(".so.")?.1.to_owned());
    let of_name = real.file_name().and_then(|name| after(name.to_str()?));
    let Some(bytes) = read(&real) else { return (false, of_name) };
    let Ok(object) = object::File::parse(bytes.as_slice()) else { return (false, of_name) };
    let has =
        |wanted: &str| object.dynamic_symbols().any(|symbol| symbol.is_definition() && symbol.name() == Ok(wanted));
    if !has("mallctl") || !has("malloc_stats_print") {
        return (false, of_name);
    }
    // "5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c", in its constants.
    let version = Regex::new(r"\d+\.\d+\.\d+-\d+-g[0-9a-f]{40}").ok().and_then(|pattern| {
        let found = pattern.find(&bytes)?;
        Some(short(&String::from_utf8_lossy(found.as_bytes())))
    });
    (true, version.or(of_name))
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let is_small = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() <= LONGEST);
    if is_small { std::fs::read(path).ok() } else { None }
}

/// "5.3.0" of "5.3.0-0-g54eaed1…".
fn short(version: &str) -> String {
    version.split('-').next().unwrap_or(version).to_owned()
}
