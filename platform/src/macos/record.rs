//! A file that is written once and completed later, through a shared mapping: it survives closed descriptors, a
//! chroot and SIGKILL, and completing it opens nothing.

use super::process::{last_error, page_size};
use crate::Errno;
use core::ffi::{CStr, c_int, c_uint, c_void};
use core::ptr::null_mut;

/// A new file and the mapping of its contents.
#[derive(Clone, Copy, Debug)]
pub struct Mapping {
    address: *mut u8,
    length: usize,
}

// SAFETY: the mapping is plain shared memory of the process; who writes when is up to the owner.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Creates the file, mode 0600, writes the contents and maps them. An existing file is never touched and a
    /// symbolic link in the last place never followed. The descriptor is closed again. `room` is
    /// for a path, which would be too large for the stack that a handler of signals may have to fork on. For a moment the file is empty:
    /// macOS has no files without a name, to which one could be given later.
    ///
    /// # Errors
    /// The system's error number; EEXIST for an existing regular file, ELOOP for a symbolic link, EISDIR for a
    /// directory, ENXIO for anything else that has the name. Nothing is left behind.
    pub fn create(path: &CStr, contents: &[u8], _room: &mut [u8]) -> Result<Mapping, Errno> {
        if !may_write(contents.len()) {
            return Err(Errno(libc::EFBIG));
        }
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        // SAFETY: `path` is a C string; the mode is passed as C's promotion of arguments has it.
        let fd = checked(unsafe { libc::open(path.as_ptr(), flags, 0o600 as c_uint) });
        let fd = fd.map_err(|error| match error {
            Errno(libc::EEXIST) => Errno::of_taken_name(path),
            error => error,
        })?;
        // The mode again: the umask may have taken bits away.
        // SAFETY: no memory is passed.
        let mode = checked(unsafe { libc::fchmod(fd, 0o600) });
        // Contents are written, not mapped and filled: a full disk is an error here and SIGBUS there.
        let mapping = mode.and_then(|_| write_all(fd, contents)).and_then(|()| map_shared(fd, contents.len()));
        // SAFETY: our own descriptor, closed once.
        unsafe { libc::close(fd) };
        match mapping {
            Ok(address) => Ok(Mapping { address: address.cast(), length: contents.len() }),
            Err(error) => {
                // SAFETY: `path` is a C string.
                unsafe { libc::unlink(path.as_ptr()) };
                Err(error)
            }
        }
    }

    /// Replaces bytes in the file; whether that was possible. It is not when the bytes lie outside, or the file
    /// was cut meanwhile: then nothing is written.
    #[must_use]
    pub fn write(&self, offset: usize, bytes: &[u8]) -> bool {
        let inside = offset.checked_add(bytes.len()).is_some_and(|end| end <= self.length);
        if !inside || !self.is_backed() {
            return false;
        }
        // SAFETY: inside the mapping, which lives until `unmap`; `bytes` is our own memory and does not overlap it.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), self.address.add(offset), bytes.len()) };
        true
    }

    /// Has the kernel read a byte of each page: where a plain access would raise SIGBUS, this is an error. (Linux can
    /// ask whether pages are writable; here the blocks on the disk were taken when the contents were written.)
    fn is_backed(&self) -> bool {
        let page = page_size().max(1);
        let mut offset = 0;
        while offset < self.length {
            let mut byte = 0_u8;
            let mut read = 0;
            let to = (&raw mut byte) as usize;
            // SAFETY: copies one byte from our own mapping to our own variable, or fails.
            let error = unsafe { vm_read_overwrite(mach_task_self_, self.address as usize + offset, 1, to, &mut read) };
            if error != libc::KERN_SUCCESS || read != 1 {
                return false;
            }
            offset += page;
        }
        true
    }

    /// Gives the mapping back; the file stays.
    pub fn unmap(self) {
        // SAFETY: the mapping's own range; `self` is consumed, and the owner keeps no copy.
        unsafe { libc::munmap(self.address.cast(), self.length) };
    }
}

/// Whether the process may write files of that many bytes: beyond its limit a write raises SIGXFSZ, which would end
/// the program.
fn may_write(length: usize) -> bool {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: `limit` is writable.
    let answer = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) };
    answer != 0 || limit.rlim_cur >= length as u64
}

fn checked(answer: c_int) -> Result<c_int, Errno> {
    if answer < 0 { Err(Errno(last_error())) } else { Ok(answer) }
}

/// Writes everything.
pub(super) fn write_all(fd: c_int, bytes: &[u8]) -> Result<(), Errno> {
    let mut rest = bytes;
    while !rest.is_empty() {
        // SAFETY: `rest` is readable for its length.
        let written = unsafe { libc::write(fd, rest.as_ptr().cast(), rest.len()) };
        match usize::try_from(written) {
            Ok(count) => rest = rest.get(count..).unwrap_or(&[]),
            Err(_) if last_error() == libc::EINTR => {}
            Err(_) => return Err(Errno(last_error())),
        }
    }
    Ok(())
}

fn map_shared(fd: c_int, length: usize) -> Result<*mut c_void, Errno> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: no address is asked for, so that nothing that exists is mapped over.
    let address = unsafe { libc::mmap(null_mut(), length, protection, libc::MAP_SHARED, fd, 0) };
    if address == libc::MAP_FAILED { Err(Errno(last_error())) } else { Ok(address) }
}

unsafe extern "C" {
    static mach_task_self_: c_uint;
    /// Copies memory of a task to a place in this one (mach/vm_map.h).
    fn vm_read_overwrite(task: c_uint, address: usize, size: usize, to: usize, read: *mut usize)
    -> libc::kern_return_t;
}
