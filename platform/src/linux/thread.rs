//! What the library has to know about a thread, without touching anything that allocates.

use super::kernel;
use core::sync::atomic::{AtomicU32, Ordering};

/// A counter of this thread's own: zero when the thread starts.
///
/// Thread-local storage of the initial-exec kind, reached relative to the thread pointer. Rust's `thread_local!`
/// goes through `__tls_get_addr`, which may have to grow the thread's table after a `dlopen` and then allocates,
/// in the middle of jemalloc. `None` on processors for which this is not written.
#[must_use]
pub fn counter() -> Option<*mut u32> {
    #[cfg(target_arch = "x86_64")]
    {
        let address: *mut u32;
        // SAFETY: the x86-64 ELF TLS ABI: fs:0 holds the thread pointer, the GOT entry the variable's offset to it.
        unsafe {
            core::arch::asm!("mov {0}, qword ptr fs:[0]", "add {0}, qword ptr [rip + jeshim_thread_counter@GOTTPOFF]",
                out(reg) address, options(nostack, pure, readonly));
        }
        Some(address)
    }
    #[cfg(target_arch = "aarch64")]
    {
        let address: *mut u32;
        // SAFETY: the aarch64 ELF TLS ABI: tpidr_el0 holds the thread pointer, the GOT entry the variable's offset.
        unsafe {
            core::arch::asm!("mrs {0}, tpidr_el0", "adrp {1}, :gottprel:jeshim_thread_counter",
                "ldr {1}, [{1}, :gottprel_lo12:jeshim_thread_counter]", "add {0}, {0}, {1}",
                out(reg) address, out(reg) _, options(nostack, pure, readonly));
        }
        Some(address)
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    None
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
core::arch::global_asm!(
    ".pushsection .tbss.jeshim_thread_counter,\"awT\",%nobits",
    ".globl jeshim_thread_counter",
    ".hidden jeshim_thread_counter",
    ".type jeshim_thread_counter, %object",
    ".size jeshim_thread_counter, 4",
    ".p2align 2",
    "jeshim_thread_counter:",
    ".zero 4",
    ".popsection",
);

/// Whether this thread certainly runs code of the program, and not libc's own, as in the last moments of a thread,
/// after all destructors of thread-specific data have run.
///
/// From glibc 2.35 on, a thread that ends blocks every signal, libc's own SIGCANCEL (32) among them, before it gives
/// back cached stacks and their tables (nptl/pthread_create.c, `start_thread`); a program cannot block SIGCANCEL,
/// since `sigprocmask` and its relatives remove it from what they are given. So: SIGCANCEL is not blocked, therefore
/// the thread is not at its end. Of older versions and other libraries nothing is known: the answer is no.
#[must_use]
pub fn runs_the_program() -> bool {
    const SIGCANCEL: u32 = 32;
    if !blocks_signals_at_thread_end() {
        return false;
    }
    let mut blocked = 0_u64;
    // SAFETY: rt_sigprocmask with no new set only writes the old one, of the 8 bytes that are named.
    let answer = unsafe {
        kernel::syscall(libc::SYS_rt_sigprocmask, [libc::SIG_BLOCK as usize, 0, (&raw mut blocked) as usize, 8, 0, 0])
    };
    answer == 0 && blocked & (1 << (SIGCANCEL - 1)) == 0
}

/// Whether libc is glibc 2.35 or later. The version string is static text: asking allocates nothing.
fn blocks_signals_at_thread_end() -> bool {
    const UNKNOWN: u32 = 0;
    const NO: u32 = 1;
    const YES: u32 = 2;
    static ANSWER: AtomicU32 = AtomicU32::new(UNKNOWN);
    match ANSWER.load(Ordering::Relaxed) {
        UNKNOWN => {
            let yes = glibc_version().is_some_and(|version| version >= (2, 35));
            ANSWER.store(if yes { YES } else { NO }, Ordering::Relaxed);
            yes
        }
        answer => answer == YES,
    }
}

#[cfg(target_env = "gnu")]
fn glibc_version() -> Option<(u64, u64)> {
    use crate::text::leading_number;
    // SAFETY: returns a pointer to static text.
    let version = unsafe { core::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    let (major, rest) = leading_number(version.to_bytes())?;
    let (minor, _) = leading_number(rest.strip_prefix(b".")?)?;
    Some((major, minor))
}

#[cfg(not(target_env = "gnu"))]
fn glibc_version() -> Option<(u64, u64)> {
    None
}
