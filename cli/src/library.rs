//! The library: where it is, and what its file says about itself.

use crate::elf::Elf;
use object::read::{ReadCache, ReadRef};
use object::{Architecture, Endianness, Object, ObjectSection};
use std::path::{Path, PathBuf};

/// The section in which the library describes itself (`src/about.rs`).
const SECTIONS: &[&str] = &[".jeshim.about", "__jeshim_about"];

/// What is known of a library before anything loads it.
#[derive(Debug, Clone)]
pub struct Library {
    /// Absolute, without symbolic links.
    pub path: PathBuf,
    /// Its own version.
    pub version: String,
    /// That of the jemalloc in it.
    pub jemalloc_version: String,
    /// The largest page of a kernel that it runs on, in bytes; 0 when not known.
    pub page_size: u64,
    /// jemalloc's options in it.
    pub options: Vec<Opt>,
    /// For which programs it is.
    pub target: Target,
}

/// An option of jemalloc.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opt {
    /// As in MALLOC_CONF.
    pub name: String,
    /// What it takes: alternatives `true|false`, or one of `NUMBER`, `SIZE`, `SIGNED` (-1 for never), `TEXT`.
    pub takes: String,
}

/// For which programs a library or an executable is: a process holds one kind only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Executable format and, for ELF, the C library.
    pub system: System,
    /// Processor.
    pub architecture: Architecture,
    /// Whether the x32 or arm64e ABI, or another that shares its processor.
    pub sub_architecture: Option<String>,
    /// 64 or 32.
    pub bits: u8,
    /// Order of bytes.
    pub endianness: Endianness,
}

/// Executable format and C library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum System {
    /// glibc; the newest version of its symbols that the file asks for, as (2, 34).
    Glibc(Option<(u32, u32)>),
    /// musl.
    Musl,
    /// Bionic, uClibc or another, by the name of its dynamic linker.
    OtherElf(String),
    /// macOS.
    MacOs,
}

/// Why there is no library.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// It was looked for everywhere.
    #[error("no {name} beside this command ({}), in ../lib/jeshim, or in cargo's target folder; build it with 'cargo build --release', or name it with --lib PATH", beside.display())]
    NotFound {
        /// File name.
        name: &'static str,
        /// The command's folder.
        beside: PathBuf,
    },
    /// The file that was named cannot be read.
    #[error("{}: {error}; name the library with --lib PATH", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's message.
        error: std::io::Error,
    },
    /// The file that was named is something else.
    #[error("{} is not jeshim's library ({reason}); build it with 'cargo build --release', or name another with --lib PATH", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// What was expected in it.
        reason: String,
    },
}

impl Library {
    /// Finds the library: the one that is named, else the one beside this command, in `../lib/jeshim`, or in cargo's
    /// target folder (`CARGO_TARGET_DIR`, or `target` of the folder in which this is a project).
    ///
    /// # Errors
    /// When there is none, or it is not ours.
    pub fn find(named: Option<&Path>) -> Result<Library, LibraryError> {
        match named {
            Some(path) => Library::read(path),
            None => Library::read(&Library::look()?),
        }
    }

    fn look() -> Result<PathBuf, LibraryError> {
        let name = jeshim_host::preload::FILE_NAME;
        let command = std::env::current_exe().and_then(std::fs::canonicalize).unwrap_or_default();
        let beside = command.parent().unwrap_or(Path::new("")).to_owned();
        let mut places =
            vec![beside.join(name), beside.join("deps").join(name), beside.join("../lib/jeshim").join(name)];
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or(PathBuf::from("target"), PathBuf::from);
        places.push(target.join("release").join(name));
        places.into_iter().find(|path| path.is_file()).ok_or(LibraryError::NotFound { name, beside })
    }

    /// Reads what a library says about itself.
    ///
    /// # Errors
    /// When it cannot be read, or is not ours.
    pub fn read(path: &Path) -> Result<Library, LibraryError> {
        let unreadable = |error| LibraryError::Unreadable { path: path.to_owned(), error };
        let other = |reason: &str| LibraryError::Other { path: path.to_owned(), reason: reason.to_owned() };
        let absolute = std::fs::canonicalize(path).map_err(unreadable)?;
        if !absolute.is_file() {
            return Err(other("it is not a file"));
        }
        let file = std::fs::File::open(&absolute).map_err(unreadable)?;
        let cache = ReadCache::new(file);
        let object = object::File::parse(&cache).map_err(|error| other(&error.to_string()))?;
        let about = SECTIONS
            .iter()
            .find_map(|name| object.section_by_name(name))
            .ok_or_else(|| other("its section .jeshim.about is missing"))?;
        let about = about.data().map_err(|error| other(&error.to_string()))?;
        let about = std::str::from_utf8(about).map_err(|_| other("its section .jeshim.about is not text"))?;
        let mut library = Library {
            path: absolute,
            version: String::new(),
            jemalloc_version: String::new(),
            page_size: 0,
            options: Vec::new(),
            target: Target::of(&object),
        };
        for line in about.lines() {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["jeshim", version] => library.version = version.to_owned(),
                ["jemalloc", version] => library.jemalloc_version = version.to_owned(),
                ["page", bytes] => library.page_size = bytes.parse().unwrap_or(0),
                ["option", name, takes] => {
                    library.options.push(Opt { name: name.to_owned(), takes: takes.to_owned() });
                }
                _ => {} // A newer library may say more.
            }
        }
        Ok(library)
    }
}

impl Target {
    /// For which programs an object file is, from its headers, its needed libraries and its symbols' versions.
    pub fn of<'data, R: ReadRef<'data>>(object: &object::File<'data, R>) -> Target {
        let elf = match object {
            object::File::Elf32(file) => Elf::read(file.data()).ok(),
            object::File::Elf64(file) => Elf::read(file.data()).ok(),
            _ => None,
        };
        elf.map(|elf| elf.target()).unwrap_or_else(|| Target {
            system: match object.format() {
                object::BinaryFormat::MachO => System::MacOs,
                _ => System::OtherElf(String::new()),
            },
            architecture: object.architecture(),
            sub_architecture: object.sub_architecture().map(|sub| format!("{sub:?}")),
            bits: if object.is_64() { 64 } else { 32 },
            endianness: object.endianness(),
        })
    }
}
