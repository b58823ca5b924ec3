//! What control groups, version 2 and version 1, allow this process: the same files that the library reads
//! (`platform/src/linux/cgroup.rs`), and those for memory.

use super::machine::Machine;
use std::io;
use std::path::{Path, PathBuf};

/// Where version 2 is mounted: alone, or beside version 1 ("hybrid").
const V2_MOUNTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
/// The folder in which version 1 has a folder for each hierarchy.
const V1_MOUNTS: &str = "/sys/fs/cgroup";

/// The tightest bound of the process's group and those above it, and which group has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound<T> {
    /// The group's folder.
    pub group: PathBuf,
    /// Bytes, or CPUs.
    pub value: T,
}

/// The limit on memory, in bytes.
///
/// # Errors
/// When `/proc/self/cgroup` cannot be read.
pub fn memory_limit(machine: &Machine) -> io::Result<Option<Bound<u64>>> {
    tightest(machine, "memory", &|group| {
        ["memory.max", "memory.limit_in_bytes"].iter().find_map(|file| numbers(machine, group, file)?.first().copied())
    })
}

/// The quota of time on CPUs, as a number of CPUs.
///
/// # Errors
/// When `/proc/self/cgroup` cannot be read.
pub fn cpu_quota(machine: &Machine) -> io::Result<Option<Bound<f64>>> {
    tightest(machine, "cpu", &|group| {
        let (quota, period) = match numbers(machine, group, "cpu.max").as_deref() {
            Some([quota, period, ..]) => (*quota, *period),
            Some(_) => return None,
            None => {
                let first = |file| numbers(machine, group, file)?.first().copied();
                (first("cpu.cfs_quota_us")?, first("cpu.cfs_period_us")?)
            }
        };
        (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
    })
}

/// The numbers at the start of a file; `None` for `max`, `-1` or no such file.
fn numbers(machine: &Machine, group: &Path, file: &str) -> Option<Vec<u64>> {
    let text = machine.text(group.join(file).to_str()?).ok()?;
    let numbers: Vec<u64> = text.split_whitespace().map_while(|word| word.parse().ok()).collect();
    (!numbers.is_empty()).then_some(numbers)
}

fn tightest<T: PartialOrd>(
    machine: &Machine,
    controller: &str,
    bound_of: &dyn Fn(&Path) -> Option<T>,
) -> io::Result<Option<Bound<T>>> {
    let mut tightest: Option<Bound<T>> = None;
    for line in machine.text("/proc/self/cgroup")?.lines() {
        // hierarchy-ID:controller-list:path (man 7 cgroups)
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else { continue };
        let mounts: Vec<PathBuf> = if controllers.is_empty() {
            V2_MOUNTS.map(PathBuf::from).to_vec()
        } else if controllers.split(',').any(|name| name == controller) {
            // systemd's name for the hierarchy, such as cpu,cpuacct, and the plain one.
            [controllers, controller].map(|name| Path::new(V1_MOUNTS).join(name)).to_vec()
        } else {
            continue;
        };
        for mount in mounts {
            // A path as the host sees it may not exist in a container: the walk then ends at the mount point, which is
            // the container's own group.
            // Joined part by part: the root group's path is "/", the mount point itself.
            let own: PathBuf = mount.iter().chain(Path::new(path.trim_matches('/')).iter()).collect();
            for group in own.ancestors().take_while(|group| group.starts_with(&mount)) {
                let Some(value) = bound_of(group) else { continue };
                if tightest.as_ref().is_none_or(|found| value < found.value) {
                    tightest = Some(Bound { group: group.to_owned(), value });
                }
            }
        }
    }
    Ok(tightest)
}
