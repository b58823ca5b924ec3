//! A report into a file: the whole of it, or nothing, and then what was there before is still there.

use crate::doctor::machine::cause;
use crate::terminal::printable;
use anyhow::bail;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What a new file may be, before the umask.
const NEW_FILE: u32 = 0o666;

/// Writes a report, without colours: to a file beside it that then takes its name, so that a full disk leaves no half of
/// it. What is no regular file (a terminal, a pipe) is written to as it is.
///
/// # Errors
/// Cause, remedy and what is kept, in a line.
pub fn write(text: &str, path: &Path) -> anyhow::Result<()> {
    let plain = anstream::adapter::strip_str(text).to_string();
    // A symbolic link stays one; what does not exist has no other name.
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let before = std::fs::metadata(&target).ok();
    let special = before.as_ref().is_some_and(|before| !before.is_file() && !before.is_dir());
    let result = if special {
        OpenOptions::new().write(true).open(&target).and_then(|mut file| whole(&mut file, &plain))
    } else {
        in_one_step(&plain, &target, before.as_ref().map(|before| before.permissions()))
    };
    let Err(error) = result else { return Ok(()) };
    // A reader that has seen enough and left.
    if special && error.kind() == io::ErrorKind::BrokenPipe {
        return Ok(());
    }
    let kept = match before {
        Some(before) if before.is_file() => "; the file that was there is as it was",
        _ => "",
    };
    let remedy = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "make room, or name a file elsewhere"
        }
        _ => "name another file",
    };
    bail!("{} cannot be written: {}; {remedy}{kept}", printable(path), cause(&error))
}

fn in_one_step(text: &str, target: &Path, permissions: Option<Permissions>) -> io::Result<()> {
    if target.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.map_or_else(|| PathBuf::from("."), Path::to_owned);
    let mut builder = tempfile::Builder::new();
    let mut file = builder.prefix(".jeshim-").permissions(Permissions::from_mode(NEW_FILE)).tempfile_in(folder)?;
    whole(file.as_file_mut(), text)?;
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    file.persist(target)?;
    Ok(())
}

fn whole(file: &mut File, text: &str) -> io::Result<()> {
    file.write_all(text.as_bytes())?;
    match file.sync_all() {
        // What has no disk behind it.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        result => result,
    }
}
