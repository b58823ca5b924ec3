//! Other processes, and what they leave for this one.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

pub use crate::system::process::{age, variable};

/// Makes `inside`, a folder in `folder` into which the processes of a tree write, whoever they run as. Only root can
/// start programs that become somebody else (su, setpriv, gosu): for root, others may write, and not read, into it.
///
/// # Errors
/// The system's.
pub fn make_drop_box(folder: &Path, inside: &Path) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o700).create(inside)?;
    if nix::unistd::geteuid().is_root() {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o711))?;
        fs::set_permissions(inside, fs::Permissions::from_mode(0o1733))?;
    }
    Ok(())
}

/// Time on a processor that this thread has had so far; zero where that cannot be asked.
pub fn own_thread_time() -> Duration {
    nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// Whether every user may read a file: its own mode, and that of each folder on the way (access control lists aside).
pub fn all_may_read(file: &Path) -> bool {
    let mode = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.permissions().mode());
    mode(file) & 0o004 != 0 && file.ancestors().skip(1).all(|folder| mode(folder) & 0o001 != 0)
}
