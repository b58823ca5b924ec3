//! The thread-exit crash of jemalloc 5.3.1.
//!
//! A thread that frees without ever having allocated has "minimal" thread data. At the 128th free jemalloc promotes
//! it to full data and links it into a global list, to be taken out by a destructor when the thread ends
//! (`tsd_fetch_slow`, tsd.c). When the thread has no life left, since it is glibc itself that frees, giving back the
//! tables of cached stacks after the destructors have run, nothing takes it out: the next thread to start walks into
//! memory that is gone. (300 idle threads, then one with a stack over the size of glibc's cache, are enough.)
//!
//! So a thread is not promoted before it is known to run the program still (`thread::runs_the_program`). Threads that
//! only free, as consumers of a queue may do, are then promoted as upstream does it. Where that cannot be known (glibc
//! before 2.35, other libraries) they stay as they are, and free without a cache, as in jemalloc 5.3.0.
//!
//! What remains, in every version of jemalloc for allocations: a thread whose very first call comes from the fourth
//! and last round of its destructors (PTHREAD_DESTRUCTOR_ITERATIONS). Nothing tells that round from the program.

use super::seam;
use core::ffi::c_void;
use jeshim_platform::thread;

unsafe extern "C" {
    #[link_name = "__real__rjem_je_tsd_fetch_slow"]
    fn real_tsd_fetch_slow(tsd: *mut c_void, minimal: bool) -> *mut c_void;
}

/// So many frees of a new thread go to jemalloc as they are. Fewer than the 128 that promote, and more than there can
/// be after the destructors and before glibc blocks signals: a few buffers of libc's own.
const COUNTED: u32 = 96;
/// From then on jemalloc only counts; after each so many, the thread is looked at.
const INTERVAL: u32 = 32;
/// In place of a count: the thread is jemalloc's to handle.
const SETTLED: u32 = u32::MAX;

seam! {
    _rjem_je_tsd_fetch_slow(tsd: *mut c_void, minimal: bool) -> *mut c_void {
        if let Some(counter) = thread::counter() {
            // SAFETY: this thread's own variable, which nothing else refers to.
            let counter = unsafe { &mut *counter };
            if !minimal {
                // It allocates: jemalloc gives it full data now, as in every version.
                *counter = SETTLED;
            } else if *counter != SETTLED {
                let count = *counter;
                *counter = count.wrapping_add(1).min(SETTLED - 1);
                if count >= COUNTED {
                    if count % INTERVAL != 0 || !thread::runs_the_program() {
                        // As it is: "minimal" is enough for every free. (In two rarer states jemalloc would note
                        // something for itself, which it does at its next chance.)
                        return tsd;
                    }
                    *counter = SETTLED;
                }
            }
        }
        // SAFETY: jemalloc's own arguments.
        unsafe { real_tsd_fetch_slow(tsd, minimal) }
    }
}
