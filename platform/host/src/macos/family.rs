//! Standing in for the parents of processes: macOS gives orphans to launchd, and to nobody else.

use nix::sys::select::{FdSet, pselect};
use nix::sys::signal::SigSet;
use std::ffi::{CStr, c_char};
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// The unit of `ru_maxrss`, in bytes.
pub(crate) const PEAK_UNIT: u64 = 1;

/// Cannot be done here: of what loses its parent, only members of the program's process group are found.
pub(crate) fn adopt_orphans() {}

/// Cannot be asked for here.
pub(crate) fn die_with(_starter: u32) -> io::Result<()> {
    Ok(())
}

/// Waits until there is something to read; with this mask meanwhile.
pub(crate) fn wait_readable(file: &impl AsFd, mask: &SigSet) -> io::Result<()> {
    let mut files = FdSet::new();
    if file.as_fd().as_raw_fd() >= libc::FD_SETSIZE as i32 {
        return Err(io::Error::from_raw_os_error(libc::EMFILE));
    }
    files.insert(file.as_fd());
    pselect(None, Some(&mut files), None, None, None, Some(mask))?;
    Ok(())
}

/// What a fork of this process can do without: nothing is known of it here.
pub(crate) struct Ballast;

impl Ballast {
    pub(crate) fn of_this_process() -> Ballast {
        Ballast
    }

    pub(crate) fn drop_in_this_process(&self) {}
}

/// Executes a file; returns the number of the error.
///
/// # Safety
/// The tables end with a null pointer, and what they point to with NUL.
pub(crate) unsafe fn execute(file: &CStr, words: *const *const c_char, variables: *const *const c_char) -> i32 {
    // SAFETY: the caller's; and errno is this thread's.
    unsafe {
        libc::execve(file.as_ptr(), words, variables);
        *libc::__error()
    }
}
