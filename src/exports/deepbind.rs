//! The guard against RTLD_DEEPBIND.
//!
//! A plugin loaded with that flag (PHP-FPM, Apache modules) finds libc's malloc and free before ours: memory crosses,
//! and glibc aborts with "free(): invalid pointer" (jemalloc#2419, oneTBB#1645, falco#3704). So `dlopen` is
//! interposed, clears the flag, and jumps on to the next `dlopen`: a jump, since that takes its return address for
//! the caller, whose `$ORIGIN`, RUNPATH and namespace count.

use super::Ptr;
use crate::next;
use core::ffi::{c_char, c_int};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// `JESHIM_DEEPBIND=keep`: the flag is passed on as it is.
static KEEP: AtomicBool = AtomicBool::new(false);
static CLEARED: AtomicU32 = AtomicU32::new(0);

/// Lets the flag through from now on.
pub(crate) fn keep() {
    KEEP.store(true, Ordering::Relaxed);
}

/// How many calls had the flag cleared.
pub(crate) fn times_cleared() -> u32 {
    CLEARED.load(Ordering::Relaxed)
}

/// Where to go on, and with which flags: two registers.
#[repr(C)]
struct Call {
    next: usize,
    flags: usize,
}

extern "C" fn prepare(flags: c_int) -> Call {
    let mut flags = flags;
    if flags & libc::RTLD_DEEPBIND != 0 && !KEEP.load(Ordering::Relaxed) {
        flags &= !libc::RTLD_DEEPBIND;
        CLEARED.fetch_add(1, Ordering::Relaxed);
    }
    Call { next: next::dlopen(), flags: flags as usize }
}

/// dlopen(3), without RTLD_DEEPBIND.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub(super) unsafe extern "C" fn dlopen(path: *const c_char, flags: c_int) -> Ptr {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        "mov edi, esi",
        "call {prepare}",
        "mov esi, edx",
        "pop rdi",
        ".cfi_adjust_cfa_offset -8",
        "jmp rax",
        ".cfi_endproc",
        prepare = sym prepare,
    )
}

/// dlopen(3), without RTLD_DEEPBIND.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
pub(super) unsafe extern "C" fn dlopen(path: *const c_char, flags: c_int) -> Ptr {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "stp x0, x30, [sp, #-16]!",
        ".cfi_adjust_cfa_offset 16",
        ".cfi_rel_offset x30, 8",
        "mov w0, w1",
        "bl {prepare}",
        "mov x16, x0",
        "ldp x0, x30, [sp], #16",
        ".cfi_adjust_cfa_offset -16",
        ".cfi_restore x30",
        "br x16",
        ".cfi_endproc",
        prepare = sym prepare,
    )
}

/// dlopen(3), without RTLD_DEEPBIND. A plain call: `$ORIGIN` is then this library's.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) unsafe extern "C" fn dlopen(path: *const c_char, flags: c_int) -> Ptr {
    let call = prepare(flags);
    // SAFETY: the address is that of a function with dlopen's signature.
    let next = unsafe { core::mem::transmute::<usize, unsafe extern "C" fn(*const c_char, c_int) -> Ptr>(call.next) };
    // SAFETY: the caller's promise about `path` is dlopen's.
    unsafe { next(path, call.flags as c_int) }
}
