//! Whose `malloc` an object calls: its relocations name the slots, the process's memory has what is in them.

use super::image::{Dynamic, Image, table};
use super::objects::Object;
use jeshim_host::live::Process;
use object::Endianness;
use object::elf;

/// The names that are looked at: first those of C, whose memory must come from one allocator.
pub const NAMES: &[&str] = &[
    "malloc",
    "free",
    "calloc",
    "realloc",
    "posix_memalign",
    "aligned_alloc",
    "memalign",
    "reallocarray",
    "_Znwm",
    "_Znam",
    "_ZdlPv",
    "_ZdaPv",
    "_ZdlPvm",
    "_ZdaPvm",
    "_ZnwmRKSt9nothrow_t",
    "_ZnamRKSt9nothrow_t",
    "_ZdlPvRKSt9nothrow_t",
    "_ZdaPvRKSt9nothrow_t",
    "_ZnwmSt11align_val_t",
    "_ZnamSt11align_val_t",
    "_ZdlPvSt11align_val_t",
    "_ZdaPvSt11align_val_t",
    "_ZdlPvmSt11align_val_t",
    "_ZdaPvmSt11align_val_t",
    "_ZnwmSt11align_val_tRKSt9nothrow_t",
    "_ZnamSt11align_val_tRKSt9nothrow_t",
    "_ZdlPvSt11align_val_tRKSt9nothrow_t",
    "_ZdaPvSt11align_val_tRKSt9nothrow_t",
];

/// Whether it is an operator of C++. Those of the standard library call `malloc`.
pub fn is_operator(name: &str) -> bool {
    name.starts_with("_Z")
}

/// A name that an object takes from somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Binding {
    /// Of the function.
    pub name: &'static str,
    /// From where.
    pub target: Target,
}

/// Where a slot points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Into the object's own linkage table: it is bound when it is first called.
    NotCalledYet,
    /// Into an object, by its index.
    Object(usize),
    /// Into memory that belongs to no object.
    Elsewhere(u64),
}

/// Kinds of relocations that hold the address of a function, by the machine: `R_*_GLOB_DAT`, `R_*_JUMP_SLOT`.
fn kinds(machine: u16) -> Option<[u32; 2]> {
    match machine {
        elf::EM_X86_64 => Some([elf::R_X86_64_GLOB_DAT, elf::R_X86_64_JUMP_SLOT]),
        elf::EM_AARCH64 => Some([elf::R_AARCH64_GLOB_DAT, elf::R_AARCH64_JUMP_SLOT]),
        _ => None,
    }
}

/// A relocation of one of the names.
struct Slot {
    name: &'static str,
    /// Where the address is, without the bias.
    address: u64,
    /// Where the object itself has that function, or, for a program that is not position independent, its entry in
    /// the linkage table that stands for the function everywhere.
    own: u64,
    defined: bool,
}

/// What the slots of an object hold.
pub struct Bindings {
    slots: Vec<(Slot, u64)>,
}

impl Bindings {
    /// Reads the slots of an object. `None` when its tables make no sense, or its machine is another.
    pub fn read(process: &Process, image: &Image, bias: u64) -> Option<Bindings> {
        let kinds = kinds(image.machine)?;
        let Some(dynamic) = image.dynamic() else {
            // Static: nothing is taken from anywhere.
            return (!image.segments.iter().any(|segment| segment.kind == elf::PT_DYNAMIC))
                .then(|| Bindings { slots: Vec::new() });
        };
        let read = |slot: Slot| {
            let mut value = [0; 8];
            process.read(bias.wrapping_add(slot.address), &mut value).ok()?;
            Some((slot, u64::from_ne_bytes(value)))
        };
        Some(Bindings { slots: slots(image, &dynamic, kinds)?.into_iter().map(read).collect::<Option<_>>()? })
    }

    /// Where each name leads: the most telling of several slots.
    pub fn resolve(&self, own: usize, objects: &[Object], all: &[Option<Bindings>]) -> Vec<Binding> {
        let mut found = Vec::new();
        for name in NAMES {
            let targets = self.slots.iter().filter(|(slot, _)| slot.name == *name);
            let mut targets: Vec<Target> =
                targets.filter_map(|(slot, value)| target(slot, *value, own, objects, all)).collect();
            targets.dedup();
            if targets.iter().any(|target| *target != Target::NotCalledYet) {
                targets.retain(|target| *target != Target::NotCalledYet);
            }
            found.extend(targets.into_iter().map(|target| Binding { name, target }));
        }
        found
    }
}

fn target(slot: &Slot, value: u64, own: usize, objects: &[Object], all: &[Option<Bindings>]) -> Option<Target> {
    // A weak name that nobody has.
    if value == 0 {
        return None;
    }
    let Some(index) = objects.iter().position(|object| object.contains(value)) else {
        return Some(Target::Elsewhere(value));
    };
    let there = objects.get(index)?;
    let is_at = |slot: &Slot| slot.own != 0 && value == there.bias.wrapping_add(slot.own);
    if index == own {
        return Some(if slot.defined && is_at(slot) { Target::Object(own) } else { Target::NotCalledYet });
    }
    // The address of a function in a program that is not position independent is that of its linkage table: it leads
    // where the program's own slot leads.
    let passed_on = all.get(index)?.as_ref().and_then(|theirs| {
        theirs.slots.iter().find(|(theirs, _)| theirs.name == slot.name && !theirs.defined && is_at(theirs))
    });
    match passed_on {
        Some((_, next)) => Some(match objects.iter().position(|object| object.contains(*next)) {
            Some(next) if next == index => Target::NotCalledYet,
            Some(next) => Target::Object(next),
            None => Target::Elsewhere(*next),
        }),
        None => Some(Target::Object(index)),
    }
}

/// The relocations of [`NAMES`].
fn slots(image: &Image, dynamic: &Dynamic, kinds: [u32; 2]) -> Option<Vec<Slot>> {
    type Relocation = elf::Rela64<Endianness>;
    let endian = image.endian();
    let mut relocations: Vec<(u64, u32)> = Vec::new();
    let skipped = dynamic.relative.checked_mul(size_of::<Relocation>() as u64)?.min(dynamic.relocations.1);
    let others = (dynamic.relocations.0.checked_add(skipped)?, dynamic.relocations.1 - skipped);
    for (address, size) in [dynamic.jump_slots, others] {
        if size == 0 {
            continue;
        }
        let bytes = image.at(address, size)?;
        for relocation in table::<Relocation>(&bytes) {
            if kinds.contains(&relocation.r_type(endian, false)) {
                relocations.push((relocation.r_offset.get(endian), relocation.r_sym(endian, false)));
            }
        }
    }
    let Some(last) = relocations.iter().map(|(_, symbol)| *symbol).max() else { return Some(Vec::new()) };
    let size = (u64::from(last) + 1) * size_of::<elf::Sym64<Endianness>>() as u64;
    let bytes = image.at(dynamic.symbols, size)?;
    let symbols = table::<elf::Sym64<Endianness>>(&bytes);
    let names = image.at(dynamic.names.0, dynamic.names.1)?;
    let mut slots = Vec::new();
    for (address, symbol) in relocations {
        let symbol = symbols.get(symbol as usize)?;
        let text = names.get(symbol.st_name.get(endian) as usize..).unwrap_or_default();
        let Some(end) = memchr::memchr(0, text.get(..64.min(text.len()))?) else { continue };
        if let Some(name) = NAMES.iter().find(|name| Some(name.as_bytes()) == text.get(..end)) {
            let defined = symbol.st_shndx.get(endian) != elf::SHN_UNDEF;
            slots.push(Slot { name, address, own: symbol.st_value.get(endian), defined });
        }
    }
    Some(slots)
}

/// The names that a file takes or has relocations for, without a process.
#[cfg(test)]
pub(super) fn names_in(image: &Image) -> Option<Vec<&'static str>> {
    let slots = slots(image, &image.dynamic()?, kinds(image.machine)?)?;
    Some(slots.into_iter().map(|slot| slot.name).collect())
}
