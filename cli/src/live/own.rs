//! Allocators inside the program, which no relocation shows: what its file tells.

use super::objects::Object;
use super::report::Reason;
use crate::examine::{self, Effect, Surroundings};
use jeshim_host::live::Process;
use std::os::unix::fs::MetadataExt;

/// A reason for each part of the program's memory that its file shows to be out of reach. A file that is not under its
/// name any more, or not in this process's view of files, tells nothing.
pub fn allocators(process: &Process, objects: &[Object]) -> Vec<Reason> {
    let Some(program) = objects.iter().find(|object| object.is_program && !object.is_gone) else { return Vec::new() };
    let inside = process.inside(&program.path);
    let which = |path: &std::path::Path| std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    if which(&program.path).is_none() || which(&program.path) != which(&inside) {
        return Vec::new();
    }
    let around = Surroundings { library: None, variables: Vec::new() };
    let Ok(examination) = examine::file(&program.path, &around) else { return Vec::new() };
    let parts = examination.obstacles.into_iter().filter(|obstacle| obstacle.effect == Effect::Part);
    parts.map(|obstacle| Reason::new(obstacle.id, obstacle.cause, obstacle.remedy)).collect()
}
