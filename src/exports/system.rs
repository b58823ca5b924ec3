//! What the system's functions promise and jemalloc's do not: rounding, overflow, errno.

use super::Ptr;
use core::ptr::null_mut;
use jeshim_platform::process;
use tikv_jemalloc_sys as je;

fn fail(error: i32) -> Ptr {
    // SAFETY: errno's address is valid in every thread.
    unsafe { *libc::__errno_location() = error };
    null_mut()
}

/// glibc's memalign: an alignment that is not a power of two is rounded up to one; jemalloc returns NULL
/// (SuperMalloc#24). Over half of the address space there is none: EINVAL.
pub(super) unsafe extern "C" fn memalign(alignment: usize, size: usize) -> Ptr {
    match alignment.checked_next_power_of_two() {
        // Through aligned_alloc, which sets errno on failure; jemalloc's memalign does not.
        // SAFETY: a power of two; any size may be asked for.
        Some(alignment) => unsafe { je::aligned_alloc(alignment, size) },
        None => fail(libc::EINVAL),
    }
}

/// A block that begins at a page. jemalloc's own valloc leaves errno alone on failure, and rounds to the page size
/// that it was built for.
pub(super) unsafe extern "C" fn valloc(size: usize) -> Ptr {
    // SAFETY: the page size is a power of two; any size may be asked for.
    unsafe { je::aligned_alloc(process::page_size(), size) }
}

/// Whole pages. jemalloc's own pvalloc lets the rounding overflow, and answers SIZE_MAX with a block of one page.
pub(super) unsafe extern "C" fn pvalloc(size: usize) -> Ptr {
    match size.checked_next_multiple_of(process::page_size()) {
        // SAFETY: as in valloc.
        Some(size) => unsafe { valloc(size) },
        None => fail(libc::ENOMEM),
    }
}

/// realloc for `count * size` bytes; when that overflows, the block stays as it is. The program's own realloc, if it
/// has one: to replace malloc, calloc, realloc and free is enough by glibc's manual.
pub(super) unsafe extern "C" fn reallocarray(ptr: Ptr, count: usize, size: usize) -> Ptr {
    match count.checked_mul(size) {
        // SAFETY: the caller's promise about `ptr` is realloc's. The name leads to its first definition.
        Some(size) => unsafe { libc::realloc(ptr, size) },
        None => fail(libc::ENOMEM),
    }
}
