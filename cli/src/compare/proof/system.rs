//! Which allocator it is that serves when nothing is preloaded: the C library's, one that the program is linked with, or
//! one inside of it.

use super::Judgement;
use super::bindings::Image;
use super::standing::{Owner, is_c_library, owners, short};
use super::subject::Command;
use crate::compare::results::Served;
use crate::elf::Elf;
use crate::examine::{Effect, Examination};
use crate::terminal::printable;
use jeshim_host::executable;
use object::read::ReadCache;
use std::path::Path;

/// Judges a run with nothing preloaded.
pub(super) fn judge(command: &Command, processes: &[(u32, Vec<Image>)]) -> Judgement {
    let subject = command.subject(processes);
    let known = |by: String, because: String| Judgement { served: Served::Yes, by: Some(by), because, memory: None };
    // Of these the dynamic linker has nothing to tell that matters.
    if let Some(one) = subject.obstacle(|one| matches!(one.id, "static" | "go") && one.effect <= Effect::Prevents) {
        let by = if one.id == "go" { "Go's own" } else { "its own" };
        return known(by.to_owned(), one.cause.clone());
    }
    let found = subject.image.and_then(|image| owner(image, subject.has_own_malloc()));
    let Some((object, owner)) = found else {
        return Judgement {
            because: "the dynamic linker has not told who serves it (glibc's does); it is compared all the same"
                .to_owned(),
            ..Judgement::default()
        };
    };
    let program = short(&object);
    let (mut by, mut because) = match &owner {
        Owner::Executable => {
            let words = subject.obstacle(|one| one.id == "own_allocator").map(|one| one.cause.clone());
            (
                "its own".to_owned(),
                words.unwrap_or_else(|| format!("{program} has a malloc of its own in its executable")),
            )
        }
        Owner::Object(path) => {
            (name(path, subject.examination.as_ref()), format!("malloc of {program} is bound to {}", short(path)))
        }
    };
    if let Some(one) = subject.obstacle(|one| one.effect == Effect::Part) {
        by.push_str(" and its own");
        because = one.cause.clone();
    }
    known(by, because)
}

/// Who has the malloc of the executable, else that of any other object, the C library last; with whose it is.
fn owner(image: &Image, own_malloc: bool) -> Option<(String, Owner)> {
    let program = image.program.as_deref().unwrap_or_default();
    let others = || image.bindings.keys().map(String::as_str).filter(|object| *object != program);
    let mut objects = vec![program];
    objects.extend(others().filter(|object| !is_c_library(object)));
    objects.extend(others().filter(|object| is_c_library(object)));
    objects.into_iter().find_map(|object| {
        let owner = owners(image, own_malloc, object, "malloc").into_iter().next()?;
        Some((object.to_owned(), owner))
    })
}

/// "glibc 2.36", "libjemalloc.so.2, which redis-server is linked with".
fn name(path: &str, examination: Option<&Examination>) -> String {
    let name = short(path);
    if is_c_library(path) {
        let version = read(Path::new(path)).and_then(|library| library.glibc_defined);
        return version.map_or_else(|| name.clone(), |(major, minor)| format!("glibc {major}.{minor}"));
    }
    let Some(step) = examination.and_then(|examination| examination.steps.last()) else { return name };
    let is_linked =
        read(&step.path).is_some_and(|program| program.needed.iter().any(|needed| printable(needed) == name));
    if !is_linked {
        return name;
    }
    // Not that of the file behind a symbolic link: redis-server is redis-check-rdb.
    format!("{name}, which the program is linked with")
}

fn read(path: &Path) -> Option<Elf> {
    Elf::read(&ReadCache::new(executable::open(path).ok()?)).ok()
}
