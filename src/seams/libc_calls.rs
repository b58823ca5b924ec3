//! Questions that jemalloc puts to libc under its init lock, answered without going there.

use super::seam;
use crate::live;
use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use jeshim_platform::process;

unsafe extern "C" {
    #[link_name = "__real_sysconf"]
    fn real_sysconf(name: c_int) -> c_long;
    #[link_name = "__sbrk"]
    fn own_sbrk(increment: isize) -> *mut c_void;
    #[link_name = "__real_dlsym"]
    fn real_dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
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
    sbrk(increment: isize) -> *mut c_void {
        // The end of the heap is libc's to keep: its function, by the second name that nobody interposes.
        // SAFETY: jemalloc's own argument.
        let before = unsafe { own_sbrk(increment) };
        if increment > 0 && before as isize != -1 {
            live::mapped(before as usize, increment.unsigned_abs());
        }
        before
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
    dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
        // The one name that jemalloc looks up, to start background threads (background_thread.c).
        // SAFETY: a C string, by the contract of dlsym.
        if unsafe { CStr::from_ptr(name) } == c"pthread_create" {
            return libc::pthread_create as *mut c_void;
        }
        // The library's own look-ups come here too. A call, with its return address inside this library: RTLD_NEXT
        // means what comes after it.
        // SAFETY: the caller's own arguments.
        unsafe { real_dlsym(handle, name) }
    }
}
