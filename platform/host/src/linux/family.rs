//! Standing in for the parents of processes (`man 2 PR_SET_CHILD_SUBREAPER`), and being small.
//!
//! What a process used at most is carried over when it executes a program (`exec_mmap` in `fs/exec.c`). A fork has the
//! pages that its parent has written to, and those of code that it runs: some hundred KB, as many as a small program.

use super::smaps;
use nix::sys::prctl;
use std::fs;
use std::ops::Range;

/// The unit of `ru_maxrss`, in bytes.
pub(crate) const PEAK_UNIT: u64 = 1024;

/// Processes below that lose their parent become this one's children. Gives this process a name of its own, for `ps`.
pub(crate) fn adopt_orphans() {
    // Neither fails on any kernel that Rust runs on.
    let _ = prctl::set_child_subreaper(true);
    let _ = prctl::set_name(c"jeshim-starter");
}

/// What a fork of this process can do without.
pub(crate) struct Ballast(Vec<Range<usize>>);

impl Ballast {
    /// Gives free memory of this process back, and finds where its code is.
    pub(crate) fn of_this_process() -> Ballast {
        #[cfg(target_env = "gnu")]
        // SAFETY: gives free memory back, no other.
        unsafe {
            libc::malloc_trim(0);
        }
        let maps = smaps::parse(&fs::read("/proc/self/maps").unwrap_or_default());
        let code = maps.iter().filter(|map| map.executable && !map.writable && !map.shared && map.inode != 0);
        let address = |address: u64| usize::try_from(address).ok();
        Ballast(code.filter_map(|map| Some(address(map.start)?..address(map.end)?)).collect())
    }

    /// Lets pages of code go, which come again from their files as soon as they are run, and makes what is left what this
    /// process used at most. For a process that is about to execute something. Allocates nothing. Where it fails, the
    /// peak of very small programs is too large.
    pub(crate) fn drop_in_this_process(&self) {
        for code in &self.0 {
            // SAFETY: of a file, and never written to: what is read there stays the same.
            unsafe { libc::madvise(code.start as *mut libc::c_void, code.len(), libc::MADV_DONTNEED) };
        }
        // SAFETY: system calls with texts that end with NUL; the descriptor is used here only.
        unsafe {
            let descriptor = libc::open(c"/proc/self/clear_refs".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
            if descriptor != -1 {
                libc::write(descriptor, c"5".as_ptr().cast(), 1);
                libc::close(descriptor);
            }
        }
    }
}
