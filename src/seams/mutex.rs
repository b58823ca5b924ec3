//! Making a mutex, without libc: jemalloc does it under its init lock, and another library may have interposed the
//! names and allocate in them. It makes mutexes of one kind, and no other attribute.
//!
//! Locking goes to whoever has the public names. glibc's second names (`__pthread_mutex_lock`) are no way around: the
//! sanitizers' runtimes define them, too, and lead nowhere.

use super::seam;
use core::ffi::c_int;

/// What jemalloc keeps between the calls that make a mutex: in glibc, too, an int with the kind at its start.
#[repr(C)]
struct Attributes {
    kind: c_int,
}

seam! {
    pthread_mutexattr_init(attributes: *mut Attributes) -> c_int {
        // SAFETY: the caller's object, a pthread_mutexattr_t, which is no smaller.
        unsafe { (*attributes).kind = libc::PTHREAD_MUTEX_DEFAULT };
        0
    }
}

seam! {
    pthread_mutexattr_settype(attributes: *mut Attributes, kind: c_int) -> c_int {
        // SAFETY: as above.
        unsafe { (*attributes).kind = kind };
        0
    }
}

seam! {
    pthread_mutexattr_destroy(_attributes: *mut Attributes) -> c_int {
        0
    }
}

seam! {
    pthread_mutex_init(mutex: *mut libc::pthread_mutex_t, attributes: *const Attributes) -> c_int {
        // SAFETY: the caller's attributes, initialised, or NULL for none.
        let kind = unsafe { attributes.as_ref() }.map_or(libc::PTHREAD_MUTEX_DEFAULT, |attributes| attributes.kind);
        let value = match kind {
            libc::PTHREAD_MUTEX_DEFAULT => libc::PTHREAD_MUTEX_INITIALIZER,
            libc::PTHREAD_MUTEX_ADAPTIVE_NP => libc::PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP,
            _ => return libc::EINVAL,
        };
        // SAFETY: the caller's object, writable, and not in use before it is initialised.
        unsafe { mutex.write(value) };
        0
    }
}
