//! This process: who it is, what it was given.

use super::kernel;
use core::ffi::c_char;
use core::sync::atomic::{AtomicPtr, Ordering};

pub use crate::environment::{strip_preload, variable};

/// The variable through which the dynamic linker is told what to preload.
pub const PRELOAD_VARIABLE: &[u8] = b"LD_PRELOAD";
/// What parts the entries in it (man 8 ld.so).
pub(crate) const PRELOAD_SEPARATORS: &[u8] = b" :";

unsafe extern "C" {
    /// libc's list of `NAME=value` strings, ended by NULL; NULL itself before libc is initialised. An atomic has the
    /// layout of the pointer, and a program may set it at any time.
    static environ: AtomicPtr<*mut c_char>;
}

/// The process's own number; not libc's, which an interposer may have changed.
#[must_use]
pub fn pid() -> u32 {
    // SAFETY: no memory is passed.
    unsafe { kernel::syscall(libc::SYS_getpid, [0; 6]) as u32 }
}

/// The number of the process that started this one, or adopted it.
#[must_use]
pub fn parent_pid() -> u32 {
    // SAFETY: no memory is passed.
    unsafe { kernel::syscall(libc::SYS_getppid, [0; 6]) as u32 }
}

/// Lets other threads run.
pub fn yield_processor() {
    // SAFETY: no memory is passed.
    unsafe { kernel::syscall(libc::SYS_sched_yield, [0; 6]) };
}

/// Seconds since 1970 by the system's real clock (libfaketime is not asked).
#[must_use]
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable and of the kernel's layout on 64-bit systems, and on 32-bit ones for this call.
    unsafe {
        kernel::syscall(libc::SYS_clock_gettime, [libc::CLOCK_REALTIME as usize, (&raw mut time) as usize, 0, 0, 0, 0]);
    }
    u64::try_from(time.tv_sec).unwrap_or(0)
}

/// Writes to descriptor 2, once: what did not go out then would not later, and a second try at the limit on file sizes
/// ends the program (SIGXFSZ). Errors mean nothing: the program may have closed it.
pub fn write_to_stderr(bytes: &[u8]) {
    // SAFETY: `bytes` is readable for its length.
    unsafe { kernel::syscall(libc::SYS_write, [2, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0]) };
}

/// The path of the executable, from /proc; empty where that is not mounted.
pub fn program(buffer: &mut [u8]) -> &[u8] {
    kernel::read_link(c"/proc/self/exe", buffer).unwrap_or(&[])
}

/// The working directory; empty when it cannot be said.
pub fn working_directory(buffer: &mut [u8]) -> &[u8] {
    let (start, length) = (buffer.as_mut_ptr() as usize, buffer.len());
    // SAFETY: `buffer` is writable for `length` bytes.
    let answer = unsafe { kernel::syscall(libc::SYS_getcwd, [start, length, 0, 0, 0, 0]) };
    // The length that the kernel gives counts the NUL.
    kernel::checked(answer).ok().and_then(|length| buffer.get(..length.saturating_sub(1))).unwrap_or(&[])
}

/// The size of a page of this kernel in bytes.
#[must_use]
pub fn page_size() -> usize {
    // SAFETY: getauxval only reads the vector that the kernel gave to the process.
    unsafe { libc::getauxval(libc::AT_PAGESZ) as usize }
}

/// Whether the environment belongs to somebody less privileged than the process: setuid, setgid, file capabilities
/// (AT_SECURE, man 8 ld.so). Such an environment is not to be obeyed.
#[must_use]
pub fn is_privileged() -> bool {
    // SAFETY: as above.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Where libc's list of `NAME=value` strings begins, ended by NULL; NULL itself before libc is initialised.
pub(crate) fn environment() -> *mut *mut c_char {
    // SAFETY: libc defines it.
    unsafe { &environ }.load(Ordering::Relaxed)
}

/// The value of an environment variable before libc is initialised: the kernel's copy of what the process was
/// started with, from /proc. Written to the start of `room`; its length, 0 when there is none to obey, `None` when it
/// does not fit.
pub fn early_variable(name: &[u8], room: &mut [u8]) -> Option<usize> {
    if !environment().is_null() || is_privileged() {
        return Some(0);
    }
    let Ok(fd) = kernel::open(c"/proc/self/environ", libc::O_RDONLY, 0) else { return Some(0) };
    let found = find_in_stream(name, room, &mut |chunk| kernel::read(fd, chunk).unwrap_or(0));
    kernel::close(fd);
    found
}

/// Copies the value of `name` from a stream of NUL-terminated `NAME=value` entries; its length, 0 for none, `None`
/// when it does not fit.
fn find_in_stream(name: &[u8], value: &mut [u8], read: &mut dyn FnMut(&mut [u8]) -> usize) -> Option<usize> {
    /// Where in an entry the next byte stands.
    #[derive(Clone, Copy)]
    enum At {
        Name(usize),
        Value(usize),
        OtherEntry,
    }
    let mut at = At::Name(0);
    let mut chunk = [0; 512];
    loop {
        let length = read(&mut chunk);
        if length == 0 {
            return Some(0);
        }
        for byte in chunk.get(..length)? {
            at = match at {
                At::Value(index) if *byte == 0 => return Some(index),
                At::Value(index) => {
                    *value.get_mut(index)? = *byte;
                    At::Value(index + 1)
                }
                _ if *byte == 0 => At::Name(0),
                At::Name(index) if name.get(index) == Some(byte) => At::Name(index + 1),
                At::Name(index) if index == name.len() && *byte == b'=' => At::Value(0),
                _ => At::OtherEntry,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;

    /// The value, or `None` when it does not fit 64 bytes.
    fn find(name: &str, environment: &[u8], chunk_size: usize) -> Option<std::string::String> {
        let mut rest = environment;
        let mut value = [0; 64];
        let length = find_in_stream(name.as_bytes(), &mut value, &mut |chunk| {
            let (now, later) = rest.split_at(rest.len().min(chunk_size).min(chunk.len()));
            chunk[..now.len()].copy_from_slice(now);
            rest = later;
            now.len()
        })?;
        Some(std::str::from_utf8(&value[..length]).unwrap().into())
    }

    #[test]
    fn finds_a_variable_wherever_the_chunks_break() {
        let environment = b"MALLOC_CONFIG=no\0XMALLOC_CONF=no\0MALLOC_CONF=narenas:1\0PATH=/bin\0";
        for chunk_size in 1..80 {
            assert_eq!(find("MALLOC_CONF", environment, chunk_size).as_deref(), Some("narenas:1"));
            assert_eq!(find("PATH", environment, chunk_size).as_deref(), Some("/bin"));
            assert_eq!(find("ALLOC_CONF", environment, chunk_size).as_deref(), Some(""));
        }
        assert_eq!(find("LONG", &[b"LONG=".as_slice(), &[b'x'; 100], b"\0"].concat(), 512), None);
    }
}
