//! A file that is written once and completed later, through a shared mapping: it survives closed descriptors, a
//! chroot, a read-only remount and SIGKILL, and completing it opens nothing.

use super::kernel;
use crate::Errno;
use crate::text::Text;
use core::ffi::{CStr, c_int};

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
    /// for a path, which would be too large for the stack that a handler of signals may have to fork on.
    ///
    /// # Errors
    /// The system's error number; EEXIST for an existing regular file, ELOOP for a symbolic link, EISDIR for a
    /// directory, ENXIO for anything else that has the name. Nothing is left behind.
    pub fn create(path: &CStr, contents: &[u8], room: &mut [u8]) -> Result<Mapping, Errno> {
        if !may_write(contents.len()) {
            return Err(Errno(libc::EFBIG));
        }
        let (fd, named) = match open_unnamed(path, room) {
            Some(fd) => (fd?, false),
            None => (open_named(path)?, true),
        };
        // Contents are written, not mapped and filled: a full disk is an error here and SIGBUS there.
        let mapping = change_mode(fd)
            .and_then(|()| kernel::write_all(fd, contents))
            .and_then(|()| kernel::map_shared(fd, contents.len()))
            .map(|address| Mapping { address: address.cast(), length: contents.len() });
        let result = match mapping {
            Ok(mapping) if !named => name(fd, path).map(|()| mapping).inspect_err(|_| mapping.unmap()),
            other => other,
        };
        kernel::close(fd);
        if named && result.is_err() {
            remove(path);
        }
        result
    }

    /// Replaces bytes in the file; whether that was possible. It is not when the bytes lie outside, or the file
    /// was cut or its disk is full meanwhile: then nothing is written.
    #[must_use]
    pub fn write(&self, offset: usize, bytes: &[u8]) -> bool {
        let inside = offset.checked_add(bytes.len()).is_some_and(|end| end <= self.length);
        if !inside || !self.is_writable() {
            return false;
        }
        // SAFETY: inside the mapping, which lives until `unmap`; `bytes` is our own memory and does not overlap it.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), self.address.add(offset), bytes.len()) };
        true
    }

    /// Asks the kernel to make the pages writable now: where a plain write would raise SIGBUS, this is an error
    /// (MADV_POPULATE_WRITE, Linux 5.14). Older kernels do not know it, and there the risk is taken.
    fn is_writable(&self) -> bool {
        const MADV_POPULATE_WRITE: usize = 23;
        // SAFETY: the mapping's own range; the advice changes no contents.
        let answer = unsafe {
            kernel::syscall(libc::SYS_madvise, [self.address as usize, self.length, MADV_POPULATE_WRITE, 0, 0, 0])
        };
        !matches!(kernel::checked(answer), Err(Errno(error)) if error != libc::EINVAL)
    }

    /// Gives the mapping back; the file stays.
    pub fn unmap(self) {
        // SAFETY: the mapping's own range; `self` is consumed, and the owner keeps no copy.
        unsafe { kernel::syscall(libc::SYS_munmap, [self.address as usize, self.length, 0, 0, 0, 0]) };
    }
}

/// Whether the process may write files of that many bytes: beyond its limit a write raises SIGXFSZ, which would end
/// the program.
fn may_write(length: usize) -> bool {
    let mut limit = [u64::MAX; 2];
    // SAFETY: `limit` is writable and of the layout of struct rlimit64 (man 2 prlimit): the soft limit comes first.
    let answer = unsafe {
        kernel::syscall(libc::SYS_prlimit64, [0, libc::RLIMIT_FSIZE as usize, 0, limit.as_mut_ptr() as usize, 0, 0])
    };
    kernel::checked(answer).is_err() || limit[0] >= length as u64
}

/// Opens a file without a name in the folder of the path, so that the name, once it is there, is that of a whole
/// record. `None` where that cannot be done: file systems without O_TMPFILE, no /proc to give the name through.
fn open_unnamed(path: &CStr, room: &mut [u8]) -> Option<Result<c_int, Errno>> {
    let mut folder = Text::new(room);
    let slash = path.to_bytes().iter().rposition(|byte| *byte == b'/')?;
    folder.push(path.to_bytes().get(..=slash)?);
    match kernel::open(folder.as_c_str()?, libc::O_RDWR | libc::O_TMPFILE, 0o600) {
        Err(Errno(libc::EOPNOTSUPP | libc::EISDIR | libc::EINVAL)) => None,
        Ok(fd) if kernel::open(c"/proc/self/fd", libc::O_PATH, 0).map(kernel::close).is_err() => {
            kernel::close(fd);
            None
        }
        other => Some(other),
    }
}

fn open_named(path: &CStr) -> Result<c_int, Errno> {
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
    kernel::open(path, flags, 0o600).map_err(|error| taken(error, path))
}

/// Gives the open file its name, if that is free.
fn name(fd: c_int, path: &CStr) -> Result<(), Errno> {
    let mut buffer = [0; 32];
    let mut file = Text::new(&mut buffer);
    file.push(b"/proc/self/fd/").push_number(fd as u64);
    let file = file.as_c_str().ok_or(Errno(libc::ENAMETOOLONG))?;
    let here = libc::AT_FDCWD as usize;
    // SAFETY: both are C strings.
    let answer = unsafe {
        kernel::syscall(
            libc::SYS_linkat,
            [here, file.as_ptr() as usize, here, path.as_ptr() as usize, libc::AT_SYMLINK_FOLLOW as usize, 0],
        )
    };
    kernel::checked(answer).map(|_| ()).map_err(|error| taken(error, path))
}

/// EEXIST told apart by what has the name.
fn taken(error: Errno, path: &CStr) -> Errno {
    if error == Errno(libc::EEXIST) { Errno::of_taken_name(path) } else { error }
}

fn change_mode(fd: c_int) -> Result<(), Errno> {
    // SAFETY: no memory is passed.
    let answer = unsafe { kernel::syscall(libc::SYS_fchmod, [fd as usize, 0o600, 0, 0, 0, 0]) };
    kernel::checked(answer).map(|_| ())
}

fn remove(path: &CStr) {
    // SAFETY: `path` is a C string.
    unsafe { kernel::syscall(libc::SYS_unlinkat, [libc::AT_FDCWD as usize, path.as_ptr() as usize, 0, 0, 0, 0]) };
}
