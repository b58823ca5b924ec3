//! 16-byte alignment of every block.
//!
//! glibc aligns each block to 16 bytes, whatever its size, and C++17 demands as much of operator new
//! (`__STDCPP_DEFAULT_NEW_ALIGNMENT__`): compilers use it, and programs that tag pointers do. jemalloc has a class of
//! 8 bytes, with blocks at odd multiples of 8. Its class of a small size comes from a table; so, once the table is
//! made, sizes up to 8 are given the class of 16. It costs nothing, but 8 bytes for each of the smallest blocks.

use super::seam;
use core::ffi::c_void;
use core::sync::atomic::{AtomicU8, Ordering};

unsafe extern "C" {
    #[link_name = "__real__rjem_je_sz_boot"]
    fn real_sz_boot(size_classes: *const c_void, cache_oblivious: bool);

    /// The class of a size: one entry for 0, one for 1 to 8, one for 9 to 16 bytes, and so on (sz.c); this is its
    /// start. An atomic has the layout of the byte.
    #[link_name = "_rjem_je_sz_size2index_tab"]
    static CLASS_OF_SIZE: [AtomicU8; 3];
}

seam! {
    _rjem_je_sz_boot(size_classes: *const c_void, cache_oblivious: bool) {
        // SAFETY: jemalloc's own arguments; it calls this once, under its init lock, and defines the table.
        unsafe {
            real_sz_boot(size_classes, cache_oblivious);
            let [zero, up_to_8, up_to_16] = &CLASS_OF_SIZE;
            let class = up_to_16.load(Ordering::Relaxed);
            zero.store(class, Ordering::Relaxed);
            up_to_8.store(class, Ordering::Relaxed);
        }
    }
}
