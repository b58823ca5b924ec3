//! What an ELF file says about itself in its header, its program headers and its dynamic segment, as the kernel and the
//! dynamic linker read it: section headers may be missing or lie.

mod names;
mod tables;
#[cfg(test)]
mod tests;

pub use names::{Name, Runtime};

use crate::library::{System, Target};
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::ReadRef;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Architecture, Endianness};
use tables::Tables;

/// The longest table that is read, in bytes. A damaged or hostile file may claim any size.
const LONGEST_TABLE: u64 = 64 << 20;
/// The kernel takes no more program headers than these, in bytes (`load_elf_phdrs` in `fs/binfmt_elf.c`).
const MOST_HEADERS: usize = 65536;
/// As much of the first writable segment is looked at for Go's mark as Go's own `debug/buildinfo` does, in bytes.
const GO_MARK_WITHIN: u64 = 1 << 20;

/// What an ELF file says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elf {
    /// ET_EXEC, ET_DYN and so on.
    pub file_type: u16,
    /// Processor.
    pub architecture: Architecture,
    /// EM_X86_64 and so on.
    pub machine: u16,
    /// Whether its addresses have 32 bits on a processor of 64 (x32).
    pub x32: bool,
    /// 64 or 32.
    pub bits: u8,
    /// Order of bytes.
    pub endianness: Endianness,
    /// The dynamic linker that it asks for; `None` for a static program, and for most libraries.
    pub interpreter: Option<String>,
    /// Whether it has a dynamic segment: without it and without an interpreter, a program is static; with it, static-pie.
    pub dynamic: bool,
    /// DF_1_PIE: an executable, not a library.
    pub pie: bool,
    /// The libraries that it needs, as it names them.
    pub needed: Vec<String>,
    /// What it is called by those who need it.
    pub soname: Option<String>,
    /// Where it has its libraries looked for (DT_RUNPATH, else DT_RPATH), `$ORIGIN` and all.
    pub search: Vec<String>,
    /// The newest version of glibc's symbols that it asks for.
    pub glibc_needed: Option<(u32, u32)>,
    /// The newest version of glibc's symbols that it defines: that of a libc.so.6.
    pub glibc_defined: Option<(u32, u32)>,
    /// The names that say something about memory, taken from others or given to them.
    pub names: Vec<(Name, Side)>,
    /// Whether it carries Go's marks.
    pub go: bool,
    /// What is loaded of it.
    pub segments: Vec<Segment>,
    /// What could not be read, for a person.
    pub damage: Vec<&'static str>,
}

/// Who has what a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Another object.
    Imported,
    /// This file, for all.
    Exported,
}

/// A part of the file that is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Where in the file, in bytes.
    pub offset: u64,
    /// In the file, in bytes.
    pub size: u64,
    /// Its first address.
    pub address: u64,
    /// PF_W.
    pub writable: bool,
    /// PF_X.
    pub executable: bool,
}

impl Elf {
    /// Reads a file. What is wrong with a table is noted in `damage`, and the rest is read nevertheless.
    ///
    /// # Errors
    /// When it is not ELF, or its headers cannot be read.
    pub fn read<'data, R: ReadRef<'data>>(data: R) -> Result<Elf, &'static str> {
        let start = data.read_bytes_at(0, 5).map_err(|()| "it is shorter than a header")?;
        if !start.starts_with(&elf::ELFMAG) {
            return Err("it is not ELF");
        }
        match start[4] {
            elf::ELFCLASS32 => read::<FileHeader32<Endianness>, R>(data),
            elf::ELFCLASS64 => read::<FileHeader64<Endianness>, R>(data),
            _ => Err("its class is neither 32 nor 64 bits"),
        }
    }

    /// For which processes it is.
    pub fn target(&self) -> Target {
        Target {
            system: self.system(),
            architecture: self.architecture,
            sub_architecture: self.x32.then(|| "x32".to_owned()),
            bits: self.bits,
            endianness: self.endianness,
        }
    }

    /// The C library, by the dynamic linker, else by the libraries that it needs.
    fn system(&self) -> System {
        if let Some(interpreter) = &self.interpreter {
            let name = interpreter.rsplit('/').next().unwrap_or(interpreter);
            if name.starts_with("ld-musl-") {
                return System::Musl;
            }
            if !name.starts_with("ld-linux") && !name.starts_with("ld64.so") && !name.starts_with("ld.so.1") {
                return System::OtherElf(name.to_owned());
            }
            return System::Glibc(self.glibc_needed);
        }
        let needs = |name: &str| self.needed.iter().any(|needed| needed == name);
        let names_itself = |names: &[&str]| self.soname.as_deref().is_some_and(|soname| names.contains(&soname));
        if needs("libc.so.6") || needs("libc.so.6.1") || self.glibc_needed.is_some() || names_itself(&["libc.so.6"]) {
            return System::Glibc(self.glibc_needed);
        }
        if needs("libc.so") || self.needed.iter().any(|name| name.starts_with("libc.musl-")) {
            // Bionic's libc has this name, too; its libraries also need libdl.so, and those of musl do not.
            return if needs("libdl.so") { System::OtherElf("bionic".to_owned()) } else { System::Musl };
        }
        System::OtherElf(self.needed.first().cloned().unwrap_or_default())
    }

    /// Whether no dynamic linker will run: nothing can be preloaded.
    pub fn is_static(&self) -> bool {
        self.interpreter.is_none()
    }

    /// Whether it takes one of these names from another object.
    pub fn imports(&self, which: impl Fn(Name) -> bool) -> bool {
        self.names.iter().any(|(name, side)| *side == Side::Imported && which(*name))
    }

    /// Whether it gives one of these names to other objects.
    pub fn exports(&self, which: impl Fn(Name) -> bool) -> bool {
        self.names.iter().any(|(name, side)| *side == Side::Exported && which(*name))
    }

    /// Whether the kernel runs it on the same processor with the same kind of addresses.
    pub fn same_machine(&self, other: &Target) -> bool {
        let mine = self.target();
        (mine.architecture, mine.bits, mine.endianness) == (other.architecture, other.bits, other.endianness)
            && self.x32 == other.sub_architecture.is_some()
    }
}

fn read<'data, H: FileHeader<Endian = Endianness>, R: ReadRef<'data>>(data: R) -> Result<Elf, &'static str> {
    let header = H::parse(data).map_err(|_| "its header is damaged")?;
    let endian = header.endian().map_err(|_| "its order of bytes is unknown")?;
    let machine = header.e_machine(endian);
    let is_64 = header.is_type_64();
    let size = usize::from(header.e_phnum(endian)) * usize::from(header.e_phentsize(endian));
    if size > MOST_HEADERS {
        return Err("it has more program headers than the kernel takes");
    }
    let headers = header.program_headers(endian, data).map_err(|_| "its program headers are damaged")?;
    let mut file = Elf {
        file_type: header.e_type(endian),
        architecture: architecture(machine, is_64),
        machine,
        x32: machine == elf::EM_X86_64 && !is_64,
        bits: if is_64 { 64 } else { 32 },
        endianness: endian,
        interpreter: None,
        dynamic: false,
        pie: false,
        needed: Vec::new(),
        soname: None,
        search: Vec::new(),
        glibc_needed: None,
        glibc_defined: None,
        names: Vec::new(),
        go: false,
        segments: Vec::new(),
        damage: Vec::new(),
    };
    for program in headers.iter().filter(|program| program.p_type(endian) == elf::PT_LOAD) {
        let (offset, size) = program.file_range(endian);
        if offset.checked_add(size).is_none_or(|end| data.len().is_ok_and(|length| end > length)) {
            file.damage.push("it ends before its last segment");
        }
        let flags = program.p_flags(endian);
        file.segments.push(Segment {
            offset,
            size,
            address: program.p_vaddr(endian).into(),
            writable: flags & elf::PF_W != 0,
            executable: flags & elf::PF_X != 0,
        });
    }
    for program in headers {
        let (_, size) = program.file_range(endian);
        match program.p_type(endian) {
            // Longer ones the kernel refuses: PATH_MAX.
            elf::PT_INTERP if size > 4096 => return Err("the name of its dynamic linker is too long"),
            elf::PT_INTERP => match program.interpreter(endian, data) {
                Ok(name) => file.interpreter = name.map(text),
                Err(_) => return Err("the name of its dynamic linker cannot be read"),
            },
            elf::PT_NOTE if size <= LONGEST_TABLE => file.go |= has_go_note::<H, R>(program, endian, data),
            elf::PT_DYNAMIC if file.dynamic => {}
            elf::PT_DYNAMIC => {
                file.dynamic = true;
                match program.dynamic(endian, data) {
                    Ok(Some(entries)) if size <= LONGEST_TABLE => {
                        Tables::<H, R>::new(header, endian, data, entries).read(&mut file);
                    }
                    _ => file.damage.push("its dynamic segment cannot be read"),
                }
            }
            _ => {}
        }
    }
    file.go = file.go || has_go_mark(&file.segments, data);
    Ok(file)
}

/// The processors that the library is built for, or may be; others are told apart by their ELF machine only.
fn architecture(machine: u16, is_64: bool) -> Architecture {
    match (machine, is_64) {
        (elf::EM_AARCH64, _) => Architecture::Aarch64,
        (elf::EM_ARM, _) => Architecture::Arm,
        (elf::EM_386, _) => Architecture::I386,
        (elf::EM_X86_64, true) => Architecture::X86_64,
        (elf::EM_X86_64, false) => Architecture::X86_64_X32,
        (elf::EM_LOONGARCH, true) => Architecture::LoongArch64,
        (elf::EM_MIPS, true) => Architecture::Mips64,
        (elf::EM_MIPS, false) => Architecture::Mips,
        (elf::EM_PPC, _) => Architecture::PowerPc,
        (elf::EM_PPC64, _) => Architecture::PowerPc64,
        (elf::EM_RISCV, true) => Architecture::Riscv64,
        (elf::EM_RISCV, false) => Architecture::Riscv32,
        (elf::EM_S390, _) => Architecture::S390x,
        (elf::EM_SPARCV9, _) => Architecture::Sparc64,
        _ => Architecture::Unknown,
    }
}

/// The note in which Go's linker leaves the build's id.
fn has_go_note<'data, H: FileHeader<Endian = Endianness>, R: ReadRef<'data>>(
    program: &H::ProgramHeader,
    endian: Endianness,
    data: R,
) -> bool {
    let Ok(Some(mut notes)) = program.notes(endian, data) else { return false };
    while let Ok(Some(note)) = notes.next() {
        if note.name() == b"Go" {
            return true;
        }
    }
    false
}

/// The mark at the start of Go's build information, at the beginning of the data.
fn has_go_mark<'data, R: ReadRef<'data>>(segments: &[Segment], data: R) -> bool {
    let Some(first) = segments.iter().find(|segment| segment.writable) else { return false };
    let Ok(bytes) = data.read_bytes_at(first.offset, first.size.min(GO_MARK_WITHIN)) else { return false };
    memchr::memmem::find(bytes, b"\xff Go buildinf:").is_some()
}

/// A name from a file: whatever is not UTF-8 is replaced, for it is to be shown and compared only.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
