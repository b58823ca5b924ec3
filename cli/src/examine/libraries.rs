//! The libraries that a program needs, where the dynamic linker would find them: `man 8 ld.so`.

use crate::elf::Elf;
use jeshim_host::executable;
use object::read::ReadCache;
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Programs need a hundred at most; a hostile one may need any number.
const MOST: usize = 512;
/// More folders than any machine's configuration has.
const MOST_FOLDERS: usize = 256;

/// A library that would be loaded.
pub(super) struct Loaded {
    /// As it is asked for.
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) elf: Elf,
}

/// Those that are needed, and those that these need, without what is not found: a file of another machine has its
/// libraries there. `all`, or, since reading them takes milliseconds, the C library alone.
pub(super) fn of(program: &Elf, path: &Path, variables: &[(OsString, OsString)], all: bool) -> Vec<Loaded> {
    let configured = configured(program);
    let by_variable: Vec<PathBuf> = variables
        .iter()
        .filter(|(name, _)| name == "LD_LIBRARY_PATH")
        .flat_map(|(_, value)| std::env::split_paths(value).take(MOST_FOLDERS).collect::<Vec<_>>())
        .collect();
    let mut seen = HashSet::new();
    let mut loaded: Vec<Loaded> = Vec::new();
    let mut next = 0;
    let (mut needs, mut search) = (program.needed.clone(), searched(program, path));
    loop {
        for name in needs {
            if loaded.len() >= MOST || !(all || name.starts_with("libc.so")) || !seen.insert(name.clone()) {
                continue;
            }
            let candidates = if name.contains('/') {
                vec![PathBuf::from(&name)]
            } else {
                let folders = search.iter().chain(&by_variable).chain(&configured);
                folders.map(|folder| folder.join(&name)).collect()
            };
            let found = candidates.into_iter().find_map(|path| {
                let elf = Elf::read(&ReadCache::new(executable::open(&path).ok()?)).ok()?;
                elf.same_machine(&program.target()).then_some((path, elf))
            });
            loaded.extend(found.map(|(path, elf)| Loaded { name, path, elf }));
        }
        let Some(library) = loaded.get(next) else { return loaded };
        (needs, search) = (library.elf.needed.clone(), searched(&library.elf, &library.path));
        next += 1;
    }
}

/// Where an object has its own libraries looked for.
fn searched(elf: &Elf, path: &Path) -> Vec<PathBuf> {
    let path = std::fs::canonicalize(path).unwrap_or(path.to_owned());
    let origin = path.parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned();
    let folders = elf.search.iter().filter(|folder| folder.starts_with('/') || folder.starts_with('$'));
    folders
        .take(MOST_FOLDERS)
        .map(|folder| folder.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin).into())
        .collect()
}

/// The folders of `/etc/ld.so.conf`, then the dynamic linker's own and those that it was built with.
fn configured(program: &Elf) -> Vec<PathBuf> {
    let mut files = vec![PathBuf::from("/etc/ld.so.conf")];
    let in_folder = std::fs::read_dir("/etc/ld.so.conf.d").into_iter().flatten().flatten();
    let mut more: Vec<PathBuf> = in_folder.map(|entry| entry.path()).collect();
    more.sort();
    files.extend(more);
    let mut folders = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "conf")) {
        let text = executable::open(file).ok().and_then(|file| std::io::read_to_string(file).ok()).unwrap_or_default();
        folders.extend(text.lines().map(str::trim).filter(|line| line.starts_with('/')).map(PathBuf::from));
    }
    folders.truncate(MOST_FOLDERS);
    let linker = program.interpreter.as_deref().and_then(|linker| std::fs::canonicalize(linker).ok());
    folders.extend(linker.and_then(|linker| linker.parent().map(Path::to_owned)));
    let wide: &[&str] = if program.bits == 64 { &["/lib64", "/usr/lib64"] } else { &["/lib32", "/usr/lib32"] };
    folders.extend(wide.iter().chain(&["/lib", "/usr/lib"]).map(PathBuf::from));
    folders
}

/// Whether a library belongs to the C library, or to the compiler, and asks for memory only on behalf of others.
pub(super) fn is_systems(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "libc.so",
        "libm.so",
        "libdl.so",
        "librt.so",
        "libpthread.so",
        "libgcc_s.so",
        "libutil.so",
        "libmvec.so",
        "ld-",
    ];
    NAMES.iter().any(|systems| name.starts_with(systems))
}
