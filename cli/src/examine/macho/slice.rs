//! One piece of a Mach-O file: what its header and its load commands say.

use super::Damage;
use super::container::{Kind, Piece};
use super::heap::Heap;
use super::signature::Signature;
use super::symbols::Symbols;
use object::read::ReadRef;
use object::read::macho::{LoadCommandData, LoadCommandVariant, MachHeader, Nlist, Section, Segment};
use object::{Endianness, macho};

/// More is not read at once: no section or table that matters here comes near it.
const MOST_BYTES: u64 = 1 << 30;

/// What a piece says.
#[derive(Debug, Clone)]
pub(super) struct Slice {
    pub(super) kind: Kind,
    pub(super) bits: u8,
    pub(super) endianness: Endianness,
    /// MH_EXECUTE, MH_DYLIB …
    pub(super) file_type: u32,
    /// Whether the kernel starts dyld for it.
    pub(super) is_dynamic: bool,
    /// PLATFORM_MACOS …; `None`: too old to say, which is macOS.
    pub(super) platform: Option<u32>,
    /// By the App Store.
    pub(super) is_encrypted: bool,
    /// Whether it has the section by which it asks dyld to ignore its variables.
    pub(super) has_restrict_section: bool,
    /// Without one Apple silicon does not run it.
    pub(super) signature: Option<Signature>,
    /// Where its memory comes from.
    pub(super) heap: Heap,
}

/// The processor of the Mach-O header at an offset: type and subtype.
pub(super) fn processor<'data, R: ReadRef<'data>>(data: R, offset: u64) -> Result<(u32, u32), Damage> {
    let bytes = data.read_bytes_at(offset, 12).map_err(|()| Damage::new("its header is cut off"))?;
    let number = |at: usize| -> [u8; 4] { bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).unwrap_or_default() };
    match u32::from_be_bytes(number(0)) {
        macho::MH_MAGIC | macho::MH_MAGIC_64 => Ok((u32::from_be_bytes(number(4)), u32::from_be_bytes(number(8)))),
        macho::MH_CIGAM | macho::MH_CIGAM_64 => Ok((u32::from_le_bytes(number(4)), u32::from_le_bytes(number(8)))),
        _ => Err(Damage::new("a piece of it does not begin with a number of Mach-O's")),
    }
}

impl Slice {
    /// Reads a piece.
    pub(super) fn read<'data, R: ReadRef<'data>>(data: R, piece: &Piece) -> Result<Slice, Damage> {
        if piece.size == 0 {
            return Err(Damage::new(format!("its {} piece lies beyond its end", piece.kind.name())));
        }
        let (cpu, sub) = processor(data, piece.offset)?;
        let magic = data.read_bytes_at(piece.offset, 4).map_err(|()| Damage::new("its header is cut off"))?;
        let kind = Kind::of(cpu, sub);
        if matches!(magic, [0xfe, 0xed, 0xfa, 0xcf] | [0xcf, 0xfa, 0xed, 0xfe]) {
            Slice::read_header::<macho::MachHeader64<Endianness>, R>(data, piece, kind)
        } else {
            Slice::read_header::<macho::MachHeader32<Endianness>, R>(data, piece, kind)
        }
    }

    fn read_header<'data, Mach, R>(data: R, piece: &Piece, kind: Kind) -> Result<Slice, Damage>
    where
        Mach: MachHeader<Endian = Endianness>,
        R: ReadRef<'data>,
    {
        let bounded = Bounded { data, piece };
        let header = Mach::parse(data, piece.offset)?;
        let endian = header.endian()?;
        let mut slice = Slice {
            kind,
            bits: if header.is_type_64() { 64 } else { 32 },
            endianness: endian,
            file_type: header.filetype(endian),
            is_dynamic: false,
            platform: None,
            is_encrypted: false,
            has_restrict_section: false,
            signature: None,
            heap: Heap::default(),
        };
        let mut texts = Texts { found: Vec::new(), room: piece.size };
        let mut symbols = None;
        let mut commands = header.load_commands(endian, data, piece.offset)?;
        while let Some(command) = commands.next()? {
            if let Some((segment, sections)) = Mach::Segment::from_command(command)? {
                for section in segment.sections(endian, sections)? {
                    slice.see_section::<Mach, R>(section, endian, bounded, &mut texts)?;
                }
                continue;
            }
            match command.variant()? {
                LoadCommandVariant::Symtab(_) if symbols.is_some() => {
                    return Err(Damage::new("it has several symbol tables"));
                }
                LoadCommandVariant::Symtab(table) => {
                    let names = bounded.bytes(table.stroff.get(endian), table.strsize.get(endian).into(), "names")?;
                    let size = size_of::<Mach::Nlist>() as u64 * u64::from(table.nsyms.get(endian));
                    bounded.bytes(table.symoff.get(endian), size, "symbols")?;
                    let at = piece.offset.saturating_add(table.symoff.get(endian).into());
                    let table = data.read_slice_at::<Mach::Nlist>(at, table.nsyms.get(endian) as usize);
                    let table = table.map_err(|()| Damage::new("its symbols are cut off"))?;
                    symbols = Some(Symbols::new(names, table.iter().filter_map(|symbol| symbol_of(symbol, endian))));
                }
                LoadCommandVariant::LinkeditData(place) if command.cmd() == macho::LC_CODE_SIGNATURE => {
                    if slice.signature.is_some() {
                        return Err(Damage::new("it has several code signatures"));
                    }
                    let bytes = bounded.bytes(
                        place.dataoff.get(endian),
                        place.datasize.get(endian).into(),
                        "code signature",
                    )?;
                    slice.signature = Some(Signature::read(bytes)?);
                }
                _ => slice.see_command(command, endian)?,
            }
        }
        slice.heap.look(&symbols.unwrap_or_default(), &texts.found);
        Ok(slice)
    }

    fn see_section<'data, Mach, R>(
        &mut self,
        section: &Mach::Section,
        endian: Endianness,
        bounded: Bounded<'_, R>,
        texts: &mut Texts<'data>,
    ) -> Result<(), Damage>
    where
        Mach: MachHeader<Endian = Endianness>,
        R: ReadRef<'data>,
    {
        match (section.segment_name(), section.name()) {
            (b"__RESTRICT", b"__restrict") => self.has_restrict_section = true,
            // Its table of functions; the section __go_buildinfo may be left out.
            (_, b"__gopclntab") => self.heap.is_go = true,
            // In a file with debugging information only, they are announced and not there.
            (b"__TEXT", b"__cstring" | b"__const") if self.file_type == macho::MH_EXECUTE => {
                let size = section.size(endian).into();
                if let Some(room) = texts.room.checked_sub(size) {
                    texts.room = room;
                    texts.found.push(bounded.bytes(section.offset(endian), size, "constants")?);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn see_command(&mut self, command: LoadCommandData<'_, Endianness>, endian: Endianness) -> Result<(), Damage> {
        match command.variant()? {
            LoadCommandVariant::LoadDylinker(_) => self.is_dynamic = true,
            LoadCommandVariant::Dylib(dylib) => {
                self.heap.see_library(command.string(endian, dylib.dylib.name)?);
            }
            LoadCommandVariant::BuildVersion(version) => {
                // A library may be for two systems, macOS and Catalyst; a program is for one.
                let platform = version.platform.get(endian);
                if self.platform.is_none() || platform == macho::PLATFORM_MACOS {
                    self.platform = Some(platform);
                }
            }
            LoadCommandVariant::VersionMin(_) => {
                self.platform = Some(match command.cmd() {
                    macho::LC_VERSION_MIN_IPHONEOS => macho::PLATFORM_IOS,
                    macho::LC_VERSION_MIN_TVOS => macho::PLATFORM_TVOS,
                    macho::LC_VERSION_MIN_WATCHOS => macho::PLATFORM_WATCHOS,
                    _ => macho::PLATFORM_MACOS,
                });
            }
            LoadCommandVariant::EncryptionInfo32(info) => self.is_encrypted |= info.cryptid.get(endian) != 0,
            LoadCommandVariant::EncryptionInfo64(info) => self.is_encrypted |= info.cryptid.get(endian) != 0,
            _ => {}
        }
        Ok(())
    }
}

/// What matters of a symbol: where its name begins, and whether it is defined here; `None` for a debugger's.
fn symbol_of<N: Nlist<Endian = Endianness>>(symbol: &N, endian: Endianness) -> Option<(u32, bool)> {
    (!symbol.is_stab()).then(|| (symbol.n_strx(endian), !symbol.is_undefined()))
}

/// The constants to look through: together not longer than the piece, however often its headers name them.
struct Texts<'data> {
    found: Vec<&'data [u8]>,
    room: u64,
}

/// A file, of which one piece only may be read.
#[derive(Clone, Copy)]
struct Bounded<'p, R> {
    data: R,
    piece: &'p Piece,
}

impl<'data, R: ReadRef<'data>> Bounded<'_, R> {
    /// Bytes at an offset from the piece's start.
    fn bytes(&self, offset: u32, size: u64, what: &str) -> Result<&'data [u8], Damage> {
        let cut = || Damage::new(format!("its {what} lie beyond its end"));
        let offset = u64::from(offset);
        let end = offset.checked_add(size).filter(|end| *end <= self.piece.size && size <= MOST_BYTES);
        end.ok_or_else(cut)?;
        let at = self.piece.offset.checked_add(offset).ok_or_else(cut)?;
        self.data.read_bytes_at(at, size).map_err(|()| cut())
    }
}
