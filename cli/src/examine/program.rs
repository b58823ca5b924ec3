//! The file that runs: what kind it is, and who examines it.

use super::open::Opened;
use super::walk::Walk;
use super::{Depth, Effect, Examination, Surroundings, allocator, libraries, loading, macho};
use crate::elf::Elf;
use crate::library::System;
use crate::terminal::printable;
use object::read::{ReadCache, ReadRef};

/// Whether the bytes begin as those of ELF or Mach-O do.
pub(super) fn has_magic(start: &[u8]) -> bool {
    start.starts_with(b"\x7fELF") || is_macho(start)
}

/// Mach-O, thin or fat. A Java class begins as a fat file does, with a version where that has a small number.
fn is_macho(start: &[u8]) -> bool {
    let number = start.get(4..8).and_then(|bytes| Some(u32::from_be_bytes(bytes.try_into().ok()?)));
    match start.get(..4) {
        Some(b"\xca\xfe\xba\xbe" | b"\xca\xfe\xba\xbf") => number.is_some_and(|count| count < 40),
        Some(b"\xfe\xed\xfa\xce" | b"\xfe\xed\xfa\xcf" | b"\xce\xfa\xed\xfe" | b"\xcf\xfa\xed\xfe") => true,
        _ => false,
    }
}

/// Examines the file at the end of the way.
pub(super) fn examine(walk: &mut Walk, file: &Opened) {
    let Some(open) = &file.file else { return };
    let Ok(again) = open.try_clone() else { return };
    let cache = ReadCache::new(again);
    if is_macho(&file.start) {
        macho_file(walk, file, &cache);
        return;
    }
    elf_file(walk, file, &cache);
}

fn macho_file<'data, R: ReadRef<'data>>(walk: &mut Walk, file: &Opened, data: R) {
    let (target, obstacles, notes) = macho::examine(&file.path, data, walk.around.library);
    walk.found.target = target;
    walk.found.obstacles.extend(obstacles);
    walk.found.notes.extend(notes);
}

fn elf_file<'data, R: ReadRef<'data>>(walk: &mut Walk, file: &Opened, data: R) {
    let path = printable(&file.path);
    let elf = match Elf::read(data) {
        Ok(elf) => elf,
        Err(what) => return damaged(&path, what, &mut walk.found),
    };
    for what in &elf.damage {
        damaged(&path, what, &mut walk.found);
    }
    walk.found.target = Some(elf.target());
    if !loading::is_dynamic(&elf, file, &mut walk.found) {
        return;
    }
    let Surroundings { library, .. } = walk.around;
    let target = library.map(|library| library.target.clone()).or_else(loading::this_machine);
    // A file of another system is examined for a library of its own kind.
    let target = target.filter(|target| target.system != System::MacOs);
    let loads = target.is_none_or(|target| loading::obstacles(&elf, &path, &target, &mut walk.found));
    if !loads {
        return;
    }
    let loaded = libraries::of(&elf, &file.path, &walk.variables, walk.depth == Depth::Whole);
    if let Some(library) = library {
        loading::requirements(&path, library, &loaded, &mut walk.found);
    }
    let search = file.file.as_ref().filter(|_| walk.depth == Depth::Whole);
    allocator::obstacles(&elf, &path, search, &loaded, &walk.variables, &mut walk.found);
}

fn damaged(path: &str, what: &str, found: &mut Examination) {
    found.add(
        "damaged",
        Effect::Unsure,
        format!("{path} is damaged: {what}"),
        "install it again, or examine another copy",
    );
}
