//! The option string, composed at the moment when jemalloc asks for it.
//!
//! jemalloc reads, later wins: its configure-time string, the variable `malloc_conf`, `/etc/malloc.conf`, the
//! environment's `MALLOC_CONF`, the variable `malloc_conf_2_conf_harder`. Ours go in front of what the program put
//! into `malloc_conf`, so that everything the user or the program wrote wins over them; and since jemalloc itself
//! does the reading, `confirm_conf:true` shows them.
//!
//! Everything here runs while jemalloc holds its init lock: no allocation, no libc function that another library may
//! have interposed, memory that is static.

use crate::message;
use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};
use jeshim_platform::text::Text;
use jeshim_platform::{Start, cpus, process};

/// The environment's variable.
pub(crate) const VARIABLE: &str = "MALLOC_CONF";

/// Where a source's string is kept for as long as the process lives: jemalloc keeps pointers to it, and the record
/// quotes it, after the program may have overwritten its environment (setproctitle does).
struct Kept<const SIZE: usize> {
    text: UnsafeCell<[u8; SIZE]>,
    /// What is in effect: `text`, or the original where that did not fit; NULL for none.
    value: AtomicPtr<c_char>,
}

// SAFETY: `text` is written by `keep` only, which jemalloc's init lock, or the constructor that installs the zone,
// lets run once; readers go through `value`, stored after it.
unsafe impl<const SIZE: usize> Sync for Kept<SIZE> {}

impl<const SIZE: usize> Kept<SIZE> {
    const fn new() -> Self {
        Kept { text: UnsafeCell::new([0; SIZE]), value: AtomicPtr::new(null_mut()) }
    }

    /// Fills the text by `write`; without success keeps `otherwise`. What jemalloc is to read: NULL for nothing.
    ///
    /// # Safety
    /// One call at a time, and none once jemalloc has the text.
    unsafe fn keep(&self, otherwise: *mut c_char, write: impl FnOnce(&mut Text)) -> *mut c_char {
        // SAFETY: the caller's promise: nobody else has a reference.
        let mut text = Text::new(unsafe { &mut *self.text.get() });
        write(&mut text);
        let value = match text.as_c_str() {
            Some(text) if text.is_empty() => otherwise,
            Some(text) => text.as_ptr().cast_mut(),
            None => otherwise,
        };
        self.value.store(value, Ordering::Release);
        value
    }

    fn get(&self) -> Option<&'static CStr> {
        let value = self.value.load(Ordering::Acquire);
        // SAFETY: a C string, static or the program's own.
        (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
    }
}

static DEFAULTS: Kept<64> = Kept::new();
/// The program's `malloc_conf` as it was.
static PROGRAM: AtomicPtr<c_char> = AtomicPtr::new(null_mut());
/// What jemalloc finds in `malloc_conf`: DEFAULTS, PROGRAM, and FILE where jemalloc does not ask for that itself.
static COMPOSED: Kept<4096> = Kept::new();
static FILE: Kept<1024> = Kept::new();
static ENVIRONMENT: Kept<16384> = Kept::new();

/// The sources as jemalloc was given them, weakest first, each with its name; for the record.
pub(crate) fn sources() -> [(&'static str, Option<&'static CStr>); 4] {
    let program = PROGRAM.load(Ordering::Acquire);
    // SAFETY: a C string that lives as long as the process, by the promise made to `compose`.
    let program = (!program.is_null()).then(|| unsafe { CStr::from_ptr(program) });
    [
        ("jeshim_defaults", DEFAULTS.get()),
        ("malloc_conf", program),
        ("etc_malloc_conf", FILE.get()),
        ("environment", ENVIRONMENT.get()),
    ]
}

/// The library's own defaults: what upstream derives from the machine, derived from the container. Upstream makes
/// four arenas for each CPU of the affinity mask, and knows nothing of quotas: 384 arenas for two CPUs on a 96-core
/// host. Said as arenas for each CPU of the mask, so that `narenas`, `narenas_ratio` and `percpu_arena` of the user
/// mean what they always do.
fn write_defaults(text: &mut Text, quota: Option<u32>, affinity: u32) {
    let Some(quota) = quota.filter(|quota| *quota < affinity) else { return };
    let arenas = if quota > 1 { u64::from(quota) * 4 } else { 1 };
    // jemalloc rounds to the nearest; five digits are enough for 8192 CPUs.
    let ratio = (arenas * 100_000).div_ceil(u64::from(affinity));
    text.push(b"narenas_ratio:").push_number(ratio / 100_000).push(b".");
    let mut digit = 10_000;
    while digit > 0 {
        text.push_number(ratio / digit % 10);
        digit /= 10;
    }
}

/// What the variable `malloc_conf` is to hold: our defaults, then the program's own options, then `file`; `NULL` for
/// none.
///
/// # Safety
/// `program` is NULL or a C string that lives as long as the process. Called once, before jemalloc reads options.
pub(crate) unsafe fn compose(program: *mut c_char, file: Option<&CStr>) -> *mut c_char {
    PROGRAM.store(program, Ordering::Release);
    // SAFETY: the caller's promise: called once, and `program` is a C string or NULL.
    unsafe {
        // The quota is in files; where there is one CPU it cannot matter.
        let affinity = cpus::affinity().unwrap_or(1);
        let quota = if affinity > 1 { cpus::quota() } else { None };
        DEFAULTS.keep(null_mut(), |text| write_defaults(text, quota, affinity));
        let defaults = DEFAULTS.get();
        if defaults.is_none() && file.is_none() {
            return program;
        }
        let of_program = (!program.is_null()).then(|| CStr::from_ptr(program));
        COMPOSED.keep(program, |text| {
            for part in [defaults, of_program, file].into_iter().flatten().map(CStr::to_bytes) {
                if !part.is_empty() && !text.as_bytes().is_empty() {
                    text.push(b",");
                }
                text.push(part);
            }
        })
    }
}

/// The value of `MALLOC_CONF`; `NULL` when it is not set or not to be obeyed (setuid programs).
///
/// # Safety
/// One call at a time, before jemalloc has read its options.
pub(crate) unsafe fn environment() -> *mut c_char {
    let name = VARIABLE.as_bytes();
    // SAFETY: the caller's promise.
    unsafe {
        match process::variable(name) {
            Some(value) => ENVIRONMENT.keep(value.as_ptr().cast_mut(), |text| _ = text.push(value.to_bytes())),
            None => ENVIRONMENT.keep(null_mut(), |text| {
                text.push_with(|room| process::early_variable(name, room));
                if !text.is_complete() {
                    message::line(&[name, b" is too long to be read before libc has started; ignored; shorten it"]);
                }
            }),
        }
    }
}

/// Everything at once, for a system without seams; `file` is what `/etc/malloc.conf` points to. The order among the
/// sources stays: the environment wins.
///
/// # Safety
/// As for [`compose`] and [`environment`].
pub(crate) unsafe fn at_start(file: Option<&[u8]>) -> Start {
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(target) = file {
            note_file(target);
        }
        let conf = compose(null_mut(), FILE.get());
        Start { conf, conf_harder: environment(), message: message::from_jemalloc }
    }
}

/// Notes what `/etc/malloc.conf` points to, for the record.
///
/// # Safety
/// As for [`environment`].
pub(crate) unsafe fn note_file(target: &[u8]) {
    // SAFETY: the caller's promise.
    unsafe { FILE.keep(null_mut(), |text| _ = text.push(target)) };
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;

    fn defaults(quota: Option<u32>, affinity: u32) -> std::string::String {
        let mut buffer = [0; 64];
        let mut text = Text::new(&mut buffer);
        write_defaults(&mut text, quota, affinity);
        std::str::from_utf8(text.as_bytes()).unwrap().into()
    }

    #[test]
    fn a_quota_smaller_than_the_affinity_sets_the_arenas() {
        assert_eq!(defaults(Some(2), 96), "narenas_ratio:0.08334");
        assert_eq!(defaults(Some(1), 96), "narenas_ratio:0.01042");
        assert_eq!(defaults(Some(3), 4), "narenas_ratio:3.00000");
    }

    #[test]
    fn the_ratio_gives_the_number_of_arenas_that_is_meant() {
        for affinity in 2..=1024_u32 {
            for quota in 1..affinity {
                let text = defaults(Some(quota), affinity);
                let ratio: f64 = text.strip_prefix("narenas_ratio:").unwrap().parse().unwrap();
                // As jemalloc does it: 16 bits after the point (fxp.h), times the CPUs, to the nearest.
                let fixed = (ratio * 65536.0).floor() / 65536.0;
                let arenas = (fixed * f64::from(affinity)).round();
                let meant = if quota > 1 { f64::from(quota * 4) } else { 1.0 };
                assert_eq!(arenas, meant, "{quota} of {affinity}: {text}");
            }
        }
    }

    #[test]
    fn without_a_tighter_quota_nothing_is_said() {
        assert_eq!(defaults(None, 96), "");
        assert_eq!(defaults(Some(4), 4), "");
        assert_eq!(defaults(Some(8), 4), "");
    }

    #[test]
    fn what_the_program_wrote_comes_last() {
        let kept = Kept::<16>::new();
        // SAFETY: this thread's own `kept`.
        let fits = unsafe { kept.keep(null_mut(), |text| _ = text.push(b"a:1").push(b",b:2")) };
        assert!(!fits.is_null());
        assert_eq!(kept.get(), Some(c"a:1,b:2"));
        let original = c"original".as_ptr().cast_mut();
        // SAFETY: as above; what was read before is not used any more.
        let too_long = unsafe { kept.keep(original, |text| _ = text.push(&[b'x'; 16])) };
        assert_eq!(too_long, original);
        assert_eq!(kept.get(), Some(c"original"));
    }
}
