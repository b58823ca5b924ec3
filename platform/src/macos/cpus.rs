//! How many CPUs this process can really use.

/// The number of CPUs that this thread may be scheduled on: all that run; threads cannot be bound to some.
#[must_use]
pub fn affinity() -> Option<u32> {
    // SAFETY: any number may be asked about.
    u32::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }).ok().filter(|count| *count > 0)
}

/// macOS has no quotas of CPU time for groups of processes.
#[must_use]
pub fn quota() -> Option<u32> {
    None
}
