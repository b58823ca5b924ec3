//! The ELF objects that a process has loaded.

use super::image::{Image, Source};
use jeshim_host::live::{Mapping, Process};
use std::ffi::OsStr;
use std::path::PathBuf;

/// A program or library that is loaded.
pub struct Object<'a> {
    /// As the process sees it, without the kernel's " (deleted)".
    pub path: PathBuf,
    /// Whether the file has been deleted or replaced since.
    pub is_gone: bool,
    /// What is added to the addresses in the file.
    pub bias: u64,
    /// Whether it is the program itself.
    pub is_program: bool,
    /// The file, or what is mapped of it.
    pub image: Image<'a>,
    first: u64,
    last: u64,
}

impl Object<'_> {
    /// Whether an address is inside.
    pub fn contains(&self, address: u64) -> bool {
        (self.first..self.last).contains(&address)
    }

    /// The end of its path.
    pub fn name(&self) -> &OsStr {
        self.path.file_name().unwrap_or(self.path.as_os_str())
    }

    /// The first address.
    pub fn start(&self) -> u64 {
        self.first
    }
}

/// Finds them: wherever the beginning of an ELF file is mapped, and its code is where its headers put it, so that
/// files that are only read do not count.
pub fn find<'a>(process: &'a Process, mappings: &[Mapping]) -> Vec<Object<'a>> {
    let program = process.executable();
    let mut objects: Vec<Object> = Vec::new();
    for mapping in mappings.iter().filter(|mapping| mapping.inode != 0 && mapping.offset == 0 && !mapping.shared) {
        if objects.last().is_some_and(|object| object.contains(mapping.start)) {
            continue;
        }
        objects.extend(object(process, mapping, mappings, program.as_ref()));
    }
    objects
}

fn object<'a>(
    process: &'a Process,
    mapping: &Mapping,
    mappings: &[Mapping],
    program: Option<&PathBuf>,
) -> Option<Object<'a>> {
    // One page of it that cannot be read, and the file not either: then nothing can be known.
    let mut magic = [0; 4];
    let known = mapping.readable && process.read(mapping.start, &mut magic).is_ok();
    if known && magic != *b"\x7fELF" {
        return None;
    }
    let (source, by_name) = match process.open_mapped(mapping) {
        Some((file, by_name)) => (Source::File(file), by_name),
        None => (Source::Memory(process, mapping.start), false),
    };
    let image = Image::read(source)?;
    let bias = image.bias(mapping.start)?;
    let (low, high) = image.extent()?;
    let code = bias.wrapping_add(image.loaded().find(|segment| segment.executable)?.address);
    let is_code = |mapping: &Mapping| mapping.executable && (mapping.start..mapping.end).contains(&code);
    if !mappings.iter().any(is_code) {
        return None;
    }
    // A file may well be named so; then it was found under that name.
    let deleted = mapping.name.to_str().and_then(|name| name.strip_suffix(" (deleted)")).filter(|_| !by_name);
    Some(Object {
        // Both names are the kernel's own, and end in " (deleted)" together.
        is_program: program.is_some_and(|program| program.as_os_str() == mapping.name),
        path: deleted.map_or_else(|| PathBuf::from(&mapping.name), PathBuf::from),
        is_gone: deleted.is_some(),
        bias,
        image,
        first: mapping.start,
        last: bias.wrapping_add(high).max(bias.wrapping_add(low)),
    })
}
