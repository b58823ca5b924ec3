//! A live process through `/proc/PID`: nothing here stops it or attaches to it.
//!
//! Memory is read through `/proc/PID/mem` and not by `process_vm_readv`: the open file stays with the memory it was
//! opened for, so a process that ends, or a pid that is given to another, is seen as an end of file.

use super::smaps;
use crate::live::{LookError, Mapping};
use procfs::process::{LimitValue, Process as Proc, StatFlags};
use procfs::{ProcError, ProcResult};
use rustix::fs::{Mode, OFlags};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Entries of `/proc/PID/auxv`: set when the program was started in secure execution mode (`man 3 getauxval`).
const AT_SECURE: u64 = 23;
/// Bits of an entry of `/proc/PID/pagemap` (`man 5 proc_pid_pagemap`): in memory, swapped out, of this process alone.
const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;
const EXCLUSIVE: u64 = 1 << 56;
/// Entries of pagemap that are read at most for one question: 16 GiB of pages of 4 KiB.
const MOST_PAGES: u64 = 4 << 20;

/// A process that is looked at.
pub struct Process {
    /// Its pid.
    pub pid: u32,
    /// Its name, up to 15 bytes, from the kernel.
    pub name: String,
    /// Its parent's pid.
    pub parent: u32,
    /// Its effective user.
    pub user: u32,
    proc: Proc,
    started: u64,
    memory: io::Result<File>,
    pagemap: Option<File>,
}

impl Process {
    /// Finds the process. Its memory may still be out of reach.
    ///
    /// # Errors
    /// When there is no such process, or it has no memory of its own: a zombie or a kernel thread.
    pub fn open(pid: u32) -> Result<Process, LookError> {
        let none = || {
            LookError::new(
                "no_process",
                format!("no process has the pid {pid}"),
                "it may have ended; find the pid of a running one with 'pgrep -a NAME'",
            )
        };
        let number = i32::try_from(pid).map_err(|_| none())?;
        let mut proc = Proc::new(number).map_err(|_| none())?;
        let stat = proc.stat().map_err(|_| none())?;
        if StatFlags::from_bits_truncate(stat.flags).contains(StatFlags::PF_KTHREAD) {
            return Err(LookError::new(
                "kernel_thread",
                format!("process {pid} ({}) is a thread of the kernel", stat.comm),
                "name the process of a program: a thread of the kernel has no memory of its own",
            ));
        }
        let mut started = stat.starttime;
        if matches!(stat.state, 'Z' | 'X') {
            // The main thread may be gone while others run on.
            proc = living_thread(&proc).ok_or_else(|| {
                LookError::new(
                    "zombie",
                    format!("process {pid} ({}) has ended and is a zombie", stat.comm),
                    &format!(
                        "look at what took its place, or at process {}, its parent, which has not noticed yet",
                        stat.ppid
                    ),
                )
            })?;
            started = proc.stat().map_err(|_| none())?.starttime;
        }
        Ok(Process {
            pid,
            name: stat.comm,
            parent: u32::try_from(stat.ppid).unwrap_or(0),
            user: proc.status().map_or(0, |status| status.euid),
            started,
            memory: proc.open_relative("mem").map_err(|error| io::Error::other(error.to_string())),
            pagemap: proc.open_relative("pagemap").ok(),
            proc,
        })
    }

    /// What is mapped, in the order of addresses, with the private memory of each mapping.
    ///
    /// # Errors
    /// When it may not be looked at, or has ended.
    pub fn mappings(&self) -> Result<Vec<Mapping>, LookError> {
        let mut text = Vec::new();
        let read = self.proc.open_relative("smaps").and_then(|mut file| Ok(file.read_to_end(&mut text)?));
        if let Err(error) = read {
            return Err(self.error(&error));
        }
        let mappings = smaps::parse(&text);
        if mappings.is_empty() { Err(self.ended()) } else { Ok(mappings) }
    }

    fn error(&self, error: &ProcError) -> LookError {
        let denied = match error {
            ProcError::PermissionDenied(_) => true,
            ProcError::Io(error, _) => error.kind() == io::ErrorKind::PermissionDenied,
            _ => false,
        };
        if denied { self.denied() } else { self.ended() }
    }

    /// Why this user may not look at the process.
    pub fn denied(&self) -> LookError {
        let (pid, name, user) = (self.pid, &self.name, self.user);
        let mut remedy = "run jeshim as root, or with the capability CAP_SYS_PTRACE";
        let own = rustix::process::geteuid().as_raw();
        let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
        let cause = if own == 0 {
            remedy = "run jeshim outside of the container, with the capability CAP_SYS_PTRACE";
            format!("process {pid} ({name}) may do more than this root, who may not look at it")
        } else if user != own {
            format!("process {pid} ({name}) belongs to another user, with the number {user}")
        } else if matches!(scope.trim(), "" | "0") {
            format!("process {pid} ({name}) is protected against being looked at, as set-user-ID programs are")
        } else {
            let file = "/proc/sys/kernel/yama/ptrace_scope";
            format!("the memory of process {pid} ({name}) may not be read, because {file} is {}", scope.trim())
        };
        LookError::new("permission", cause, remedy)
    }

    /// That it is not there any more, or runs another program.
    pub fn ended(&self) -> LookError {
        LookError::new(
            "ended",
            format!("process {} ({}) ended or started another program while it was looked at", self.pid, self.name),
            "look again, or run the program under 'jeshim check -- CMD'",
        )
    }

    /// Whether it is still the same process.
    pub fn is_still_there(&self) -> bool {
        self.proc.stat().is_ok_and(|stat| stat.starttime == self.started && !matches!(stat.state, 'Z' | 'X'))
    }

    /// Whether its memory can be read.
    pub fn is_readable(&self) -> bool {
        self.memory.is_ok()
    }

    /// Fills a buffer from its memory.
    ///
    /// # Errors
    /// When that memory is not there, or may not be read.
    pub fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        match &self.memory {
            Ok(memory) => memory.read_exact_at(buffer, address),
            Err(error) => Err(io::Error::other(error.to_string())),
        }
    }

    /// How many bytes in a range of its memory are private to it, swapped-out pages included. `None` when the kernel
    /// does not say, or the range is larger than 16 GiB.
    pub fn private_in(&self, range: Range<u64>) -> Option<u64> {
        let page = rustix::param::page_size() as u64;
        let (first, last) = (range.start / page, range.end.div_ceil(page));
        let pages = last.checked_sub(first).filter(|pages| *pages <= MOST_PAGES)?;
        let mut entries = vec![0; usize::try_from(pages).ok()?.checked_mul(8)?];
        self.pagemap.as_ref()?.read_exact_at(&mut entries, first.checked_mul(8)?).ok()?;
        let is_private = |entry: u64| entry & SWAPPED != 0 || entry & (PRESENT | EXCLUSIVE) == PRESENT | EXCLUSIVE;
        let (entries, _) = entries.as_chunks::<8>();
        let count = entries.iter().filter(|entry| is_private(u64::from_ne_bytes(**entry))).count();
        Some(count as u64 * page)
    }

    /// The file of a mapping, as it was mapped: also when it is in a container, deleted or replaced. `None` when it
    /// is not there any more or is out of reach; `true` with a file that is still found under its name.
    pub fn open_mapped(&self, mapping: &Mapping) -> Option<(File, bool)> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
        // There may be something else under that name by now: a FIFO, a device.
        let same = |file: &File| file.metadata().is_ok_and(|found| found.is_file() && found.ino() == mapping.inode);
        let path = self.inside(Path::new(&mapping.name));
        if std::fs::symlink_metadata(&path).is_ok_and(|found| found.is_file() && found.ino() == mapping.inode)
            && let Ok(file) = rustix::fs::open(&path, flags, Mode::empty()).map(File::from)
            && same(&file)
            && self.has_same_beginning(&file, mapping)
        {
            return Some((file, true));
        }
        // Needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE.
        let path = format!("map_files/{:x}-{:x}", mapping.start, mapping.end);
        let file = self.proc.open_relative_flags(path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK).ok()?;
        file.metadata().is_ok_and(|found| found.is_file()).then_some((file, false))
    }

    /// Inode numbers come again, and the devices of /proc and of `stat` differ on some file systems: what is mapped
    /// from the beginning of the file is compared, where it can be read.
    fn has_same_beginning(&self, file: &File, mapping: &Mapping) -> bool {
        let (mut mapped, mut found) = ([0; 1024], [0; 1024]);
        if mapping.offset != 0 || mapping.writable || self.read(mapping.start, &mut mapped).is_err() {
            return true;
        }
        file.read_at(&mut found, 0).is_ok_and(|length| found.get(..length) == mapped.get(..length))
    }

    /// A path of the process's own view of files, as this process can open it.
    pub fn inside(&self, path: &Path) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.proc.pid()));
        root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The program that it executes, as the process sees the path.
    pub fn executable(&self) -> Option<PathBuf> {
        self.proc.exe().ok()
    }

    /// The environment with which its program was started. `None` when it may not be read.
    pub fn environment(&self) -> Option<Vec<(OsString, OsString)>> {
        self.proc.environ().ok().map(|variables| variables.into_iter().collect())
    }

    /// The environment with which its parent's program was started.
    pub fn environment_of_parent(&self) -> Option<Vec<(OsString, OsString)>> {
        let parent = Proc::new(i32::try_from(self.parent).ok()?).ok()?;
        parent.environ().ok().map(|variables| variables.into_iter().collect())
    }

    /// Whether the program was started in secure execution mode: set-user-ID, set-group-ID, file capabilities.
    pub fn is_secure(&self) -> Option<bool> {
        self.proc.auxv().ok().map(|entries| entries.get(&AT_SECURE).is_some_and(|value| *value != 0))
    }

    /// Where the stacks of its threads are, as far as the threads wait in the kernel.
    pub fn stack_pointers(&self) -> Vec<u64> {
        let Ok(threads) = self.proc.tasks() else { return Vec::new() };
        threads.flatten().filter_map(|thread| self.stack_pointer(thread.tid)).collect()
    }

    /// `/proc/PID/task/TID/syscall` ends with the stack pointer and the program counter.
    fn stack_pointer(&self, thread: i32) -> Option<u64> {
        let mut text = String::new();
        self.proc.open_relative(format!("task/{thread}/syscall")).ok()?.read_to_string(&mut text).ok()?;
        let word = text.split_whitespace().rev().nth(1)?;
        u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()
    }

    /// The size of a thread's stack unless the program asks for another, in bytes: the soft limit for stacks.
    pub fn stack_size(&self) -> Option<u64> {
        match self.proc.limits().ok()?.max_stack_size.soft_limit {
            LimitValue::Value(bytes) => Some(bytes),
            LimitValue::Unlimited => None,
        }
    }
}

/// A thread of the process that is not a zombie.
fn living_thread(proc: &Proc) -> Option<Proc> {
    let is_alive = |proc: &Proc| -> ProcResult<bool> { Ok(!matches!(proc.stat()?.state, 'Z' | 'X')) };
    let threads = proc.tasks().ok()?.flatten();
    let path = |thread: i32| PathBuf::from(format!("/proc/{}/task/{thread}", proc.pid()));
    threads
        .filter_map(|thread| Proc::new_with_root(path(thread.tid)).ok())
        .find(|thread| is_alive(thread).unwrap_or(false))
}
