//! Which allocators there are, and what a program is run with for each.
//!
//! | module | what it does |
//! |---|---|
//! | [`catalogue`] | the allocators that are known by name, and what their files are called |
//! | [`installed`] | which of them this machine has, and where |
//! | [`spec`] | `LABEL=NAME,KEY=VALUE`, taken apart |
//! | [`settings`] | the variables that its settings come to |
//! | [`file`] | what the file of a library says, and whether it can serve this machine's programs |
//! | [`trial`] | whether it loads |
//! | [`list`] | `--list` |

pub mod catalogue;
pub mod file;
pub mod installed;
mod list;
mod settings;
mod spec;
#[cfg(test)]
mod tests;
mod trial;

pub use list::{Entry, list, show_list};
pub(super) use trial::refusal;

use crate::library::Library;
use crate::options;
use crate::terminal::printable;
use anyhow::bail;
use jeshim_host::preload;
use spec::Spec;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The one that is there without a library.
pub const SYSTEM: &str = "system";
/// Ours.
pub const JESHIM: &str = "jeshim";
/// Who takes part when nobody is named.
const DEFAULT: [&str; 2] = [SYSTEM, JESHIM];

/// An allocator with its settings: one that takes part.
#[derive(Debug, Clone)]
pub struct Allocator {
    /// What it is called in the tables; unique.
    pub label: String,
    /// Which one it is.
    pub kind: Kind,
    /// Name of the kind for tables and results: "system", "jeshim", "tcmalloc", or the file name of a library.
    pub name: String,
    /// Version as far as the file tells.
    pub version: Option<String>,
    /// Variables for the program, LD_PRELOAD included, on top of an environment without LD_PRELOAD and MALLOC_CONF.
    pub variables: Vec<(OsString, OsString)>,
}

/// Which allocator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Whatever the program uses when nothing is preloaded.
    System,
    /// Our library.
    Jeshim(PathBuf),
    /// A library with jemalloc in it that reads plain MALLOC_CONF and can print its statistics.
    Jemalloc(PathBuf),
    /// Any other library.
    Other(PathBuf),
}

impl Kind {
    /// The library that is preloaded.
    pub fn library(&self) -> Option<&PathBuf> {
        match self {
            Kind::System => None,
            Kind::Jeshim(path) | Kind::Jemalloc(path) | Kind::Other(path) => Some(path),
        }
    }
}

/// The allocators that are meant by `LABEL=NAME,KEY=VALUE` (`--with`, or a scenario), system and jeshim when there are
/// none; each library was looked at, and loaded once. `lib` is that of `--lib`.
///
/// # Errors
/// Cause and remedy in a line: an unknown name, a setting that is none, a library that is missing or does not load …
pub fn parse(specs: &[String], lib: Option<&Path>) -> anyhow::Result<Vec<Allocator>> {
    let texts = if specs.is_empty() { DEFAULT.map(str::to_owned).to_vec() } else { specs.to_vec() };
    let specs = texts.iter().map(|text| Spec::parse(text)).collect::<anyhow::Result<Vec<Spec>>>()?;
    let mut allocators = Vec::new();
    for spec in &specs {
        allocators.push(resolve(spec, lib)?);
    }
    label(&mut allocators, &specs, &texts);
    let mut labels: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, allocator) in allocators.iter().enumerate() {
        if let Some(first) = labels.insert(&allocator.label, index) {
            bail!(
                "{} and {} would both be called {}; give one a label of its own: other={}",
                texts.get(first).map(printable).unwrap_or_default(),
                texts.get(index).map(printable).unwrap_or_default(),
                printable(&allocator.label),
                specs.get(index).map(Spec::without_label).unwrap_or_default(),
            );
        }
    }
    // What costs time last: a slip of the keyboard is told at once.
    for allocator in &allocators {
        trial::loads(allocator)?;
    }
    Ok(allocators)
}

/// Calls those that were given no label by their name, and where that is another's, too, by the whole of what was typed.
fn label(allocators: &mut [Allocator], specs: &[Spec], texts: &[String]) {
    let wished: Vec<String> = allocators
        .iter()
        .zip(specs)
        .map(|(one, spec)| spec.label.clone().unwrap_or_else(|| one.name.clone()))
        .collect();
    for (index, (allocator, spec)) in allocators.iter_mut().zip(specs).enumerate() {
        let Some(wish) = wished.get(index) else { continue };
        let is_taken = wished.iter().filter(|other| *other == wish).count() > 1;
        allocator.label = match texts.get(index) {
            Some(text) if is_taken && spec.label.is_none() => text.clone(),
            _ => wish.clone(),
        };
    }
}

fn resolve(spec: &Spec, lib: Option<&Path>) -> anyhow::Result<Allocator> {
    let (name, kind, version) = match spec.target.as_str() {
        SYSTEM => (SYSTEM.to_owned(), Kind::System, list::c_library()),
        JESHIM => {
            let library = Library::find(lib)?;
            let version = file::version_of(&library);
            (JESHIM.to_owned(), Kind::Jeshim(library.path), Some(version))
        }
        target if target.contains('/') => {
            let path = std::path::absolute(target)?;
            let (kind, version) = file::look(&path)?;
            let name = match kind {
                Kind::Jeshim(_) => JESHIM.to_owned(),
                _ => path.file_name().map(printable).unwrap_or_default(),
            };
            (name, kind, version)
        }
        target => {
            let known = catalogue::find(target).ok_or_else(|| unknown(target))?;
            let Some(path) = installed::find(known) else {
                bail!("{} is not installed; {}", known.name, known.remedy());
            };
            let (kind, version) = file::look(&path)?;
            (known.name.to_owned(), kind, version)
        }
    };
    let mut variables = Vec::new();
    if let Some(path) = kind.library() {
        if !preload::can_name(path) {
            bail!(
                "{} cannot be preloaded: {}; copy it to another folder, such as /usr/local/lib",
                printable(path),
                preload::CANNOT_NAME
            );
        }
        variables.push((preload::VARIABLE.into(), path.as_os_str().to_owned()));
    }
    variables.extend(settings::variables(spec, &kind)?);
    Ok(Allocator { label: String::new(), kind, name, version, variables })
}

fn unknown(target: &str) -> anyhow::Error {
    let names: Vec<&str> = DEFAULT.into_iter().chain(catalogue::KNOWN.iter().map(|known| known.name)).collect();
    let nearest = options::nearest(target, names.iter().copied())
        .map(|nearest| format!("the nearest is '{nearest}'; "))
        .unwrap_or_default();
    let shown = printable(target);
    if target.ends_with(".so") || target.contains(".so.") {
        return anyhow::anyhow!("'{shown}' is no allocator that is known; for a file, write a path: ./{shown}");
    }
    anyhow::anyhow!("'{shown}' is no allocator that is known; {nearest}there are {}", names.join(", "))
}

/// The environment of every run, before an allocator's own variables: this process's, without what would bring an
/// allocator, or jemalloc's options, into runs of the others; and a warning for each variable that is left out.
pub fn base_environment() -> (Vec<(OsString, OsString)>, Vec<String>) {
    without_allocators(std::env::vars_os())
}

/// Variables that are an allocator's, or the proof's.
const LEFT_OUT: [&str; 5] = [preload::VARIABLE, "MALLOC_CONF", "JESHIM_REPORT", "LD_DEBUG", "LD_DEBUG_OUTPUT"];

fn without_allocators(
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> (Vec<(OsString, OsString)>, Vec<String>) {
    let (left_out, kept): (Vec<_>, Vec<_>) =
        variables.partition(|(name, _)| LEFT_OUT.iter().any(|left_out| name == OsStr::new(left_out)));
    let warnings = left_out.iter().filter(|(_, value)| !value.is_empty()).map(|(name, value)| {
        let (name, value) = (printable(name), printable(value));
        let remedy = match name.as_str() {
            preload::VARIABLE => "to have it take part, name it: --with NAME=PATH",
            "MALLOC_CONF" => "to have jemalloc run with it, say so: --with jeshim,conf=OPTIONS",
            _ => "the proof uses it itself",
        };
        format!("{name}={value} of the environment is left out of all runs; {remedy}")
    });
    let warnings = warnings.collect();
    (kept, warnings)
}
