//! A file that is written once and completed later, through a shared mapping: it survives closed descriptors, a
//! chroot, a read-only remount and SIGKILL, and completing it opens nothing.

use super::kernel;
use crate::Errno;
use core::ffi::CStr;

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
    /// symbolic link in the last place never followed. The descriptor is closed again.
    ///
    /// # Errors
    /// The system's error number; EEXIST for an existing regular file, ELOOP for a symbolic link, EISDIR for a
    /// directory, ENXIO for anything else that has the name. Nothing is left behind.
    pub fn create(path: &CStr, contents: &[u8]) -> Result<Mapping, Errno> {
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
        let fd = kernel::open(path, flags, 0o600).map_err(|error| match error {
            Errno(libc::EEXIST) => what_has_the_name(path),
            error => error,
        })?;
        // Contents are written, not mapped and filled: a full disk is an error here and SIGBUS there.
        let mapping = change_mode(fd)
            .and_then(|()| kernel::write_all(fd, contents))
            .and_then(|()| kernel::map_shared(fd, contents.len()));
        kernel::close(fd);
        match mapping {
            Ok(address) => Ok(Mapping { address: address.cast(), length: contents.len() }),
            Err(error) => {
                remove(path);
                Err(error)
            }
        }
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

fn change_mode(fd: i32) -> Result<(), Errno> {
    // SAFETY: no memory is passed.
    let answer = unsafe { kernel::syscall(libc::SYS_fchmod, [fd as usize, 0o600, 0, 0, 0, 0]) };
    kernel::checked(answer).map(|_| ())
}

fn remove(path: &CStr) {
    // SAFETY: `path` is a C string.
    unsafe { kernel::syscall(libc::SYS_unlinkat, [libc::AT_FDCWD as usize, path.as_ptr() as usize, 0, 0, 0, 0]) };
}

fn what_has_the_name(path: &CStr) -> Errno {
    let mut status = core::mem::MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: `path` is a C string and `status` writable; zeroed is a valid value of it.
    let kind = unsafe {
        libc::lstat(path.as_ptr(), status.as_mut_ptr());
        status.assume_init().st_mode & libc::S_IFMT
    };
    match kind {
        libc::S_IFLNK => Errno(libc::ELOOP),
        libc::S_IFDIR => Errno(libc::EISDIR),
        libc::S_IFREG => Errno(libc::EEXIST),
        _ => Errno(libc::ENXIO),
    }
}
