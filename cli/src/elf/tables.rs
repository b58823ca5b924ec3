//! The tables that a dynamic segment points to: strings, symbols, versions.

use super::{Elf, LONGEST_TABLE, Name, Side, text};
use object::elf;
use object::read::elf::{Dyn, FileHeader, GnuHashTable, HashTable, Rel, Rela, SectionHeader, Sym};
use object::read::{ReadRef, StringTable};
use object::{Endianness, Pod};

/// More libraries, and more paths to look for them, no program needs; a damaged file may claim millions.
const MOST_NAMES: usize = 4096;
/// The tables of versions are far shorter, in bytes; none says how long it is.
const LONGEST_VERSIONS: u64 = 1 << 20;

/// How much of a symbol's name is looked at.
const LONGEST_NAME: usize = 48;

/// A dynamic segment, and the file around it.
pub(super) struct Tables<'data, H: FileHeader<Endian = Endianness>, R: ReadRef<'data>> {
    header: &'data H,
    endian: Endianness,
    data: R,
    entries: &'data [H::Dyn],
}

impl<'data, H: FileHeader<Endian = Endianness>, R: ReadRef<'data>> Tables<'data, H, R> {
    pub(super) fn new(header: &'data H, endian: Endianness, data: R, entries: &'data [H::Dyn]) -> Self {
        // The list ends at DT_NULL; what comes after is room.
        let end = entries.iter().position(|entry| entry.d_tag(endian).into() == 0).unwrap_or(entries.len());
        Tables { header, endian, data, entries: entries.get(..end).unwrap_or(entries) }
    }

    /// Fills in what the segment says.
    pub(super) fn read(&self, file: &mut Elf) {
        file.pie = self.value(elf::DT_FLAGS_1).is_some_and(|flags| flags & u64::from(elf::DF_1_PIE) != 0);
        let strings = self.value(elf::DT_STRTAB).zip(self.value(elf::DT_STRSZ));
        let Some(strings) = strings.and_then(|(address, size)| self.at(file, address, size)) else {
            // A static-pie has a dynamic segment with nothing in it.
            if self.value(elf::DT_NEEDED).is_some() || self.value(elf::DT_SYMTAB).is_some() {
                file.damage.push("its table of names cannot be read");
            }
            return;
        };
        let table = StringTable::new(strings, 0, strings.len() as u64);
        let mut names = |tag| {
            let mut names = Vec::new();
            for entry in self.entries.iter().filter(|entry| entry.tag32(self.endian) == Some(tag)).take(MOST_NAMES) {
                match entry.string(self.endian, table) {
                    Ok(name) => names.push(text(name)),
                    Err(_) => file.damage.push("the name of a library that it needs cannot be read"),
                }
            }
            names
        };
        let (needed, soname, run, origin) =
            (names(elf::DT_NEEDED), names(elf::DT_SONAME), names(elf::DT_RUNPATH), names(elf::DT_RPATH));
        file.needed = needed;
        file.soname = soname.into_iter().next();
        let search = if run.is_empty() { origin } else { run };
        file.search = search.iter().flat_map(|list| list.split(':')).map(str::to_owned).take(MOST_NAMES).collect();
        self.read_versions(file, table);
        self.read_names(file, strings);
        file.damage.dedup();
    }

    fn value(&self, tag: u32) -> Option<u64> {
        let mut entries = self.entries.iter();
        entries.find(|entry| entry.tag32(self.endian) == Some(tag)).map(|entry| entry.d_val(self.endian).into())
    }

    /// So many bytes of what is loaded at an address.
    fn at(&self, file: &Elf, address: u64, size: u64) -> Option<&'data [u8]> {
        let (offset, rest) = place(file, address)?;
        if size > rest.min(LONGEST_TABLE) {
            return None;
        }
        self.data.read_bytes_at(offset, size).ok()
    }

    /// What is loaded at an address, up to the end of the segment or of the file, and not more than `most` bytes.
    fn rest(&self, file: &Elf, address: u64, most: u64) -> Option<&'data [u8]> {
        let (offset, rest) = place(file, address)?;
        let in_file = self.data.len().ok()?.checked_sub(offset)?;
        self.data.read_bytes_at(offset, rest.min(in_file).min(most)).ok()
    }

    fn slice<T: Pod>(&self, file: &Elf, address: u64, count: u64) -> Option<&'data [T]> {
        let size = count.checked_mul(size_of::<T>() as u64)?;
        let bytes = self.at(file, address, size)?;
        object::pod::slice_from_bytes(bytes, usize::try_from(count).ok()?).ok().map(|(slice, _)| slice)
    }

    /// The newest versions of glibc that are asked for, and defined. Both tables are lists of lists, linked by distances:
    /// these only lead forward, and not more than [`MOST_NAMES`] are followed.
    fn read_versions(&self, file: &mut Elf, strings: StringTable<'data>) {
        let bytes = |tag| self.value(tag).and_then(|address| self.rest(file, address, LONGEST_VERSIONS));
        let needs: &[u8] = bytes(elf::DT_VERNEED).unwrap_or_default();
        let defines: &[u8] = bytes(elf::DT_VERDEF).unwrap_or_default();
        let (mut at, mut left) = (0_u64, MOST_NAMES);
        while let Ok(need) = needs.read_at::<elf::Verneed<Endianness>>(at) {
            let mut version_at = at.saturating_add(need.vn_aux.get(self.endian).into());
            while let (Ok(version), true) = (needs.read_at::<elf::Vernaux<Endianness>>(version_at), left > 0) {
                left -= 1;
                file.glibc_needed =
                    file.glibc_needed.max(version.name(self.endian, strings).ok().and_then(glibc_version));
                match version.vna_next.get(self.endian) {
                    0 => break,
                    next => version_at = version_at.saturating_add(next.into()),
                }
            }
            match need.vn_next.get(self.endian) {
                0 => break,
                _ if left == 0 => break,
                next => at = at.saturating_add(next.into()),
            }
        }
        at = 0;
        for _ in 0..MOST_NAMES {
            let Ok(definition) = defines.read_at::<elf::Verdef<Endianness>>(at) else { break };
            let name_at = at.saturating_add(definition.vd_aux.get(self.endian).into());
            if let Ok(version) = defines.read_at::<elf::Verdaux<Endianness>>(name_at) {
                let name = version.name(self.endian, strings).ok();
                file.glibc_defined = file.glibc_defined.max(name.and_then(glibc_version));
            }
            match definition.vd_next.get(self.endian) {
                0 => break,
                next => at = at.saturating_add(next.into()),
            }
        }
    }

    fn read_names(&self, file: &mut Elf, strings: &[u8]) {
        let Some(address) = self.value(elf::DT_SYMTAB) else { return };
        let count = self.count_symbols(file, address);
        let Some(symbols) = self.slice::<H::Sym>(file, address, count) else {
            file.damage.push("its table of symbols cannot be read");
            return;
        };
        for symbol in symbols {
            if symbol.is_local() {
                continue;
            }
            let at = usize::try_from(symbol.st_name(self.endian)).unwrap_or(usize::MAX);
            let Some(start) = strings.get(at..) else { continue };
            // No name that says something is longer, nor a beginning that does; those of C++ are hundreds of bytes.
            let start = start.get(..LONGEST_NAME).unwrap_or(start);
            // Most are of C++, and told apart by their first bytes.
            if start.starts_with(b"_ZN") && !Name::BEGINNINGS.iter().any(|beginning| start.starts_with(beginning)) {
                continue;
            }
            let length = memchr::memchr(0, start).unwrap_or(start.len());
            let Some(name) = start.get(..length).and_then(Name::of) else { continue };
            let side = if symbol.is_undefined(self.endian) { Side::Imported } else { Side::Exported };
            let hidden = !matches!(symbol.st_visibility(), elf::STV_DEFAULT | elf::STV_PROTECTED);
            if !hidden && !file.names.contains(&(name, side)) {
                file.names.push((name, side));
            }
        }
    }

    /// How many symbols there are, which no entry says. Section headers do, where they are; else the hash tables, of
    /// which GNU's leaves out what is only imported; else the relocations, for what is imported is also used.
    fn count_symbols(&self, file: &Elf, address: u64) -> u64 {
        if let Ok(sections) = self.header.section_headers(self.endian, self.data) {
            let section = sections.iter().find(|section| {
                section.sh_type(self.endian) == elf::SHT_DYNSYM && section.sh_addr(self.endian).into() == address
            });
            if let Some(section) = section {
                return section.sh_size(self.endian).into() / size_of::<H::Sym>() as u64;
            }
        }
        let table = |tag| self.value(tag).and_then(|address| self.rest(file, address, LONGEST_TABLE));
        if let Some(Ok(table)) = table(elf::DT_HASH).map(|bytes| HashTable::<H>::parse(self.endian, bytes)) {
            return u64::from(table.symbol_table_length());
        }
        let by_hash = table(elf::DT_GNU_HASH)
            .and_then(|bytes| GnuHashTable::<H>::parse(self.endian, bytes).ok())
            .and_then(|table| table.symbol_table_length(self.endian));
        u64::from(by_hash.unwrap_or(0)).max(self.last_symbol_used(file))
    }

    /// One more than the highest index of a symbol in a relocation.
    fn last_symbol_used(&self, file: &Elf) -> u64 {
        let with_addend = |table, size| {
            let (address, size) = (self.value(table)?, self.value(size)?);
            let entries = self.slice::<H::Rela>(file, address, size / size_of::<H::Rela>() as u64)?;
            entries.iter().map(|entry| u64::from(entry.r_sym(self.endian, false)) + 1).max()
        };
        let without = |table, size| {
            let (address, size) = (self.value(table)?, self.value(size)?);
            let entries = self.slice::<H::Rel>(file, address, size / size_of::<H::Rel>() as u64)?;
            entries.iter().map(|entry| u64::from(entry.r_sym(self.endian)) + 1).max()
        };
        let of_calls = match self.value(elf::DT_PLTREL).and_then(|tag| u32::try_from(tag).ok()) {
            Some(elf::DT_REL) => without(elf::DT_JMPREL, elf::DT_PLTRELSZ),
            _ => with_addend(elf::DT_JMPREL, elf::DT_PLTRELSZ),
        };
        let others = with_addend(elf::DT_RELA, elf::DT_RELASZ).max(without(elf::DT_REL, elf::DT_RELSZ));
        of_calls.max(others).unwrap_or(0)
    }
}

/// Where in the file an address is, and how many bytes of its segment come from there on.
fn place(file: &Elf, address: u64) -> Option<(u64, u64)> {
    file.segments.iter().find_map(|segment| {
        let distance = address.checked_sub(segment.address).filter(|distance| *distance < segment.size)?;
        Some((segment.offset.checked_add(distance)?, segment.size - distance))
    })
}

/// (2, 34) of GLIBC_2.34 and GLIBC_2.3.4; nothing of GLIBC_PRIVATE.
fn glibc_version(name: &[u8]) -> Option<(u32, u32)> {
    let mut numbers = std::str::from_utf8(name).ok()?.strip_prefix("GLIBC_")?.split('.').map(str::parse::<u32>);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}
