//! The processes below one, through libproc (`<libproc.h>`, `<sys/proc_info.h>`). Not run on a Mac.

use crate::tree::Resident;
use std::collections::BTreeSet;
use std::ffi::{OsString, c_void};
use std::mem::size_of;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The process has called exec (PROC_FLAG_EXEC of `<sys/proc_info.h>`).
const EXECUTED: u32 = 0x4000;
/// It has ended, and was not waited for (`<sys/proc.h>`).
const SZOMB: u32 = 5;
/// Of children that are asked for at once.
const MOST: usize = 4096;

/// Descendants of a process; nearer ones first. Those that have lost their parent are launchd's, and not found.
pub fn below(root: u32) -> Vec<u32> {
    let mut seen = BTreeSet::from([root]);
    let mut found = vec![root];
    let mut next = 0;
    while let Some(pid) = found.get(next).copied() {
        found.extend(children(pid).into_iter().filter(|child| seen.insert(*child)));
        next += 1;
    }
    found.split_off(1)
}

fn children(pid: u32) -> Vec<u32> {
    let mut pids = vec![0_i32; MOST];
    let size = i32::try_from(MOST * size_of::<i32>()).unwrap_or(0);
    // SAFETY: the buffer has this size.
    let count = unsafe { libc::proc_listchildpids(pid.cast_signed(), pids.as_mut_ptr().cast::<c_void>(), size) };
    pids.truncate(usize::try_from(count).unwrap_or(0));
    pids.into_iter().filter(|pid| *pid > 0).map(i32::unsigned_abs).collect()
}

/// Memory that is resident now; for its own memory, what Activity Monitor shows.
pub fn resident(pid: u32) -> Option<Resident> {
    let usage = usage(pid)?;
    Some(Resident { all: usage.ri_resident_size, anonymous: usage.ri_phys_footprint.min(usage.ri_resident_size) })
}

/// What Activity Monitor shows: its own memory, the compressed included.
pub fn proportional(pid: u32) -> Option<u64> {
    usage(pid).map(|usage| usage.ri_phys_footprint)
}

/// Time on a processor so far, its own.
// libc would rather have another crate used, for one structure.
#[allow(deprecated)]
pub fn processor_time(pid: u32) -> Option<Duration> {
    let usage = usage(pid)?;
    let ticks = u128::from(usage.ri_user_time).saturating_add(u128::from(usage.ri_system_time));
    let mut base = libc::mach_timebase_info { numer: 0, denom: 0 };
    // SAFETY: writes to the variable only.
    unsafe { libc::mach_timebase_info(&mut base) };
    let nanoseconds = ticks.saturating_mul(u128::from(base.numer)).checked_div(u128::from(base.denom))?;
    u64::try_from(nanoseconds).ok().map(Duration::from_nanos)
}

/// Whether there is such a process, and it is no zombie.
pub fn is_running(pid: u32) -> bool {
    all(pid).is_some_and(|all| all.pbsd.pbi_status != SZOMB)
}

/// The path of what it executes.
pub fn program(pid: u32) -> Option<PathBuf> {
    let mut path = vec![0_u8; libc::PROC_PIDPATHINFO_MAXSIZE as usize];
    let size = u32::try_from(path.len()).ok()?;
    // SAFETY: the buffer is as large as is said.
    let length = unsafe { libc::proc_pidpath(pid.cast_signed(), path.as_mut_ptr().cast(), size) };
    path.truncate(usize::try_from(length).ok().filter(|length| *length > 0)?);
    Some(PathBuf::from(OsString::from_vec(path)))
}

/// Whether it has executed something since it was forked.
pub fn has_executed(pid: u32) -> Option<bool> {
    all(pid).map(|all| all.pbsd.pbi_flags & EXECUTED != 0)
}

/// Not asked for here: the mappings of a process are a debugger's to see.
pub fn maps(_pid: u32, _file: &Path) -> Option<bool> {
    None
}

fn usage(pid: u32) -> Option<libc::rusage_info_v4> {
    // SAFETY: numbers, for which zeros are values.
    let mut usage: libc::rusage_info_v4 = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is the one of this flavor.
    let result = unsafe {
        libc::proc_pid_rusage(pid.cast_signed(), libc::RUSAGE_INFO_V4, std::ptr::from_mut(&mut usage).cast())
    };
    (result == 0).then_some(usage)
}

fn all(pid: u32) -> Option<libc::proc_taskallinfo> {
    // SAFETY: numbers, for which zeros are values.
    let mut all: libc::proc_taskallinfo = unsafe { std::mem::zeroed() };
    let size = i32::try_from(size_of::<libc::proc_taskallinfo>()).ok()?;
    // SAFETY: the structure is the one of this flavor, and has this size.
    let result = unsafe {
        let buffer = std::ptr::from_mut(&mut all).cast::<c_void>();
        libc::proc_pidinfo(pid.cast_signed(), libc::PROC_PIDTASKALLINFO, 0, buffer, size)
    };
    (result == size).then_some(all)
}
