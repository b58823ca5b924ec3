//! The processes below one, through /proc: `man 5 proc_pid_task`, `proc_pid_statm`, `proc_pid_stat`, `proc_pid_smaps`.

use crate::tree::Resident;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

/// A process has forked, and not executed anything since (`include/linux/sched.h`).
const PF_FORKNOEXEC: u64 = 0x40;
/// Kernels can be built without it (CONFIG_PROC_CHILDREN).
static HAS_CHILDREN: LazyLock<bool> = LazyLock::new(|| Path::new("/proc/thread-self/children").exists());

/// Descendants of a process, those included that have ended and were not waited for; nearer ones first. One that is
/// forked, or loses its parent, at this moment may be missing.
pub fn below(root: u32) -> Vec<u32> {
    let all = if *HAS_CHILDREN { None } else { Some(all_children()) };
    let mut seen = BTreeSet::from([root]);
    let mut found = vec![root];
    let mut next = 0;
    while let Some(pid) = found.get(next).copied() {
        let children = match &all {
            Some(all) => all.get(&pid).cloned().unwrap_or_default(),
            None => children(pid),
        };
        found.extend(children.into_iter().filter(|child| seen.insert(*child)));
        next += 1;
    }
    found.split_off(1)
}

/// Of each of its threads, the processes that it has forked.
fn children(pid: u32) -> Vec<u32> {
    let threads = format!("/proc/{pid}/task");
    let of = |thread: &OsStr| {
        let path = Path::new(&threads).join(thread).join("children");
        numbers(&read(path).unwrap_or_default()).collect::<Vec<_>>()
    };
    match fs::metadata(&threads).map(|folder| folder.nlink()) {
        // Besides its own two links, one for each thread.
        Ok(3) => of(OsStr::new(&pid.to_string())),
        Ok(_) => {
            fs::read_dir(&threads).into_iter().flatten().flatten().flat_map(|entry| of(&entry.file_name())).collect()
        }
        Err(_) => Vec::new(),
    }
}

/// The children of every process, from all of them.
fn all_children() -> BTreeMap<u32, Vec<u32>> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        if let Some((pid, stat)) = pid.and_then(|pid| Some((pid, Stat::of(pid)?))) {
            children.entry(stat.parent).or_default().push(pid);
        }
    }
    children
}

/// Memory that is resident now. Takes some microseconds.
pub fn resident(pid: u32) -> Option<Resident> {
    let text = read(format!("/proc/{pid}/statm"))?;
    let mut pages = numbers(&text).skip(1);
    let (all, shared) = (u64::from(pages.next()?), u64::from(pages.next()?));
    let bytes = |pages: u64| pages.saturating_mul(rustix::param::page_size() as u64);
    Some(Resident { all: bytes(all), anonymous: bytes(all.saturating_sub(shared)) })
}

/// Resident memory, each page of it divided by the number of processes that have it (Pss). Every page is looked at: a
/// millisecond for some hundred MB, in which the process may have to wait for memory.
pub fn proportional(pid: u32) -> Option<u64> {
    kilobytes(&read(format!("/proc/{pid}/smaps_rollup"))?, "Pss:")
}

/// Time on a processor so far, its own and that of children that have ended and were waited for, in hundredths of a
/// second: those who watch a process that is to end by itself have it better from `wait4`.
pub fn processor_time(pid: u32) -> Option<Duration> {
    let ticks = Stat::of(pid)?.ticks;
    Some(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}

/// Whether there is such a process, and it is no zombie.
pub fn is_running(pid: u32) -> bool {
    Stat::of(pid).is_some_and(|stat| !matches!(stat.state, b'Z' | b'X'))
}

/// The path of what it executes.
pub fn program(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/exe")).ok()
}

/// Whether it has executed something since it was forked; before, its memory is its parent's.
pub fn has_executed(pid: u32) -> Option<bool> {
    Some(Stat::of(pid)?.flags & PF_FORKNOEXEC == 0)
}

/// Whether a file, named without links, is mapped.
pub fn maps(pid: u32, file: &Path) -> Option<bool> {
    let text = read(format!("/proc/{pid}/maps"))?;
    let name = [b" ", file.as_os_str().as_bytes()].concat();
    // Empty for a zombie, and while the kernel is still putting it there.
    (!text.is_empty()).then(|| text.split(|byte| *byte == b'\n').any(|line| line.ends_with(&name)))
}

/// Of `/proc/PID/stat`.
struct Stat {
    state: u8,
    parent: u32,
    flags: u64,
    ticks: u64,
}

impl Stat {
    fn of(pid: u32) -> Option<Stat> {
        Stat::read(&read(format!("/proc/{pid}/stat"))?)
    }

    /// The name, in parentheses, may be any bytes.
    fn read(text: &[u8]) -> Option<Stat> {
        let name_ends = text.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(text.get(name_ends.checked_add(1)?..)?).ok()?;
        let words: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |index: usize| words.get(index)?.parse::<u64>().ok();
        Some(Stat {
            state: *words.first()?.as_bytes().first()?,
            parent: u32::try_from(number(1)?).ok()?,
            flags: number(6)?,
            ticks: (11..=14).filter_map(number).fold(0, u64::saturating_add),
        })
    }
}

/// A small file, without asking for its size first: these have none.
fn read(path: impl AsRef<Path>) -> Option<Vec<u8>> {
    let mut file = File::open(path).ok()?;
    let mut text = vec![0; 2048];
    let mut length = 0;
    loop {
        match file.read(text.get_mut(length..)?).ok()? {
            0 => break,
            more => length += more,
        }
        if length == text.len() {
            text.resize(length.saturating_mul(2), 0);
        }
    }
    text.truncate(length);
    Some(text)
}

fn numbers(text: &[u8]) -> impl Iterator<Item = u32> {
    let words = text.split(u8::is_ascii_whitespace);
    words.filter_map(|word| std::str::from_utf8(word).ok()?.parse().ok())
}

/// The value of `Name:  12 kB`, in bytes.
fn kilobytes(text: &[u8], name: &str) -> Option<u64> {
    let text = String::from_utf8_lossy(text);
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_other_bytes_is_passed_over() {
        let text = b"12 (a) S \xff) R 7 12 12 0 -1 4194368 1 2 3 4 150 50 6 7 20 0 1 0 99 0 0";
        let stat = Stat::read(text).expect("it can be read");
        assert_eq!((stat.state, stat.parent, stat.ticks), (b'R', 7, 213));
        assert_ne!(stat.flags & PF_FORKNOEXEC, 0);
        assert!(Stat::read(b"12 (a").is_none() && Stat::read(b"12 (a) R 7").is_none());
    }

    #[test]
    fn with_and_without_the_kernels_lists_the_children_are_the_same() {
        let mut child = std::process::Command::new("/bin/sleep").arg("60").spawn().expect("sleep");
        let own = std::process::id();
        let found =
            (below(own).contains(&child.id()), all_children().get(&own).is_some_and(|all| all.contains(&child.id())));
        child.kill().and_then(|()| child.wait()).expect("it ends");
        assert_eq!(found, (true, true));
        assert!(!below(own).contains(&child.id()));
    }

    #[test]
    fn a_process_is_as_large_as_the_kernel_says() {
        let own = std::process::id();
        let block = vec![1_u8; 64 << 20];
        let resident = resident(own).expect("this process");
        assert!(
            resident.all > 64 << 20 && resident.anonymous > 64 << 20 && resident.anonymous < resident.all,
            "{resident:?}"
        );
        let proportional = proportional(own).expect("a share");
        assert!(proportional > 64 << 20 && proportional < resident.all, "{proportional}");
        assert!(block.iter().all(|byte| *byte == 1));
        drop(block);
        let program = std::env::current_exe().and_then(fs::canonicalize).expect("this program");
        assert_eq!((maps(own, &program), maps(own, Path::new("/nonexistent"))), (Some(true), Some(false)));
        let tail = Path::new("/").join(program.file_name().expect("a name"));
        assert_eq!((maps(own, &tail), maps(u32::MAX, &program)), (Some(false), None));
        assert!(processor_time(own).is_some() && is_running(own) && !is_running(u32::MAX));
    }
}
