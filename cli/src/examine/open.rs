//! From what was typed to an open file: PATH, links, and what is not for executing.

use super::{ExamineError, Step};
use crate::terminal::printable;
use jeshim_host::executable;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// A regular file on the way to the program that runs.
pub(super) struct Opened {
    /// Absolute, without symbolic links.
    pub(super) path: PathBuf,
    /// The name by which it was asked for, without folders: programs with many names go by it.
    pub(super) name: OsString,
    pub(super) metadata: Metadata,
    /// `None` when this user may not read it.
    pub(super) file: Option<File>,
    /// The first bytes: not fewer than the kernel looks at, unless the file is shorter.
    pub(super) start: Vec<u8>,
}

/// Looks a program up, as `execvp` does: by PATH unless its name has a slash.
pub(super) fn find(program: &OsStr, variables: &[(OsString, OsString)]) -> Result<PathBuf, ExamineError> {
    if program.as_bytes().contains(&b'/') {
        let path = PathBuf::from(program);
        return check(&path).map(|()| path);
    }
    let not_found = || ExamineError::NotFound(printable(program));
    if program.is_empty() {
        return Err(ExamineError::NotFound("the empty name".to_owned()));
    }
    let path = variables.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let mut refused = None;
    for folder in std::env::split_paths(path.unwrap_or(OsStr::new(executable::DEFAULT_PATH))) {
        // An empty one is the current folder.
        let candidate = if folder.as_os_str().is_empty() { Path::new(".").join(program) } else { folder.join(program) };
        match check(&candidate) {
            Ok(()) => return Ok(candidate),
            Err(error @ ExamineError::NotExecutable { .. }) => refused = refused.or(Some(error)),
            Err(_) => {}
        }
    }
    Err(refused.unwrap_or_else(not_found))
}

/// Whether the kernel would execute it.
fn check(path: &Path) -> Result<(), ExamineError> {
    let metadata = regular(path)?;
    if executable::may_execute(path) {
        return Ok(());
    }
    use std::os::unix::fs::PermissionsExt;
    let (cause, remedy) = if metadata.permissions().mode() & 0o111 == 0 {
        ("is not executable", "chmod +x it, or name the program that runs it first")
    } else {
        ("may not be executed by this user", "run it as another user, or change its mode")
    };
    Err(not_executable(path, cause, remedy))
}

/// The facts of a regular file; links are followed.
fn regular(path: &Path) -> Result<Metadata, ExamineError> {
    let metadata = std::fs::metadata(path).map_err(|error| unreadable(path, error))?;
    let kind = metadata.file_type();
    let cause = if kind.is_dir() {
        "is a directory"
    } else if kind.is_fifo() {
        "is a FIFO"
    } else if kind.is_socket() {
        "is a socket"
    } else if kind.is_char_device() || kind.is_block_device() {
        "is a device"
    } else {
        return Ok(metadata);
    };
    Err(not_executable(path, cause, "name a program"))
}

fn not_executable(path: &Path, cause: &str, remedy: &str) -> ExamineError {
    ExamineError::NotExecutable { path: printable(path), cause: cause.to_owned(), remedy: remedy.to_owned() }
}

fn unreadable(path: &Path, error: std::io::Error) -> ExamineError {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => ExamineError::NotFound(printable(path)),
        _ => ExamineError::Unreadable { path: printable(path), error },
    }
}

/// Opens what was found, and notes the steps: the file, and when it is a link, what it leads to.
pub(super) fn open(found: &Path, because: &str, steps: &mut Vec<Step>) -> Result<Opened, ExamineError> {
    let metadata = regular(found)?;
    let path = std::fs::canonicalize(found).map_err(|error| unreadable(found, error))?;
    let name = found.file_name().unwrap_or_default().to_owned();
    let folder = found.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let itself = std::fs::canonicalize(folder).map_err(|error| unreadable(found, error))?.join(&name);
    steps.push(Step { path: itself.clone(), because: because.to_owned() });
    if itself != path {
        steps.push(Step { path: path.clone(), because: "symbolic link".to_owned() });
    }
    let mut start = Vec::new();
    let file = match executable::open(&path) {
        Ok(mut file) => {
            let head = (&mut file).take(executable::FIRST_LINE.max(4096) as u64).read_to_end(&mut start);
            head.map_err(|error| unreadable(found, error))?;
            Some(file)
        }
        Err(error) if error.kind() == ErrorKind::PermissionDenied => None,
        Err(error) => return Err(unreadable(found, error)),
    };
    Ok(Opened { path, name, metadata, file, start })
}
