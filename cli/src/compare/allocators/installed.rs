//! Which of the known allocators this machine has, and where: what the dynamic linker knows by name (`ldconfig -p`), then
//! folders where libraries are that it does not know.

use super::catalogue::Known;
use super::file;
use jeshim_host::preload;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Not on every user's PATH.
const LDCONFIG: [&str; 3] = ["ldconfig", "/sbin/ldconfig", "/usr/sbin/ldconfig"];

/// Folders, in which a star stands for any part of one name: the dynamic linker's own, where things are built to, and
/// where clang keeps its runtime.
const FOLDERS: [&str; 14] = [
    "/usr/local/lib",
    "/usr/local/lib64",
    "/usr/local/lib/*-linux-gnu*",
    "/lib/*-linux-*",
    "/lib",
    "/lib64",
    "/usr/lib/*-linux-*",
    "/usr/lib",
    "/usr/lib64",
    "/opt/*/lib",
    "/usr/lib/llvm-*/lib/clang/*/lib/linux",
    "/usr/lib/llvm-*/lib/clang/*/lib/*-linux-*",
    "/usr/lib/clang/*/lib/linux",
    "/usr/lib/clang/*/lib/*-linux-*",
];

/// The library of an allocator, for programs of this machine; as it is named, with its links.
pub fn find(known: &Known) -> Option<PathBuf> {
    if !preload::TAKES_OTHERS {
        return None;
    }
    best(known, by_name()).or_else(|| best(known, FOLDERS.iter().flat_map(|folder| files_in(folder)).collect()))
}

/// The best of these files that can serve.
fn best(known: &Known, paths: Vec<PathBuf>) -> Option<PathBuf> {
    let rank = |path: &PathBuf| known.rank(path.file_name()?.to_str()?);
    let mut fitting: Vec<(usize, PathBuf)> = paths.into_iter().filter_map(|path| Some((rank(&path)?, path))).collect();
    // Stable: of two that are as good, the first that the dynamic linker would take.
    fitting.sort_by_key(|(rank, _)| *rank);
    fitting.into_iter().map(|(_, path)| path).find(|path| file::look(path).is_ok())
}

/// What the dynamic linker knows by name. Nothing where there is no ldconfig (macOS, musl).
fn by_name() -> Vec<PathBuf> {
    let print = |program: &&str| {
        let output = Command::new(program).arg("-p").stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
        output.status.success().then_some(output.stdout)
    };
    let Some(text) = LDCONFIG.iter().find_map(print) else { return Vec::new() };
    // "\tlibz.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libz.so.1"
    let text = String::from_utf8_lossy(&text);
    text.lines().filter_map(|line| Some(PathBuf::from(line.split_once(" => ")?.1.trim()))).collect()
}

/// The files in the folders that a pattern stands for, in the order of their names.
fn files_in(pattern: &str) -> Vec<PathBuf> {
    let mut folders = vec![PathBuf::from("/")];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        folders = match part.split_once('*') {
            None => folders.iter().map(|folder| folder.join(part)).collect(),
            Some((beginning, rest)) => {
                let middle = rest.trim_end_matches('*');
                let is_end = !rest.ends_with('*');
                let fits = |name: &str| {
                    name.strip_prefix(beginning)
                        .is_some_and(|rest| if is_end { rest.ends_with(middle) } else { rest.contains(middle) })
                };
                let fitting = folders.iter().flat_map(|folder| entries(folder));
                fitting.filter(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(fits)).collect()
            }
        };
    }
    folders.iter().flat_map(|folder| entries(folder)).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::allocators::catalogue::{self, KNOWN};

    #[test]
    fn files_are_known_by_their_names() {
        let who = |file: &str| KNOWN.iter().find(|known| known.rank(file).is_some()).map(|known| known.name);
        for (file, name) in [
            ("libjemalloc.so.2", "jemalloc"),
            ("libmimalloc.so.2.0", "mimalloc"),
            ("libmimalloc.so", "mimalloc"),
            ("libtcmalloc.so.4.5.9", "tcmalloc"),
            ("libtcmalloc_minimal.so.4", "tcmalloc"),
            ("libtbbmalloc_proxy.so.2", "tbbmalloc"),
            ("libsnmallocshim-checks.so", "snmalloc"),
            ("librpmallocwrap.so", "rpmalloc"),
            ("libclang_rt.scudo_standalone-x86_64.so", "scudo"),
            ("libclang_rt.scudo_standalone.so", "scudo"),
            ("libhardened_malloc-light.so", "hardened_malloc"),
        ] {
            assert_eq!(who(file), Some(name), "{file}");
        }
        for file in
            ["libtbbmalloc.so.2", "libtcmalloc_debug.so.4", "libjemalloc.a", "libmimalloc.so2", "libjemalloc.sox", "so"]
        {
            assert_eq!(who(file), None, "{file}");
        }
        let rank = |file| catalogue::find("tcmalloc").unwrap().rank(file);
        assert!(rank("libtcmalloc_minimal.so.4") < rank("libtcmalloc.so.4"));
    }

    #[test]
    fn a_star_stands_for_a_part_of_a_name() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["llvm-14/lib/clang/14.0.6/lib/linux", "llvm-16/lib/clang/16/lib/x86_64-linux-gnu", "other/lib"] {
            std::fs::create_dir_all(folder.path().join(path)).unwrap();
            std::fs::write(folder.path().join(path).join("a.so"), "").unwrap();
        }
        let found = |pattern: &str| {
            let files = files_in(&format!("{}/{pattern}", folder.path().display()));
            files.iter().map(|path| path.strip_prefix(folder.path()).unwrap().display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(found("llvm-*/lib/clang/*/lib/linux"), ["llvm-14/lib/clang/14.0.6/lib/linux/a.so"]);
        assert_eq!(found("llvm-*/lib/clang/*/lib/*-linux-*"), ["llvm-16/lib/clang/16/lib/x86_64-linux-gnu/a.so"]);
        assert_eq!(found("*er/lib"), ["other/lib/a.so"]);
        assert!(found("none/*").is_empty());
    }
}
