//! What happens when the library is loaded: nothing, unless one of its variables asks for it.

use crate::exports::deepbind;
use crate::{message, options, report};
use core::ffi::CStr;
use jeshim_platform::{binding, install, process};

ctor::declarative::ctor! {
    /// Runs before the program's `main`, after the constructors of the libraries that this one needs, and after an
    /// unknown number of allocations: allocating did not wait for it.
    #[ctor(unsafe)]
    fn load() {
        // SAFETY: called once, if at all, and before jemalloc starts.
        if !install::install(|file| unsafe { options::at_start(file) }) {
            message::line(&[LATE]);
        }
        // A setuid program's environment is not ours to obey: process::variable knows none there.
        match process::variable(b"JESHIM_DEEPBIND").map(CStr::to_bytes) {
            None | Some(b"" | b"clear") => {}
            Some(b"keep") => deepbind::keep(),
            Some(other) => invalid("JESHIM_DEEPBIND", other, "clear or keep", "clear"),
        }
        match process::variable(b"JESHIM_CHILDREN").map(CStr::to_bytes) {
            None | Some(b"" | b"inherit") => {}
            // SAFETY: a constructor; the program has not begun.
            Some(b"strip") => unsafe { process::strip_preload(binding::library_path()) },
            Some(other) => invalid("JESHIM_CHILDREN", other, "inherit or strip", "inherit"),
        }
        match process::variable(b"JESHIM_REPORT").map(CStr::to_bytes) {
            None | Some(b"") => {}
            Some(path) => report::begin(path),
        }
    }
}

const LATE: &[u8] = b"jemalloc started before its options could be given to it; MALLOC_CONF and /etc/malloc.conf have \
no effect; report this as a defect of jeshim";

fn invalid(name: &str, value: &[u8], allowed: &str, default: &str) {
    let (name, allowed, default) = (name.as_bytes(), allowed.as_bytes(), default.as_bytes());
    message::line(&[name, b"='", value, b"' is not known, '", default, b"' is used; set it to ", allowed]);
}
