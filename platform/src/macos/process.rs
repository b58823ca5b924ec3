//! This process: who it is, what it was given.

use core::ffi::{CStr, c_char};

pub use crate::environment::{strip_preload, variable};

/// The variable through which the dynamic linker is told what to preload.
pub const PRELOAD_VARIABLE: &[u8] = b"DYLD_INSERT_LIBRARIES";
/// What parts the entries in it (man 1 dyld).
pub(crate) const PRELOAD_SEPARATORS: &[u8] = b":";

/// The process's own number.
#[must_use]
pub fn pid() -> u32 {
    // SAFETY: no memory is passed.
    unsafe { libc::getpid() }.unsigned_abs()
}

/// The number of the process that started this one, or adopted it.
#[must_use]
pub fn parent_pid() -> u32 {
    // SAFETY: no memory is passed.
    unsafe { libc::getppid() }.unsigned_abs()
}

/// Lets other threads run.
pub fn yield_processor() {
    // SAFETY: no memory is passed.
    unsafe { libc::sched_yield() };
}

/// Seconds since 1970.
#[must_use]
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &mut time) };
    u64::try_from(time.tv_sec).unwrap_or(0)
}

/// The error number of the last call of this thread that failed.
pub(super) fn last_error() -> i32 {
    // SAFETY: errno's address is valid in every thread.
    unsafe { *libc::__error() }
}

/// Writes to descriptor 2, and leaves errno alone. Errors mean nothing: the program may have closed it.
pub fn write_to_stderr(bytes: &[u8]) {
    let before = last_error();
    let _ = super::record::write_all(2, bytes);
    // SAFETY: as in `last_error`.
    unsafe { *libc::__error() = before };
}

/// The path of the executable, from the kernel; empty when it cannot be said.
pub fn program(buffer: &mut [u8]) -> &[u8] {
    /// More than this is refused (PROC_PIDPATHINFO_MAXSIZE, libproc.h).
    const MAXIMUM: usize = 4096;
    let size = buffer.len().min(MAXIMUM);
    // SAFETY: `buffer` is writable for `size` bytes.
    let length = unsafe { libc::proc_pidpath(libc::getpid(), buffer.as_mut_ptr().cast(), size as u32) };
    usize::try_from(length).ok().and_then(|length| buffer.get(..length)).unwrap_or(&[])
}

/// The working directory; empty when it cannot be said. May allocate where the kernel does not know the path.
pub fn working_directory(buffer: &mut [u8]) -> &[u8] {
    // SAFETY: `buffer` is writable for its length.
    let answer = unsafe { libc::getcwd(buffer.as_mut_ptr().cast(), buffer.len()) };
    if answer.is_null() {
        return &[];
    }
    CStr::from_bytes_until_nul(buffer).map_or(&[], CStr::to_bytes)
}

/// The target of a symbolic link, cut to the buffer.
pub(super) fn read_link<'b>(path: &CStr, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    // SAFETY: `path` is a C string and `buffer` is writable for its length.
    let length = unsafe { libc::readlink(path.as_ptr(), buffer.as_mut_ptr().cast(), buffer.len()) };
    buffer.get(..usize::try_from(length).ok()?)
}

/// The size of a page of this system in bytes.
#[must_use]
pub fn page_size() -> usize {
    // SAFETY: any number may be asked about. Never an error for this one.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(0)
}

/// Whether the environment belongs to somebody less privileged than the process: setuid or setgid. Such an environment
/// is not to be obeyed.
#[must_use]
pub fn is_privileged() -> bool {
    // SAFETY: no memory is passed.
    unsafe { libc::issetugid() != 0 }
}

/// Where libc's list of `NAME=value` strings begins, ended by NULL.
pub(crate) fn environment() -> *mut *mut c_char {
    // SAFETY: returns the address of libSystem's variable, which is initialised before this library.
    unsafe { *libc::_NSGetEnviron() }
}

/// None: the library is loaded when libSystem has long been initialised, and [`variable`] knows all.
pub fn early_variable(_name: &[u8], _room: &mut [u8]) -> Option<usize> {
    Some(0)
}
