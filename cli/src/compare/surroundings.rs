//! The machine that was measured on, for the result.

use super::results::Machine;
use crate::doctor::groups;
use crate::doctor::machine::Machine as Looked;
use crate::doctor::trial::Trial;
use jeshim_host::machine::{self, CLibrary};
use std::path::{Path, PathBuf};

/// Describes this machine. Its load is that of now, twice: who ends a comparison writes the second one ([`load`]).
pub fn machine() -> Machine {
    of(Path::new("/"))
}

/// The load average of one minute.
pub fn load() -> Option<f64> {
    machine::describe(Path::new("/")).load
}

/// The machine whose files are below a root folder.
fn of(root: &Path) -> Machine {
    let about = machine::describe(root);
    // The control groups are read as `doctor` does. It needs no library and no trial for that.
    let looked = Looked {
        root: PathBuf::from(root),
        variables: Vec::new(),
        library: Err(String::new()),
        trial: Trial::NoLibrary,
        page_size: machine::page_size(),
        c_library: machine::c_library(),
    };
    let allowed = machine::confinement(root).ok().and_then(|confinement| confinement.cpus_allowed);
    let processors =
        allowed.or_else(|| std::thread::available_parallelism().ok().and_then(|count| u32::try_from(count.get()).ok()));
    let limit = groups::memory_limit(&looked).ok().flatten().map(|bound| bound.value);
    Machine {
        system: about.system,
        distribution: about.distribution,
        processor: about.processor,
        processors: processors.unwrap_or(0),
        quota: groups::cpu_quota(&looked).ok().flatten().map(|bound| bound.value),
        governor: about.governor,
        boost: about.boost,
        huge_pages: about.huge_pages,
        memory: about.memory,
        // Version 1 of control groups has a number of bytes also where nothing is limited.
        memory_limit: limit.filter(|limit| about.memory.is_none_or(|memory| *limit < memory)),
        page_size: looked.page_size,
        load: about.load.map(|load| (load, load)),
        c_library: match looked.c_library {
            CLibrary::Glibc(major, minor) => Some(format!("glibc {major}.{minor}")),
            CLibrary::Other => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn this_machine_has_a_description() {
        let machine = machine();
        assert!(machine.system.split(' ').count() >= 3, "{machine:?}");
        assert!(machine.processors >= 1, "{machine:?}");
        assert!(machine.page_size.is_power_of_two(), "{machine:?}");
    }

    #[test]
    fn a_container_is_described_by_its_limits() {
        let root = tempfile::tempdir().expect("a folder");
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        };
        put("proc/self/cgroup", "0::/\n");
        put("sys/fs/cgroup/cpu.max", "150000 100000\n");
        put("sys/fs/cgroup/memory.max", "1073741824\n");
        let found = of(root.path());
        assert_eq!(found.quota, Some(1.5));
        assert_eq!(found.memory_limit, Some(1 << 30));
        assert_eq!(found.load, None);
    }
}
