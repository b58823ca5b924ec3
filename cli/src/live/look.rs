//! Looks at a process, and judges.

use super::bindings::{Binding, Bindings, Target, is_operator};
use super::memory::{self, Memory};
use super::objects::{self, Object};
use super::report::{LoadedLibrary, LoadedObject, Looked, Origin, OwnersShare, PrivateMemory, Reason, Report, Taken};
use super::served::{self, Loaded};
use super::{absent, own};
use crate::terminal::{count, printable};
use crate::verdict::Verdict;
use jeshim_host::live::{LookError, Process};
use std::collections::{BTreeMap, BTreeSet};

/// The index of what belongs to no object.
const NO_OBJECT: usize = usize::MAX;

/// Looks at a process. What cannot be told is an answer, too.
pub fn look(pid: u32) -> Report {
    let process = match Process::open(pid) {
        Ok(process) => process,
        Err(error) => return could_not_tell(Looked { pid, ..Looked::default() }, error.into()),
    };
    let looked = || Looked { pid, name: Some(process.name.clone()), program: process.executable() };
    // Afterwards, nothing that was read means anything.
    match evidence(&process, looked()) {
        Ok(_) if !process.is_still_there() => could_not_tell(looked(), process.ended().into()),
        Ok(report) => report,
        Err(error) => could_not_tell(looked(), error.into()),
    }
}

/// The report when there is nothing to judge.
pub fn could_not_tell(process: Looked, reason: Reason) -> Report {
    Report {
        verdict: Verdict::CouldNotTell,
        line: reason.cause.clone(),
        reasons: vec![reason],
        process,
        library: None,
        objects: Vec::new(),
        memory: None,
    }
}

fn evidence(process: &Process, looked: Looked) -> Result<Report, LookError> {
    let mappings = process.mappings()?;
    let objects = objects::find(process, &mappings);
    let library = served::find(process, &objects);
    let all: Vec<Option<Bindings>> =
        objects.iter().map(|object| Bindings::read(process, &object.image, object.bias)).collect();
    let bindings =
        |(index, bindings): (usize, &Option<Bindings>)| Some(bindings.as_ref()?.resolve(index, &objects, &all));
    let bound: Vec<Option<Vec<Binding>>> = all.iter().enumerate().map(bindings).collect();
    let ranges = library.as_ref().and_then(|library| library.shown.as_ref()).map_or(&[][..], |shown| &shown.ranges);
    let memory = memory::shares(process, &mappings, &objects, ranges);
    let facts = Facts { process, objects: &objects, library: library.as_ref(), bound: &bound, memory: &memory };
    let (verdict, line, reasons) = facts.judge();
    Ok(Report {
        verdict,
        line,
        reasons,
        process: looked,
        library: library.as_ref().and_then(|library| loaded_library(library, &objects)),
        objects: facts.objects(),
        memory: Some(private_memory(&memory)),
    })
}

/// What the judgement rests on.
struct Facts<'a> {
    process: &'a Process,
    objects: &'a [Object<'a>],
    library: Option<&'a Loaded>,
    /// Of each object; `None` when it could not be read.
    bound: &'a [Option<Vec<Binding>>],
    memory: &'a Memory,
}

impl Facts<'_> {
    fn judge(&self) -> (Verdict, String, Vec<Reason>) {
        let who = format!("{} (process {})", printable(&self.process.name), self.process.pid);
        let Some(library) = self.library else {
            let reason = absent::why(self.process, self.objects);
            return (Verdict::NotServed, format!("{who} runs without jemalloc: {}", reason.cause), vec![reason]);
        };
        let could_not = |reason: Reason| (Verdict::CouldNotTell, format!("{who}: {}", reason.cause), vec![reason]);
        if !self.process.is_readable() {
            return could_not(self.process.denied().into());
        }
        let Some(shown) = &library.shown else {
            return could_not(Reason::new(
                "no_evidence",
                format!(
                    "the library {} {} does not show what it serves",
                    self.path(library.object),
                    library.versions.0
                ),
                "start the program with the library that belongs to this command",
            ));
        };
        let mut reasons = self.elsewhere();
        let (ours, others) =
            (self.takers(|index| index == library.object), self.takers(|index| index != library.object));
        if shown.fills == 0 && ours == 0 && others > 0 {
            return (Verdict::NotServed, format!("{who} has the library loaded, and takes no memory from it"), reasons);
        }
        if shown.fills == 0 {
            return could_not(Reason::new(
                "nothing_served",
                "the library is loaded, and has not handed out a small block by which that could be seen",
                "look again when the program has worked for a while; with tcache:false in MALLOC_CONF it is never seen",
            ));
        }
        let unread = self.bound.iter().filter(|bound| bound.is_none()).count();
        if unread > 0 || ours + others == 0 {
            return could_not(Reason::new(
                "unread",
                format!(
                    "jemalloc serves, but whom is not known: {} unreadable",
                    count(unread as u64, "object is", "objects are")
                ),
                "jeshim reads programs for x86-64 and aarch64; look at others with 'readelf -r'",
            ));
        }
        reasons.extend(own::allocators(self.process, self.objects, shown.fills));
        let times =
            if shown.fills >= 1000 { "1,000 times or more".into() } else { count(shown.fills, "time", "times") };
        // What found no place among the ranges counts as somebody else's.
        let least = if shown.lost > 0 { "at least " } else { "" };
        let share = format!("{least}{:.0}% of its private memory", self.memory.percent(self.memory.jemalloc()));
        let takers = count(ours as u64, "object takes", "objects take");
        if reasons.is_empty() {
            let line = format!("{who}: {takers} malloc from jemalloc, which was seen to serve {times}; it has {share}");
            (Verdict::Served, line, reasons)
        } else {
            let others = if others > 0 { format!(", {others} from elsewhere") } else { String::new() };
            (Verdict::InPart, format!("{who}: {takers} malloc from jemalloc{others}; it has {share}"), reasons)
        }
    }

    /// How many objects besides the library take a function of C's malloc family from one that passes.
    fn takers(&self, passes: impl Fn(usize) -> bool) -> usize {
        self.takes().filter(|(_, from, _)| passes(*from)).map(|(object, ..)| object).collect::<BTreeSet<_>>().len()
    }

    /// Which object takes which function of C's malloc family from which object.
    fn takes(&self) -> impl Iterator<Item = (usize, usize, &'static str)> {
        let library = self.library.map(|library| library.object);
        let objects = self.bound.iter().enumerate().filter(move |(index, _)| Some(*index) != library);
        objects.flat_map(|(index, bound)| {
            let bound = bound.iter().flatten().filter(|binding| !is_operator(binding.name));
            bound.filter_map(move |binding| match binding.target {
                Target::Object(from) => Some((index, from, binding.name)),
                Target::Elsewhere(_) => Some((index, NO_OBJECT, binding.name)),
                Target::NotCalledYet => None,
            })
        })
    }

    /// A reason for each allocator besides the library.
    fn elsewhere(&self) -> Vec<Reason> {
        let library = self.library.map(|library| library.object);
        let mut allocators: BTreeMap<usize, Vec<(usize, &str)>> = BTreeMap::new();
        for (object, from, name) in self.takes().filter(|(_, from, _)| Some(*from) != library) {
            let takers = allocators.entry(from).or_default();
            // The first of its functions is enough.
            if takers.iter().all(|(taker, _)| *taker != object) {
                takers.push((object, name));
            }
        }
        let reason = |(from, takers): (usize, Vec<(usize, &str)>)| {
            let &(first, name) = takers.first()?;
            let verb = match takers.len() - 1 {
                0 => "takes".to_owned(),
                more => format!("and {} take", count(more as u64, "more object", "more objects")),
            };
            let cause = format!("{} {verb} {name} from {}", self.path(first), self.path(from));
            let remedy = "what was opened with RTLD_DEEPBIND comes to jemalloc without JESHIM_DEEPBIND=keep; a namespace of \
                 dlmopen and an allocator that is built in are out of reach";
            Some(Reason::new("other_allocator", cause, remedy))
        };
        allocators.into_iter().filter_map(reason).collect()
    }

    fn path(&self, index: usize) -> String {
        self.objects.get(index).map_or_else(|| "memory of no object".to_owned(), |object| printable(&object.path))
    }

    fn objects(&self) -> Vec<LoadedObject> {
        let library = self.library.map(|library| library.object);
        let from = |target| match target {
            Target::NotCalledYet => Origin::NotCalledYet,
            Target::Elsewhere(address) => Origin::NoObject { address },
            Target::Object(index) if Some(index) == library => Origin::Library,
            Target::Object(index) => {
                Origin::Other { from: self.objects.get(index).map(|object| object.path.clone()).unwrap_or_default() }
            }
        };
        let taken = |binding: &Binding| Taken { name: binding.name, from: from(binding.target) };
        let mut objects: Vec<LoadedObject> = self
            .objects
            .iter()
            .zip(self.bound)
            .map(|(object, bound)| LoadedObject {
                path: object.path.clone(),
                address: object.start(),
                deleted: object.is_gone,
                takes: bound.as_ref().map(|bound| bound.iter().map(taken).collect()),
            })
            .collect();
        let is_other = |taken: &Taken| {
            !is_operator(taken.name) && matches!(taken.from, Origin::Other { .. } | Origin::NoObject { .. })
        };
        objects.sort_by_key(|object| !object.takes.iter().flatten().any(is_other));
        objects
    }
}

fn loaded_library(library: &Loaded, objects: &[Object]) -> Option<LoadedLibrary> {
    let object = objects.get(library.object)?;
    Some(LoadedLibrary {
        path: object.path.clone(),
        deleted: object.is_gone,
        version: library.versions.0.clone(),
        jemalloc: library.versions.1.clone(),
        fills: library.shown.as_ref().map(|shown| shown.fills),
        unknown_mappings: library.shown.as_ref().map(|shown| shown.lost),
    })
}

fn private_memory(memory: &Memory) -> PrivateMemory {
    let owners = memory.shares.iter().map(|(owner, bytes)| OwnersShare {
        owner: owner.id(),
        description: owner.words(),
        bytes: *bytes,
        percent: memory.percent(*bytes),
    });
    PrivateMemory {
        private: memory.private,
        jemalloc_percent: memory.percent(memory.jemalloc()),
        owners: owners.collect(),
    }
}
