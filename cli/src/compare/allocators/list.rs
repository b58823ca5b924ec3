//! `--list`: the allocators that this machine has.

use super::{JESHIM, SYSTEM, catalogue, file, installed};
use crate::library::Library;
use crate::terminal::{self, BOLD, printable, styled};
use comfy_table::{ContentArrangement, Table, presets::NOTHING};
use jeshim_host::machine::{self, CLibrary};
use jeshim_host::preload;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A known allocator, and whether it is here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// As typed.
    pub name: &'static str,
    /// Its library, `None` for the system's; or why it is not here, with the remedy.
    pub place: Result<Option<PathBuf>, String>,
    /// As far as the file tells.
    pub version: Option<String>,
}

/// All that are known, the system's and ours first. `lib` is that of `--lib`.
pub fn list(lib: Option<&Path>) -> Vec<Entry> {
    let system = Entry { name: SYSTEM, place: Ok(None), version: c_library() };
    let jeshim = match Library::find(lib) {
        Ok(library) => {
            let version = Some(file::version_of(&library));
            Entry { name: JESHIM, place: Ok(Some(library.path)), version }
        }
        Err(error) => Entry { name: JESHIM, place: Err(error.to_string()), version: None },
    };
    let others = catalogue::KNOWN.iter().map(|known| {
        let place = if preload::TAKES_OTHERS {
            installed::find(known).map(Some).ok_or_else(|| format!("not found: {}", known.remedy()))
        } else {
            Err("not on this system: whether it serves could not be proven".to_owned())
        };
        let path = place.as_ref().ok().and_then(Option::as_ref);
        let version = path.and_then(|path| file::look(path).ok()?.1);
        Entry { name: known.name, place, version }
    });
    [system, jeshim].into_iter().chain(others).collect()
}

/// Prints it.
///
/// # Errors
/// When standard output cannot be written.
pub fn show_list(lib: Option<&Path>) -> anyhow::Result<ExitCode> {
    let mut table = Table::new();
    table.load_preset(NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(["allocator", "version", "where"].map(|name| styled(BOLD, name)));
    for entry in list(lib) {
        let place = match entry.place {
            Ok(Some(path)) => printable(path),
            Ok(None) => "nothing is preloaded: the C library's, or one that the program is linked with".to_owned(),
            Err(remedy) => remedy,
        };
        table.add_row([entry.name.to_owned(), entry.version.map(printable).unwrap_or_default(), place]);
    }
    let help = "another library: --with LABEL=PATH";
    terminal::write_report(&format!("{table}\n\n{help}\n"), None, true)?;
    Ok(ExitCode::SUCCESS)
}

/// "glibc 2.36".
pub(super) fn c_library() -> Option<String> {
    match machine::c_library() {
        CLibrary::Glibc(major, minor) => Some(format!("glibc {major}.{minor}")),
        CLibrary::Other => None,
    }
}
