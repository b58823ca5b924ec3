//! The library that would be inserted, as the system of a Mac will judge it.

use super::container::{Container, Kind};
use super::slice::Slice;
use crate::library::{Library, System};
use crate::terminal::printable;
use object::Architecture;
use object::read::ReadCache;
use std::path::Path;

/// For which processors it is, and who signed it.
#[derive(Debug, Clone)]
pub(super) struct Dylib {
    /// To be named in messages.
    pub(super) name: String,
    pub(super) kinds: Vec<Kind>,
    /// Those without a signature.
    pub(super) unsigned: Vec<Kind>,
    /// `None`: nobody in particular.
    pub(super) team: Option<String>,
}

impl Dylib {
    /// The given library; when there is none, or one for another system, what `cargo build` makes on a Mac, for both
    /// processors: signed by nobody in particular.
    pub(super) fn of(library: Option<&Library>) -> Dylib {
        let Some(library) = library.filter(|library| library.target.system == System::MacOs) else {
            return Dylib {
                name: "libjeshim.dylib".to_owned(),
                kinds: vec![Kind::Arm64, Kind::X86_64],
                unsigned: Vec::new(),
                team: None,
            };
        };
        Dylib::read(&library.path).unwrap_or_else(|| Dylib {
            name: printable(&library.path),
            kinds: kind_of(library).into_iter().collect(),
            unsigned: Vec::new(),
            team: None,
        })
    }

    fn read(path: &Path) -> Option<Dylib> {
        let data = ReadCache::new(std::fs::File::open(path).ok()?);
        let pieces = match super::container::read(&data).ok()? {
            Container::Thin(piece) => vec![piece],
            Container::Universal(pieces) => pieces,
            Container::JavaClass => return None,
        };
        let slices: Vec<_> = pieces.iter().filter_map(|piece| Slice::read(&data, piece).ok()).collect();
        if slices.is_empty() {
            return None;
        }
        let unsigned =
            slices.iter().filter(|slice| slice.signature.is_none()).map(|slice| slice.kind.clone()).collect();
        let team = slices.iter().find_map(|slice| slice.signature.as_ref()?.team().map(str::to_owned));
        Some(Dylib {
            name: printable(path),
            kinds: slices.into_iter().map(|slice| slice.kind).collect(),
            unsigned,
            team,
        })
    }

    /// Whether a process of this kind can map it.
    pub(super) fn is_for(&self, kind: &Kind) -> bool {
        self.kinds.iter().any(|own| kind.loads(own))
    }

    /// Whether Apple silicon refuses it in a process of this kind.
    pub(super) fn is_unsigned_for(&self, kind: &Kind) -> bool {
        matches!(kind, Kind::Arm64 | Kind::Arm64e) && self.unsigned.contains(kind)
    }
}

fn kind_of(library: &Library) -> Option<Kind> {
    match (library.target.architecture, &library.target.sub_architecture) {
        (Architecture::Aarch64, None) => Some(Kind::Arm64),
        (Architecture::Aarch64, Some(_)) => Some(Kind::Arm64e),
        (Architecture::X86_64, _) => Some(Kind::X86_64),
        _ => None,
    }
}
