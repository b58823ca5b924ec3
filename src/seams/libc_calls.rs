//! Questions that jemalloc puts to libc under its init lock, answered without going there.

use super::seam;
use core::ffi::{c_char, c_int, c_long, c_void};
use jeshim_platform::process;

unsafe extern "C" {
    #[link_name = "__real_sysconf"]
    fn real_sysconf(name: c_int) -> c_long;
}

seam! {
    sysconf(name: c_int) -> c_long {
        if name == libc::_SC_PAGESIZE {
            return process::page_size() as c_long;
        }
        // Asked about CPUs when `percpu_arena` is chosen, when the init lock is not held.
        // SAFETY: any number may be asked about.
        unsafe { real_sysconf(name) }
    }
}

seam! {
    pthread_cond_init(condition: *mut libc::pthread_cond_t, attributes: *const c_void) -> c_int {
        // jemalloc passes no attributes. A condition variable of default attributes is all zeros, in glibc and musl
        // (PTHREAD_COND_INITIALIZER).
        debug_assert!(attributes.is_null());
        // SAFETY: the caller's object, writable, and not in use before it is initialised.
        unsafe { condition.write_bytes(0, 1) };
        0
    }
}

seam! {
    dlsym(_handle: *mut c_void, _name: *const c_char) -> *mut c_void {
        // The one name that jemalloc looks up, to start background threads (background_thread.c).
        libc::pthread_create as *mut c_void
    }
}
