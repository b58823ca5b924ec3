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
        let (ours, others) = (self.takers(|index| index == library.object), reasons.len());
        let small =
            if shown.fills == 1000 { "1,000 times or more".to_owned() } else { count(shown.fills, "time", "times") };
        if shown.fills == 0 {
            let reason = Reason::new(
                "nothing_served",
                "the library is loaded, and has not handed out a small block that it could be seen by",
                "look again when the program has worked for a while; with tcache:false in MALLOC_CONF nothing can be seen",
            );
            return if ours == 0 && others > 0 {
                (
                    Verdict::NotServed,
                    format!("{who} has the library loaded, and nothing takes its memory from it"),
                    reasons,
                )
            } else {
                could_not(reason)
            };
        }
        let unread = self.bound.iter().filter(|bound| bound.is_none()).count();
        if unread > 0 || ours + others == 0 {
            return could_not(Reason::new(
                "unread",
                format!(
                    "jemalloc serves, but whom is not known: {} could not be read",
                    count(unread as u64, "object", "objects")
                ),
                "jeshim reads programs for x86-64 and aarch64; look at the objects with 'readelf -r'",
            ));
        }
        if others == 0
            && let Some(program) = self.objects.iter().find(|object| object.is_program)
        {
            reasons.extend(own::allocators(&self.process.inside(&program.path)));
        }
        let share = format!("{:.0}% of its private memory is jemalloc's", self.memory.percent(self.memory.jemalloc()));
        let takers = count(ours as u64, "object takes", "objects take");
        match reasons.first() {
            None => (Verdict::Served, format!("{who}: {takers} malloc from jemalloc, seen {small}; {share}"), reasons),
            Some(first) => {
                (Verdict::InPart, format!("{who}: {}; {takers} malloc from jemalloc; {share}", first.cause), reasons)
            }
        }
    }

    /// How many objects take a function of C's malloc family from one that passes.
    fn takers(&self, passes: impl Fn(usize) -> bool) -> usize {
        let takes = |binding: &&Binding| {
            !is_operator(binding.name) && matches!(binding.target, Target::Object(index) if passes(index))
        };
        self.bound.iter().flatten().filter(|bound| bound.iter().any(|binding| takes(&binding))).count()
    }

    /// A reason for each object that takes C's malloc or its family from another than the library.
    fn elsewhere(&self) -> Vec<Reason> {
        let library = self.library.map(|library| library.object);
        let mut reasons = Vec::new();
        for (object, bound) in self.objects.iter().zip(self.bound) {
            let is_other = |binding: &&Binding| match binding.target {
                Target::Object(index) => Some(index) != library,
                Target::Elsewhere(_) => true,
                Target::NotCalledYet => false,
            };
            let mut others = bound.iter().flatten().filter(|binding| !is_operator(binding.name)).filter(is_other);
            if let Some(first) = others.next() {
                let from = match first.target {
                    Target::Object(index) => self.path(index),
                    _ => "memory that belongs to no object".to_owned(),
                };
                let cause = format!("{} takes {} from {from}", printable(&object.path), first.name);
                let remedy = "it was opened with RTLD_DEEPBIND or dlmopen, or has an allocator of its own: without \
                     JESHIM_DEEPBIND=keep the first is undone, and for the others there is nothing to do";
                reasons.push(Reason::new("other_allocator", cause, remedy));
            }
        }
        reasons
    }

    fn path(&self, index: usize) -> String {
        self.objects.get(index).map_or_else(String::new, |object| printable(&object.path))
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
