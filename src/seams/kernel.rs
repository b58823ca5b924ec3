//! jemalloc's system calls, made without libc.
//!
//! Those that `free` may make leave errno alone, as it must; jemalloc would use it to word a message only. `syscall`,
//! through which it writes, does set it.
//!
//! The linker leads every call inside the library here, also those of the Rust crates that it is made of; what they
//! rely on is kept.

use super::seam;
use crate::live;
use core::ffi::{c_char, c_int, c_long, c_void};
use jeshim_platform::kernel::{self, minus_one};
use jeshim_platform::vdso;

/// Six arguments, the missing ones zero.
macro_rules! arguments {
    ($($a:expr),*) => {{
        let mut all = [0_usize; 6];
        for (place, value) in all.iter_mut().zip([$($a as usize),*]) {
            *place = value;
        }
        all
    }};
}

/// Seams that are the system call of the same contract.
macro_rules! direct {
    ($($name:ident ($($p:ident: $t:ty),*) -> $r:ty = $number:expr, [$($a:expr),*];)*) => {
        $(seam! {
            $name($($p: $t),*) -> $r {
                // SAFETY: the system call's contract is the function's, and jemalloc keeps that.
                minus_one(unsafe { kernel::syscall($number, arguments!($($a),*)) }) as $r
            }
        })*
    };
}

direct! {
    close(fd: c_int) -> c_int = libc::SYS_close, [fd];
    getpid() -> c_int = libc::SYS_getpid, [0];
    sched_setaffinity(pid: c_int, size: usize, mask: *const c_void) -> c_int = libc::SYS_sched_setaffinity, [pid, size, mask];
    sched_yield() -> c_int = libc::SYS_sched_yield, [0];
    mprotect(address: *mut c_void, length: usize, protection: c_int) -> c_int = libc::SYS_mprotect, [address, length, protection];
    madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int = libc::SYS_madvise, [address, length, advice];
    // These end in "..." in C. Where the mode was not given it reads as garbage, and open(2) looks at it only when it
    // creates.
    open(path: *const c_char, flags: c_int, mode: c_int) -> c_int = libc::SYS_openat, [libc::AT_FDCWD, path, flags, mode];
    creat(path: *const c_char, mode: c_int) -> c_int = libc::SYS_openat, [libc::AT_FDCWD, path, CREATE, mode];
}

const CREATE: c_int = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;

// Where the kernel is entered through libc's `syscall` (other processors), this would lead in a circle: build.rs leaves
// the seam out there.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
seam! {
    syscall(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long {
        // Arguments that were not given read as garbage, and the kernel looks at none that the call does not have.
        // SAFETY: the system call's contract is the caller's.
        let answer = unsafe { kernel::syscall(number, [a, b, c, d, e, f]) };
        if let Err(error) = kernel::checked(answer) {
            // jemalloc repeats a write that errno says was interrupted; parking_lot looks at it after a futex.
            // SAFETY: errno's address is valid in every thread.
            unsafe { *libc::__errno_location() = error.0 };
        }
        minus_one(answer) as c_long
    }
}

seam! {
    clock_gettime(clock: c_int, time: *mut libc::timespec) -> c_int {
        // SAFETY: jemalloc's own arguments.
        unsafe { vdso::clock_gettime(clock, time) }
    }
}

seam! {
    mmap(address: *mut c_void, length: usize, protection: c_int, flags: c_int, fd: c_int, offset: libc::off_t) -> *mut c_void {
        #[cfg(target_pointer_width = "64")]
        let (number, offset) = (libc::SYS_mmap, offset);
        // mmap2 counts the offset in units of 4096 bytes (man 2 mmap2).
        #[cfg(target_pointer_width = "32")]
        let (number, offset) = (libc::SYS_mmap2, offset >> 12);
        // SAFETY: the system call's contract is the function's, and jemalloc keeps that. MAP_FAILED is -1.
        let answer = unsafe { kernel::syscall(number, arguments!(address, length, protection, flags, fd, offset)) };
        if kernel::checked(answer).is_ok() {
            live::mapped(answer as usize, length);
        }
        minus_one(answer) as *mut c_void
    }
}

seam! {
    munmap(address: *mut c_void, length: usize) -> c_int {
        // Before the call: after it the addresses may already be somebody else's.
        live::unmapped(address as usize, length);
        // SAFETY: the system call's contract is the function's, and jemalloc keeps that.
        minus_one(unsafe { kernel::syscall(libc::SYS_munmap, arguments!(address, length)) }) as c_int
    }
}

seam! {
    sched_getaffinity(pid: c_int, size: usize, mask: *mut u8) -> c_int {
        // SAFETY: the caller's mask is writable for `size` bytes.
        let answer = unsafe { kernel::syscall(libc::SYS_sched_getaffinity, arguments!(pid, size, mask)) };
        match kernel::checked(answer) {
            // The kernel fills and counts its own width of mask; libc's function clears the rest and says 0.
            Ok(filled) if filled <= size => {
                // SAFETY: inside the caller's mask.
                unsafe { mask.add(filled).write_bytes(0, size - filled) };
                0
            }
            _ => -1,
        }
    }
}
