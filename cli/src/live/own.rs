//! Allocators inside the program, which no relocation shows: what its file tells.

use super::objects::Object;
use super::report::Reason;
use crate::examine::{self, Effect, Obstacle, Surroundings};
use jeshim_host::live::Process;
use std::os::unix::fs::MetadataExt;

/// Fewer fills than that may all be libc's. A program that used its locale, streams, folders, clock, log, and names of
/// users and hosts had 20: a fill is of blocks of one size, and libc takes few of each.
const FEW: u64 = 30;

/// A reason for each part of the program's memory that its file shows to be out of reach, and, when the library was seen
/// to serve only so much (`fills`) as libc takes for itself, for an allocator that it may have. A file that is not under
/// its name any more, or not in this process's view of files, tells nothing.
pub fn allocators(process: &Process, objects: &[Object], fills: u64) -> Vec<Reason> {
    let Some(program) = objects.iter().find(|object| object.is_program && !object.is_gone) else { return Vec::new() };
    let inside = process.inside(&program.path);
    let which = |path: &std::path::Path| std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    if which(&program.path).is_none() || which(&program.path) != which(&inside) {
        return Vec::new();
    }
    let around = Surroundings { library: None, variables: Vec::new() };
    let Ok(examination) = examine::file(&program.path, &around) else { return Vec::new() };
    // Go without C code loads the library where its linker was the system's, and asks it for nothing.
    let reason = |obstacle: Obstacle| match obstacle.id {
        "hidden_allocator" => (fills < FEW).then(|| {
            Reason::new(obstacle.id, obstacle.cause, "if it has one, use a build that takes malloc from libc")
        }),
        _ => (obstacle.effect == Effect::Part || obstacle.id == "go")
            .then(|| Reason::new(obstacle.id, obstacle.cause, obstacle.remedy)),
    };
    examination.obstacles.into_iter().filter_map(reason).collect()
}
