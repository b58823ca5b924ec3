//! jemalloc's start when there is no address space left.
//!
//! It maps a page to try how `madvise` behaves, and when that fails writes to it nevertheless (pages.c,
//! `madvise_MADV_DONTNEED_zeroes_pages`). So a page is tried before; without one the start fails, as it does for any
//! other lack of memory: the call that needed jemalloc gives NULL and ENOMEM, and the thread's next one tries again.

use super::seam;
use jeshim_platform::{kernel, process};

unsafe extern "C" {
    #[link_name = "__real__rjem_je_pages_boot"]
    fn real_pages_boot() -> bool;
}

seam! {
    _rjem_je_pages_boot() -> bool {
        // SAFETY: jemalloc calls this under its init lock; errno's address is valid in every thread.
        unsafe {
            // It reads a file of /proc that may not be there, which a malloc that succeeds must not show.
            let errno = *libc::__errno_location();
            // True means failure.
            let failed = !kernel::can_map(process::page_size()) || real_pages_boot();
            *libc::__errno_location() = errno;
            failed
        }
    }
}
