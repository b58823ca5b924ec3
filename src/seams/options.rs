//! Where jemalloc reads its options: see `crate::options` for what it is given.

use super::seam;
use crate::exports::variables;
use crate::{message, options};
use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};
use jeshim_platform::kernel;

unsafe extern "C" {
    #[link_name = "__real__rjem_je_malloc_conf_init"]
    fn real_malloc_conf_init(size_classes: *mut c_void, bin_shards: *mut c_void, link: *mut c_char);

    // jemalloc's own variables, under the prefix that it was built with. Atomics have the layout of the pointers.
    #[link_name = "_rjem_malloc_conf"]
    static JEMALLOC_CONF: AtomicPtr<c_char>;
    #[link_name = "_rjem_malloc_conf_2_conf_harder"]
    static JEMALLOC_CONF_HARDER: AtomicPtr<c_char>;
    #[link_name = "_rjem_malloc_message"]
    static JEMALLOC_MESSAGE: AtomicPtr<c_void>;
}

seam! {
    _rjem_je_malloc_conf_init(size_classes: *mut c_void, bin_shards: *mut c_void, link: *mut c_char) {
        // SAFETY: jemalloc defines the three; it calls this once, under its init lock. What the program put into its
        // variables are C strings that stay (man 3 jemalloc).
        unsafe {
            JEMALLOC_MESSAGE.store(message::from_jemalloc as *mut c_void, Ordering::Relaxed);
            let program = variables::MALLOC_CONF.load(Ordering::Relaxed);
            JEMALLOC_CONF.store(options::compose(program, None), Ordering::Relaxed);
            let harder = variables::MALLOC_CONF_2_CONF_HARDER.load(Ordering::Relaxed);
            JEMALLOC_CONF_HARDER.store(harder, Ordering::Relaxed);
            // Parsing numbers sets errno, which a malloc that succeeds must leave alone.
            let errno = *libc::__errno_location();
            real_malloc_conf_init(size_classes, bin_shards, link);
            *libc::__errno_location() = errno;
        }
    }
}

seam! {
    secure_getenv(_name: *const c_char) -> *mut c_char {
        // The one name that jemalloc asks for is its prefixed `_RJEM_MALLOC_CONF`.
        // SAFETY: called once, under jemalloc's init lock.
        unsafe { options::environment() }
    }
}

seam! {
    readlink(path: *const c_char, buffer: *mut u8, size: usize) -> isize {
        // SAFETY: jemalloc passes a C string, and a buffer that is writable for `size` bytes.
        let (path, buffer) = unsafe { (CStr::from_ptr(path), core::slice::from_raw_parts_mut(buffer, size)) };
        let options = path == c"/etc/_rjem_malloc.conf";
        match kernel::read_link(if options { c"/etc/malloc.conf" } else { path }, buffer) {
            Some(target) => {
                if options {
                    // SAFETY: called once, under jemalloc's init lock.
                    unsafe { options::note_file(target) };
                }
                target.len() as isize
            }
            None => -1,
        }
    }
}

/// Keeps the type that jemalloc stores in its variable in step with the function.
const _: unsafe extern "C" fn(*mut c_void, *const c_char) = message::from_jemalloc;
