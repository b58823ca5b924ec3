//! What the library says on stderr, and only when something is wrong: one line, cause and remedy.

use crate::exports::variables::MALLOC_MESSAGE;
use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::Ordering;
use jeshim_platform::process;
use jeshim_platform::text::Text;

/// Writes `jeshim: …` and the pid as one line with one write: lines of several processes do not mix. Too long a
/// line is cut.
pub(crate) fn line(parts: &[&[u8]]) {
    let mut buffer = [0; 1024];
    let mut text = Text::new(&mut buffer);
    text.push(b"jeshim[").push_number(u64::from(process::pid())).push(b"]: ");
    for part in parts {
        for byte in part.iter().take(1000) {
            // A control character in a value must not play with the terminal.
            let shown = if byte.is_ascii_control() { b'?' } else { *byte };
            text.push(&[shown]);
        }
    }
    let length = text.as_bytes().len().min(1023);
    if let Some(end) = buffer.get_mut(length) {
        *end = b'\n';
    }
    process::write_to_stderr(buffer.get(..=length).unwrap_or(&[]));
}

/// jemalloc's own messages: to the program's `malloc_message` when it has one, else to stderr. One that says that an
/// option was not understood is given its remedy.
pub(crate) unsafe extern "C" fn from_jemalloc(opaque: *mut c_void, text: *const c_char) {
    let program = MALLOC_MESSAGE.load(Ordering::Relaxed);
    if !program.is_null() {
        // SAFETY: the variable's type is a function pointer of this type (man 3 jemalloc).
        let program =
            unsafe { core::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void, *const c_char)>(program) };
        // SAFETY: jemalloc's own arguments.
        return unsafe { program(opaque, text) };
    }
    // SAFETY: jemalloc passes a C string.
    let text = unsafe { CStr::from_ptr(text) }.to_bytes();
    let is_about_options =
        [&b"<jemalloc>: Invalid conf"[..], b"<jemalloc>: Conf string", b"<jemalloc>: Malformed conf"]
            .iter()
            .any(|start| text.starts_with(start));
    match text.strip_suffix(b"\n") {
        Some(cause) if is_about_options => {
            let mut buffer = [0; 512];
            let mut line = Text::new(&mut buffer);
            line.push(cause).push(REMEDY);
            if line.is_complete() {
                return process::write_to_stderr(line.as_bytes());
            }
            process::write_to_stderr(text);
        }
        _ => process::write_to_stderr(text),
    }
}

const REMEDY: &[u8] = b"; ignored: correct it in MALLOC_CONF, /etc/malloc.conf or the program's malloc_conf \
(options: man 3 jemalloc, section TUNING)\n";
