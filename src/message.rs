//! What the library says on stderr, and only when something is wrong: one line, cause and remedy.

use crate::exports::variables::MALLOC_MESSAGE;
use core::ffi::{CStr, c_char, c_void};
use core::sync::atomic::{AtomicU64, Ordering};
use jeshim_platform::process;
use jeshim_platform::text::Text;

/// So much of a value is shown: cause and remedy have to stay on the line.
const SHOWN: usize = 300;
const LINE: usize = 2048;

/// Adds what may be anything: cut when it is long, and without control characters, which must not play with the
/// terminal or break the line.
fn push_shown(text: &mut Text, bytes: &[u8]) {
    let mut before = 0;
    for byte in bytes.iter().take(SHOWN) {
        // U+0080 to U+009F are control characters, too, in two bytes of UTF-8.
        let is_control = byte.is_ascii_control() || before == 0xc2 && (0x80..0xa0).contains(byte);
        text.push(&[if is_control { b'?' } else { *byte }]);
        before = *byte;
    }
    if bytes.len() > SHOWN {
        text.push(b"...");
    }
}

/// Writes `jeshim[PID]: …` as one line with one write: lines of several processes do not mix.
pub(crate) fn line(parts: &[&[u8]]) {
    let mut buffer = [0; LINE];
    let mut text = Text::new(&mut buffer);
    text.push(b"jeshim[").push_number(u64::from(process::pid())).push(b"]: ");
    for part in parts {
        push_shown(&mut text, part);
    }
    text.push(b"\n");
    process::write_to_stderr(text.as_bytes());
}

/// jemalloc's own messages: to the program's `malloc_message` when it has one, else to stderr. One about an option
/// that was not understood is given its remedy, and said once: jemalloc reads the options twice.
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
    let problem =
        text.strip_prefix(b"<jemalloc>: ").filter(|problem| OPTIONS.iter().any(|start| problem.starts_with(start)));
    let Some(problem) = problem else { return process::write_to_stderr(text) };
    static LAST: AtomicU64 = AtomicU64::new(0);
    if LAST.swap(fingerprint(problem), Ordering::Relaxed) == fingerprint(problem) {
        return;
    }
    let mut buffer = [0; LINE];
    let mut line = Text::new(&mut buffer);
    line.push(b"<jemalloc>: ");
    push_shown(&mut line, problem.strip_suffix(b"\n").unwrap_or(problem));
    line.push(REMEDY);
    process::write_to_stderr(line.as_bytes());
}

/// How jemalloc 5.3.1's messages about options begin (conf.c: `conf_error`, `malloc_conf_format_error`).
const OPTIONS: [&[u8]; 7] = [
    b"Invalid conf",
    b"Out-of-range conf",
    b"Conf string ends with",
    b"Malformed conf string",
    b"Error setting dss",
    b"Invalid settings for",
    b"No getcpu support",
];

const REMEDY: &[u8] = b"; correct it in MALLOC_CONF, /etc/malloc.conf or the program's malloc_conf \
(options: man 3 jemalloc, section TUNING)\n";

/// FNV-1a: enough to know a line again.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}
