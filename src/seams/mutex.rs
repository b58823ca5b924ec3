//! jemalloc's mutexes: libc's own functions, also where another library interposes the public names.
//!
//! Mutex profilers do that, and allocate while jemalloc holds its init lock. Making a mutex is answered here: jemalloc
//! makes adaptive ones, of no other attribute. Locking goes to libc by the second names that glibc has for its own
//! libraries' use; their version differs by processor.

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

/// A seam that is a jump to glibc's second name of a function, at the version under which it has been there from the
/// start. A plain `extern` would ask the linker for a default version, and there is none.
macro_rules! second_name {
    ($($name:literal = $second:literal;)*) => {
        $(core::arch::global_asm!(
            concat!(".symver jeshim_libc_", $name, ", ", $second, "@", glibc_start!()),
            concat!(".pushsection .text.__wrap_", $name, ",\"ax\",%progbits"),
            concat!(".globl __wrap_", $name),
            concat!(".hidden __wrap_", $name),
            concat!(".type __wrap_", $name, ",%function"),
            concat!("__wrap_", $name, ":"),
            jump_to_libc!($name),
            concat!(".size __wrap_", $name, ", . - __wrap_", $name),
            ".popsection",
        );)*
    };
}

#[cfg(target_arch = "x86_64")]
macro_rules! glibc_start {
    () => {
        "GLIBC_2.2.5"
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! glibc_start {
    () => {
        "GLIBC_2.17"
    };
}
#[cfg(target_arch = "x86_64")]
macro_rules! jump_to_libc {
    ($name:literal) => {
        concat!("jmp qword ptr [rip + jeshim_libc_", $name, "@GOTPCREL]")
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! jump_to_libc {
    ($name:literal) => {
        concat!("b jeshim_libc_", $name)
    };
}

second_name! {
    "pthread_mutex_lock" = "__pthread_mutex_lock";
    "pthread_mutex_trylock" = "__pthread_mutex_trylock";
    "pthread_mutex_unlock" = "__pthread_mutex_unlock";
}
