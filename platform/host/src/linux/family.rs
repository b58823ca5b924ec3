//! Standing in for the parents of processes (`man 2 PR_SET_CHILD_SUBREAPER`), and being small.
//!
//! What a process used at most is carried over when it executes a program (`exec_mmap` in `fs/exec.c`). A fork has the
//! pages that its parent has written to, and those of code that it runs: some hundred KB, as many as a small program.

use super::smaps;
use crate::live::Mapping;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};
use std::ffi::{CStr, c_char};
use std::fs;
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;

/// The unit of `ru_maxrss`, in bytes.
pub(crate) const PEAK_UNIT: u64 = 1024;

/// Processes below that lose their parent become this one's children. Gives this process a name of its own, for `ps`.
pub(crate) fn adopt_orphans() {
    // Neither fails on any kernel that Rust runs on.
    let _ = prctl::set_child_subreaper(true);
    let _ = prctl::set_name(c"jeshim-starter");
}

/// In a fork of the starter: to be ended when that is, by whomever. What the program starts itself is not.
///
/// # Errors
/// When it is gone already.
pub(crate) fn die_with(starter: u32) -> io::Result<()> {
    prctl::set_pdeathsig(Some(Signal::SIGKILL))?;
    // It may have gone before.
    if std::os::unix::process::parent_id() == starter { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
}

/// Waits until there is something to read; with this mask meanwhile. The descriptor may have any number.
pub(crate) fn wait_readable(file: &impl AsFd, mask: &SigSet) -> io::Result<()> {
    let mut files = [PollFd::new(file.as_fd(), PollFlags::POLLIN)];
    ppoll(&mut files, None, Some(*mask))?;
    Ok(())
}

/// What a fork of this process can do without.
pub(crate) struct Ballast(Vec<Range<usize>>);

impl Ballast {
    /// Gives memory of this process back that is free, or of its stack and not used any more, and finds where its code
    /// is.
    pub(crate) fn of_this_process() -> Ballast {
        #[cfg(target_env = "gnu")]
        // SAFETY: gives free memory back, no other.
        unsafe {
            libc::malloc_trim(0);
        }
        let maps = smaps::parse(&fs::read("/proc/self/maps").unwrap_or_default());
        drop_unused_stack(&maps);
        Ballast(code(&maps).filter_map(|map| addresses(map.start, map.end)).collect())
    }

    /// Lets pages of code go, which come again from their files as soon as they are run, and makes what is left what this
    /// process used at most. For a process that is about to execute something. Allocates nothing. Where it fails, the
    /// peak of very small programs is too large.
    ///
    /// From here to the execution, code that is run is memory that is used, 64 KiB around each place of it: hence one way
    /// into the kernel for all.
    pub(crate) fn drop_in_this_process(&self) {
        for code in &self.0 {
            // SAFETY: of a file, and never written to: what is read there stays the same.
            unsafe { libc::syscall(libc::SYS_madvise, code.start, code.len(), libc::MADV_DONTNEED) };
        }
        // SAFETY: system calls with texts that end with NUL; the descriptor is used here only, and is gone with the
        // execution.
        unsafe {
            let (file, flags) = (c"/proc/self/clear_refs".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
            let descriptor = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, file, flags);
            libc::syscall(libc::SYS_write, descriptor, c"5".as_ptr(), 1_usize);
        }
    }
}

/// Code, and what lies before it in its file, which is constants. Behind it are tables that were written to once, and are
/// not in the file as they are in memory.
fn code(maps: &[Mapping]) -> impl Iterator<Item = &Mapping> {
    let is_code = |map: &Mapping| map.executable && map.inode != 0;
    maps.iter().enumerate().filter_map(move |(index, map)| {
        let mut behind = maps.get(index..).unwrap_or(&[]).iter().take_while(|other| other.inode == map.inode);
        let lets_go = map.readable && !map.writable && !map.shared && map.inode != 0 && behind.any(is_code);
        lets_go.then_some(map)
    })
}

/// Below this function's own frame the stack is what calls have left there that have returned.
fn drop_unused_stack(maps: &[Mapping]) {
    let here = 0_u8;
    let here = std::ptr::from_ref(&here) as u64;
    let Some(stack) = maps.iter().find(|map| (map.start..map.end).contains(&here)) else { return };
    let page = rustix::param::page_size() as u64;
    // Some pages on: what is called from here.
    let end = (here / page).saturating_sub(4).saturating_mul(page);
    if let Some(unused) = addresses(stack.start, end) {
        // SAFETY: nobody has a reference to what is below the stack pointer.
        unsafe { libc::madvise(unused.start as *mut libc::c_void, unused.len(), libc::MADV_DONTNEED) };
    }
}

fn addresses(start: u64, end: u64) -> Option<Range<usize>> {
    let range = usize::try_from(start).ok()?..usize::try_from(end).ok()?;
    (!range.is_empty()).then_some(range)
}

/// Executes a file; returns the number of the error.
///
/// # Safety
/// The tables end with a null pointer, and what they point to with NUL.
pub(crate) unsafe fn execute(file: &CStr, words: *const *const c_char, variables: *const *const c_char) -> i32 {
    // SAFETY: the caller's; and errno is this thread's.
    unsafe {
        libc::syscall(libc::SYS_execve, file.as_ptr(), words, variables);
        *libc::__errno_location()
    }
}
