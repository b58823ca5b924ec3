//! How many CPUs this process can really use.

use super::{cgroup, kernel};

/// The number of CPUs that this thread may be scheduled on.
#[must_use]
pub fn affinity() -> Option<u32> {
    kernel::affinity()
}

/// The number of CPUs that the container's quota amounts to, rounded up; `None` without a quota.
///
/// Source: `cpu.max` (cgroup v2) or `cpu.cfs_quota_us` (v1) of the process's own group and of every group above it
/// that is visible; the smallest counts.
#[must_use]
pub fn quota() -> Option<u32> {
    cgroup::quota(&mut |path, buffer| kernel::read_file(path, buffer).map(<[u8]>::len))
}
