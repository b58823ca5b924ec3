//! Which pieces a file consists of: one, or one for each processor in a universal file.

use super::Damage;
use object::endian::BigEndian;
use object::macho;
use object::read::ReadRef;
use object::read::macho::{FatArch, FatHeader, MachOFatFile32, MachOFatFile64};

/// The kernel reads the table of a universal file from its first page only: no more than that many entries.
const MOST_PIECES: usize = 128;

/// For which processor a piece is. `arm64e` has signed pointers: it shares instructions with `arm64`, but not libraries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Arm64,
    Arm64e,
    X86_64,
    /// For x86-64 processors with AVX2; loads libraries of x86_64, too.
    X86_64h,
    /// Which no macOS of today runs: i386, ppc …
    Other(String),
}

impl Kind {
    pub(super) fn of(cpu: u32, sub: u32) -> Kind {
        match (cpu, sub & !macho::CPU_SUBTYPE_MASK) {
            (macho::CPU_TYPE_ARM64, macho::CPU_SUBTYPE_ARM64E) => Kind::Arm64e,
            (macho::CPU_TYPE_ARM64, _) => Kind::Arm64,
            (macho::CPU_TYPE_X86_64, macho::CPU_SUBTYPE_X86_64_H) => Kind::X86_64h,
            (macho::CPU_TYPE_X86_64, _) => Kind::X86_64,
            (macho::CPU_TYPE_X86, _) => Kind::Other("i386".to_owned()),
            (macho::CPU_TYPE_POWERPC, _) => Kind::Other("ppc".to_owned()),
            (macho::CPU_TYPE_POWERPC64, _) => Kind::Other("ppc64".to_owned()),
            (macho::CPU_TYPE_ARM, _) => Kind::Other("arm".to_owned()),
            (macho::CPU_TYPE_ARM64_32, _) => Kind::Other("arm64_32".to_owned()),
            (cpu, _) => Kind::Other(format!("processor {cpu:#x}")),
        }
    }

    /// As `lipo` and `file` name it.
    pub(super) fn name(&self) -> &str {
        match self {
            Kind::Arm64 => "arm64",
            Kind::Arm64e => "arm64e",
            Kind::X86_64 => "x86_64",
            Kind::X86_64h => "x86_64h",
            Kind::Other(name) => name,
        }
    }

    /// Whether a process of this kind can map a library of that one.
    pub(super) fn loads(&self, library: &Kind) -> bool {
        self == library || (*self == Kind::X86_64h && *library == Kind::X86_64)
    }
}

/// Names in a row: "arm64 and x86_64".
pub(super) fn names<'a>(kinds: impl IntoIterator<Item = &'a Kind>) -> String {
    let names: Vec<_> = kinds.into_iter().map(Kind::name).collect();
    match names.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        Some((last, _)) => (*last).to_owned(),
        None => "nothing".to_owned(),
    }
}

/// One piece of a file; in a file that is not universal, the file.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    /// What the table says, or the piece's own header when there is no table.
    pub(super) kind: Kind,
    /// In bytes, from the file's start.
    pub(super) offset: u64,
    /// In bytes; not beyond the file's end.
    pub(super) size: u64,
}

/// What a file is, by its first bytes.
pub(super) enum Container {
    Thin(Piece),
    Universal(Vec<Piece>),
    /// Its magic number is that of a universal file.
    JavaClass,
}

/// Reads the container: never what is in the pieces.
pub(super) fn read<'data, R: ReadRef<'data>>(data: R) -> Result<Container, Damage> {
    let size = data.len().map_err(|()| Damage::new("its length cannot be read"))?;
    let magic = data.read_bytes_at(0, 4).map_err(|()| Damage::new("it is shorter than a header"))?;
    match u32::from_be_bytes(magic.try_into().unwrap_or_default()) {
        macho::FAT_MAGIC => {
            let header = data.read_at::<FatHeader>(0).map_err(|()| Damage::new("its universal header is cut off"))?;
            // A class file has its version there, 45 or more; no universal file has that many pieces.
            if header.nfat_arch.get(BigEndian) >= 43 {
                return Ok(Container::JavaClass);
            }
            pieces(MachOFatFile32::parse(data)?.arches(), size)
        }
        macho::FAT_MAGIC_64 => pieces(MachOFatFile64::parse(data)?.arches(), size),
        macho::MH_MAGIC | macho::MH_CIGAM | macho::MH_MAGIC_64 | macho::MH_CIGAM_64 => {
            let (cpu, sub) = super::slice::processor(data, 0)?;
            Ok(Container::Thin(Piece { kind: Kind::of(cpu, sub), offset: 0, size }))
        }
        _ => Err(Damage::new("it does not begin with a number of Mach-O's")),
    }
}

fn pieces<F: FatArch>(table: &[F], size: u64) -> Result<Container, Damage> {
    if table.is_empty() || table.len() > MOST_PIECES {
        return Err(Damage::new(format!("its universal header announces {} pieces", table.len())));
    }
    let pieces = table.iter().map(|entry| {
        let (offset, length) = (entry.offset().into(), entry.size().into());
        if offset.checked_add(length).is_none_or(|end| end > size) {
            // Left to whoever reads the piece: the others may be whole.
            return Piece { kind: Kind::of(entry.cputype(), entry.cpusubtype()), offset, size: 0 };
        }
        Piece { kind: Kind::of(entry.cputype(), entry.cpusubtype()), offset, size: length }
    });
    Ok(Container::Universal(pieces.collect()))
}
