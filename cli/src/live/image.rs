//! An ELF file that a process has loaded: its headers and tables, read from the file, or from the process's memory
//! where the file is out of reach. Only what is asked for is read; nothing in it is trusted.

use jeshim_host::live::Process;
use object::Endianness;
use object::elf;
use object::pod::{self, Pod};
use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionHeader};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The largest table that is read, in bytes. The symbol table of Chromium has some megabytes.
const LARGEST: u64 = 256 << 20;

/// Where the bytes come from.
pub enum Source<'a> {
    /// The file.
    File(File),
    /// The process: it is mapped from this address on.
    Memory(&'a Process, u64),
}

/// An ELF file.
pub struct Image<'a> {
    source: Source<'a>,
    /// 64 or 32.
    pub bits: u8,
    /// As in the header: `EM_X86_64` and so on.
    pub machine: u16,
    /// The parts that are loaded, and others.
    pub segments: Vec<Segment>,
    endian: Endianness,
    sections: (u64, u16, u16),
}

/// What a program header says.
#[derive(Debug, Clone, Copy)]
pub struct Segment {
    /// `PT_LOAD` and so on.
    pub kind: u32,
    /// Whether it is executed.
    pub executable: bool,
    /// Whether it is written.
    pub writable: bool,
    /// Where it is in the file.
    pub offset: u64,
    /// Where it is loaded, before the bias is added.
    pub address: u64,
    /// Bytes in the file.
    pub file_size: u64,
    /// Bytes in memory.
    pub size: u64,
}

impl<'a> Image<'a> {
    /// Reads the headers. `None` when it is not an ELF file of this machine's byte order, or makes no sense.
    pub fn read(source: Source<'a>) -> Option<Image<'a>> {
        let mut image = Image {
            source,
            bits: 0,
            machine: 0,
            segments: Vec::new(),
            endian: if cfg!(target_endian = "little") { Endianness::Little } else { Endianness::Big },
            sections: (0, 0, 0),
        };
        match image.beginning(0, 6)?.get(..5)? {
            [0x7f, b'E', b'L', b'F', elf::ELFCLASS64] => image.headers::<elf::FileHeader64<Endianness>>()?,
            [0x7f, b'E', b'L', b'F', elf::ELFCLASS32] => image.headers::<elf::FileHeader32<Endianness>>()?,
            _ => return None,
        }
        Some(image)
    }

    fn headers<H: FileHeader<Endian = Endianness>>(&mut self) -> Option<()> {
        let endian = self.endian;
        let bytes = self.beginning(0, size_of::<H>() as u64)?;
        let (header, _) = pod::from_bytes::<H>(&bytes).ok()?;
        if !header.is_supported()
            || header.endian().ok()? != endian
            || header.e_phentsize(endian) as usize != size_of::<H::ProgramHeader>()
        {
            return None;
        }
        let count = header.e_phnum(endian);
        let size = u64::from(count) * size_of::<H::ProgramHeader>() as u64;
        let bytes_of_programs = self.beginning(header.e_phoff(endian).into(), size)?;
        let programs = table::<H::ProgramHeader>(&bytes_of_programs);
        self.bits = if header.is_type_64() { 64 } else { 32 };
        self.machine = header.e_machine(endian);
        self.sections = (header.e_shoff(endian).into(), header.e_shnum(endian), header.e_shstrndx(endian));
        self.segments = programs
            .iter()
            .map(|program| Segment {
                kind: program.p_type(endian),
                executable: program.p_flags(endian) & elf::PF_X != 0,
                writable: program.p_flags(endian) & elf::PF_W != 0,
                offset: program.p_offset(endian).into(),
                address: program.p_vaddr(endian).into(),
                file_size: program.p_filesz(endian).into(),
                size: program.p_memsz(endian).into(),
            })
            .collect();
        Some(())
    }

    /// The parts that are loaded.
    pub fn loaded(&self) -> impl Iterator<Item = &Segment> {
        self.segments.iter().filter(|segment| segment.kind == elf::PT_LOAD)
    }

    /// The dynamic linker that it names.
    pub fn interpreter(&self) -> Option<String> {
        let segment = self.segments.iter().find(|segment| segment.kind == elf::PT_INTERP)?;
        let bytes = self.at(segment.address, segment.file_size.min(4096))?;
        let end = memchr::memchr(0, &bytes).unwrap_or(bytes.len());
        Some(String::from_utf8_lossy(bytes.get(..end)?).into_owned())
    }

    /// First and last address, before the bias is added.
    pub fn extent(&self) -> Option<(u64, u64)> {
        let low = self.loaded().map(|segment| segment.address).min()?;
        let high = self.loaded().filter_map(|segment| segment.address.checked_add(segment.size)).max()?;
        (low < high).then_some((low, high))
    }

    /// What must be added to its addresses when its beginning is mapped at `start`.
    pub fn bias(&self, start: u64) -> Option<u64> {
        // Segments are mapped by whole pages: where in the page it begins is the same in file and memory.
        let first = self.loaded().find(|segment| segment.offset < 0x1_0000 && segment.offset <= segment.address)?;
        Some(start.wrapping_sub(first.address - first.offset))
    }

    /// Bytes from where the file begins; in memory only as far as the first segment goes.
    fn beginning(&self, offset: u64, size: u64) -> Option<Vec<u8>> {
        match &self.source {
            Source::File(file) => {
                // Memory for it is taken only when the file has so much.
                let end = offset.checked_add(size).filter(|_| size <= LARGEST)?;
                if end > file.metadata().ok()?.len() {
                    return None;
                }
                let mut bytes = vec![0; usize::try_from(size).ok()?];
                file.read_exact_at(&mut bytes, offset).ok()?;
                Some(bytes)
            }
            Source::Memory(process, start) => {
                let mut bytes = vec![0; usize::try_from(size).ok().filter(|_| size <= LARGEST)?];
                process.read(start.checked_add(offset)?, &mut bytes).ok()?;
                Some(bytes)
            }
        }
    }

    /// Bytes at an address, before the bias is added.
    pub fn at(&self, address: u64, size: u64) -> Option<Vec<u8>> {
        let end = address.checked_add(size)?;
        let inside = |segment: &&Segment| {
            segment.address <= address && segment.address.checked_add(segment.file_size).is_some_and(|last| end <= last)
        };
        let segment = self.loaded().find(inside)?;
        match &self.source {
            Source::File(_) => self.beginning(segment.offset.checked_add(address - segment.address)?, size),
            Source::Memory(_, start) => {
                self.beginning(self.bias(*start)?.wrapping_add(address).wrapping_sub(*start), size)
            }
        }
    }

    /// Address and size of a section. `None` also when it is read from memory, where sections are not known.
    pub fn section(&self, name: &str) -> Option<(u64, u64)> {
        if !matches!(self.source, Source::File(_)) || self.bits != 64 {
            return None;
        }
        type Header = elf::SectionHeader64<Endianness>;
        let (offset, count, names) = self.sections;
        let bytes = self.beginning(offset, u64::from(count) * size_of::<Header>() as u64)?;
        let sections = table::<Header>(&bytes);
        let names = sections.get(usize::from(names))?;
        let text = self.beginning(names.sh_offset(self.endian), names.sh_size(self.endian))?;
        let found = sections.iter().find(|section| {
            let from = section.sh_name(self.endian) as usize;
            text.get(from..)
                .and_then(|text| text.strip_prefix(name.as_bytes()))
                .is_some_and(|rest| rest.first() == Some(&0))
        })?;
        Some((found.sh_addr(self.endian), found.sh_size(self.endian)))
    }

    /// The dynamic section, of a 64-bit file. Addresses in it are without the bias.
    pub fn dynamic(&self) -> Option<Dynamic> {
        let segment =
            self.segments.iter().find(|segment| segment.kind == elf::PT_DYNAMIC).filter(|_| self.bits == 64)?;
        let bytes = self.at(segment.address, segment.file_size)?;
        let (low, high) = self.extent()?;
        // glibc adds the bias to the addresses in memory, musl does not.
        let bias = match &self.source {
            Source::File(_) => 0,
            Source::Memory(_, start) => self.bias(*start)?,
        };
        let plain = |value: u64| {
            let without = value.wrapping_sub(bias);
            if (low..high).contains(&without) { without } else { value }
        };
        let mut dynamic = Dynamic::default();
        for entry in table::<elf::Dyn64<Endianness>>(&bytes) {
            let value: u64 = entry.d_val(self.endian);
            match u32::try_from(entry.d_tag(self.endian)) {
                Ok(elf::DT_NULL) => break,
                Ok(elf::DT_JMPREL) => dynamic.jump_slots.0 = plain(value),
                Ok(elf::DT_PLTRELSZ) => dynamic.jump_slots.1 = value,
                Ok(elf::DT_RELA) => dynamic.relocations.0 = plain(value),
                Ok(elf::DT_RELASZ) => dynamic.relocations.1 = value,
                Ok(elf::DT_RELACOUNT) => dynamic.relative = value,
                Ok(elf::DT_SYMTAB) => dynamic.symbols = plain(value),
                Ok(elf::DT_STRTAB) => dynamic.names.0 = plain(value),
                Ok(elf::DT_STRSZ) => dynamic.names.1 = value,
                _ => {}
            }
        }
        Some(dynamic)
    }

    /// The order of bytes in it.
    pub fn endian(&self) -> Endianness {
        self.endian
    }

    /// Whether it is read from its file, where sections are known.
    pub fn has_sections(&self) -> bool {
        matches!(self.source, Source::File(_))
    }
}

/// What the dynamic section says of relocations: tables are address and size in bytes.
#[derive(Debug, Default)]
pub struct Dynamic {
    /// Those of the procedure linkage table.
    pub jump_slots: (u64, u64),
    /// All others.
    pub relocations: (u64, u64),
    /// So many of those come first and have no symbol.
    pub relative: u64,
    /// The symbols.
    pub symbols: u64,
    /// Their names.
    pub names: (u64, u64),
}

/// As many whole entries as there are.
pub fn table<T: Pod>(bytes: &[u8]) -> &[T] {
    pod::slice_from_bytes(bytes, bytes.len() / size_of::<T>()).map_or(&[], |(entries, _)| entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// Reads everything that is ever read of a file with these bytes.
    fn read(path: &std::path::Path, bytes: &[u8]) -> bool {
        std::fs::File::create(path).and_then(|mut file| file.write_all(bytes)).expect("a file");
        let Some(image) = Image::read(Source::File(File::open(path).expect("a file"))) else { return false };
        let _ = (image.extent(), image.bias(0x7f00_0000_0000), image.interpreter());
        let section = image.section(".jeshim.about").and_then(|(address, size)| image.at(address, size));
        let names = super::super::bindings::names_in(&image);
        section.is_some() || names.is_some_and(|names| names.contains(&"malloc"))
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let path = std::env::temp_dir().join(format!("jeshim-image-{}", std::process::id()));
        let mut whole = std::fs::read("/bin/sh").expect("a program");
        assert!(read(&path, &whole), "it takes malloc from somewhere");
        // Headers, tables and the dynamic section are what lengths and addresses are read from.
        let mut state: u64 = 1;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let end = whole.len();
        let places = [(0, 64), (64, 700), (0, 8192.min(end)), (end.saturating_sub(12_000), end), (0, end)];
        for round in 0..500 {
            let (from, to) = places[round % places.len()];
            let mut changes = Vec::new();
            for _ in 0..1 + round % 4 {
                let at = from + random(to - from);
                let byte = [0, 0xff, 0x7f, 0x80, random(256) as u8][random(5)];
                changes.push((at, std::mem::replace(&mut whole[at], byte)));
            }
            let length = if round % 7 == 0 { random(end) } else { end };
            read(&path, &whole[..length]);
            for (at, byte) in changes.into_iter().rev() {
                whole[at] = byte;
            }
        }
        assert!(read(&path, &whole), "all is as it was");
        let _ = std::fs::remove_file(&path);
    }
}
