//! Where jemalloc hands out small blocks by its slow path: the proof that it serves, seen without counting anything on
//! the fast one.

use super::seam;
use crate::{live, report};
use core::ffi::c_void;

unsafe extern "C" {
    #[link_name = "__real__rjem_je_tcache_alloc_small_hard"]
    fn real_tcache_alloc_small_hard(
        tsdn: *mut c_void,
        arena: *mut c_void,
        tcache: *mut c_void,
        bin: *mut c_void,
        index: u32,
        success: *mut bool,
    ) -> *mut c_void;
    #[link_name = "__real__rjem_je_arena_malloc_hard"]
    fn real_arena_malloc_hard(
        tsdn: *mut c_void,
        arena: *mut c_void,
        size: usize,
        index: u32,
        zero: bool,
        slab: bool,
    ) -> *mut c_void;
}

seam! {
    /// A thread's cache has no block of this size left, and gets some.
    _rjem_je_tcache_alloc_small_hard(
        tsdn: *mut c_void,
        arena: *mut c_void,
        tcache: *mut c_void,
        bin: *mut c_void,
        index: u32,
        success: *mut bool,
    ) -> *mut c_void {
        live::filled();
        report::serves();
        // SAFETY: jemalloc's own arguments.
        unsafe { real_tcache_alloc_small_hard(tsdn, arena, tcache, bin, index, success) }
    }
}

seam! {
    /// A block without a cache: for threads that have none, and for larger sizes (`slab` is false).
    _rjem_je_arena_malloc_hard(
        tsdn: *mut c_void,
        arena: *mut c_void,
        size: usize,
        index: u32,
        zero: bool,
        slab: bool,
    ) -> *mut c_void {
        if slab {
            live::filled();
            report::serves();
        }
        // SAFETY: jemalloc's own arguments.
        unsafe { real_arena_malloc_hard(tsdn, arena, size, index, zero, slab) }
    }
}
