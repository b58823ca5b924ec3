//! The CPU quota that control groups, version 2 and version 1, put on a process.

use crate::text::{Text, leading_number};
use core::ffi::CStr;

/// Reads the start of a file into the buffer: the number of bytes, or `None`. A parameter so that tests can bring
/// their own file system.
pub(super) type ReadFile<'a> = dyn FnMut(&CStr, &mut [u8]) -> Option<usize> + 'a;

/// Where version 1's cpu controller is mounted: systemd's name for it, and the plain one of older systems.
const V1_MOUNTS: [&[u8]; 2] = [b"/sys/fs/cgroup/cpu,cpuacct", b"/sys/fs/cgroup/cpu"];
/// Where version 2 is mounted: alone, or beside version 1 ("hybrid").
const V2_MOUNTS: [&[u8]; 2] = [b"/sys/fs/cgroup", b"/sys/fs/cgroup/unified"];

/// The smallest quota on the way from the process's group to the root, in CPUs, rounded up.
pub(super) fn quota(read: &mut ReadFile) -> Option<u32> {
    // A line a hierarchy; Kubernetes' paths are some 150 bytes long, and version 1 has a dozen hierarchies.
    let mut buffer = [0; 4096];
    let length = read(c"/proc/self/cgroup", &mut buffer)?;
    let mut smallest = None;
    for line in buffer.get(..length)?.split(|byte| *byte == b'\n') {
        // hierarchy-ID:controller-list:path (man 7 cgroups)
        let mut fields = line.splitn(3, |byte| *byte == b':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let here = if controllers.is_empty() {
            smallest_on_the_way_up(&V2_MOUNTS, path, &mut |group| v2_quota(group, read))
        } else if controllers.split(|byte| *byte == b',').any(|name| name == b"cpu") {
            smallest_on_the_way_up(&V1_MOUNTS, path, &mut |group| v1_quota(group, read))
        } else {
            None
        };
        smallest = smaller(smallest, here);
    }
    smallest
}

fn smaller(a: Option<u32>, b: Option<u32>) -> Option<u32> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// Asks `quota_of` about the group and each one above it. A path as the host sees it may not exist in the
/// container's view of the tree; the walk then ends at the mount point, which is the container's own group.
fn smallest_on_the_way_up(
    mounts: &[&[u8]],
    path: &[u8],
    quota_of: &mut dyn FnMut(&[u8]) -> Option<u32>,
) -> Option<u32> {
    let mut smallest = None;
    for mount in mounts {
        let mut buffer = [0; 2048];
        let mut group = Text::new(&mut buffer);
        // The root group's path is "/", the mount point itself.
        group.push(mount).push(path.strip_suffix(b"/").unwrap_or(path));
        loop {
            if group.is_complete() {
                smallest = smaller(smallest, quota_of(group.as_bytes()));
            }
            let Some(slash) = group.as_bytes().iter().rposition(|byte| *byte == b'/') else { break };
            if slash < mount.len() {
                break;
            }
            group.truncate(slash);
        }
    }
    smallest
}

/// The number at the start of a file in the group's folder; `None` for `max`, `-1` or no such file.
fn read_numbers(group: &[u8], file: &[u8], read: &mut ReadFile) -> Option<(u64, Option<u64>)> {
    let mut path = [0; 2048];
    let mut path = Text::new(&mut path);
    path.push(group).push(b"/").push(file);
    let mut buffer = [0; 64];
    let length = read(path.as_c_str()?, &mut buffer)?;
    let (first, rest) = leading_number(buffer.get(..length)?)?;
    let second = rest.split_first().and_then(|(_, rest)| leading_number(rest)).map(|(number, _)| number);
    Some((first, second))
}

/// `cpu.max`: "QUOTA PERIOD" in microseconds, or "max PERIOD" (kernel, Documentation/admin-guide/cgroup-v2.rst).
fn v2_quota(group: &[u8], read: &mut ReadFile) -> Option<u32> {
    let (quota, period) = read_numbers(group, b"cpu.max", read)?;
    cpus(quota, period?)
}

/// `cpu.cfs_quota_us`, -1 for none, and `cpu.cfs_period_us`.
fn v1_quota(group: &[u8], read: &mut ReadFile) -> Option<u32> {
    let (quota, _) = read_numbers(group, b"cpu.cfs_quota_us", read)?;
    let (period, _) = read_numbers(group, b"cpu.cfs_period_us", read)?;
    cpus(quota, period)
}

fn cpus(quota: u64, period: u64) -> Option<u32> {
    let whole = quota.checked_div(period)?;
    let part = u64::from(quota.checked_rem(period)? > 0);
    u32::try_from(whole + part).ok().map(|cpus| cpus.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quota_with(files: &[(&str, &str)]) -> Option<u32> {
        quota(&mut |path, buffer| {
            let (_, contents) = files.iter().find(|(name, _)| name.as_bytes() == path.to_bytes())?;
            let length = contents.len().min(buffer.len());
            buffer[..length].copy_from_slice(&contents.as_bytes()[..length]);
            Some(length)
        })
    }

    #[test]
    fn v2_takes_the_smallest_of_the_group_and_those_above() {
        let membership = ("/proc/self/cgroup", "0::/kubepods/pod1/c1\n");
        let files = [
            membership,
            ("/sys/fs/cgroup/kubepods/pod1/c1/cpu.max", "400000 100000\n"),
            ("/sys/fs/cgroup/kubepods/pod1/cpu.max", "150000 100000\n"),
            ("/sys/fs/cgroup/kubepods/cpu.max", "max 100000\n"),
        ];
        assert_eq!(quota_with(&files), Some(2));
        assert_eq!(quota_with(&files[..2]), Some(4));
        assert_eq!(quota_with(&[membership]), None);
    }

    #[test]
    fn v2_in_a_cgroup_namespace_reads_the_mount_point() {
        let files = [("/proc/self/cgroup", "0::/\n"), ("/sys/fs/cgroup/cpu.max", "50000 100000\n")];
        assert_eq!(quota_with(&files), Some(1));
    }

    #[test]
    fn v2_with_a_host_path_that_the_container_does_not_see() {
        let files =
            [("/proc/self/cgroup", "0::/../../elsewhere/docker/abc\n"), ("/sys/fs/cgroup/cpu.max", "250000 100000\n")];
        assert_eq!(quota_with(&files), Some(3));
    }

    #[test]
    fn v1_reads_quota_and_period() {
        let membership = ("/proc/self/cgroup", "5:cpu,cpuacct:/docker/abc\n3:cpuset:/\n0::/\n");
        let period = ("/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000\n");
        let quota_file = "/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us";
        assert_eq!(quota_with(&[membership, period, (quota_file, "200000\n")]), Some(2));
        assert_eq!(quota_with(&[membership, period, (quota_file, "-1\n")]), None);
    }

    #[test]
    fn nonsense_is_no_quota() {
        for contents in ["", "\n", "max", "100000", "100000 0\n", "18446744073709551615 1\n", "x y\n"] {
            let files = [("/proc/self/cgroup", "0::/\n"), ("/sys/fs/cgroup/cpu.max", contents)];
            assert_eq!(quota_with(&files), None, "{contents:?}");
        }
        for membership in ["", "::::", "0", "0::", "1:cpu", "\n\n"] {
            assert_eq!(quota_with(&[("/proc/self/cgroup", membership)]), None, "{membership:?}");
        }
    }
}
