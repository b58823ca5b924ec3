//! Why a program could not be executed: for `run` and `check`.

use crate::terminal::{BAD, printable, say};
use crate::verdict::{NOT_EXECUTABLE, NOT_FOUND};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

/// Says it in one line, and gives the exit status that shells and `env` have for it.
pub(super) fn report(program: &OsStr, error: &Error) -> ExitCode {
    let (status, cause) = explain(program, error);
    say(BAD, "jeshim:", format_args!("{}: {cause}", printable(program)));
    ExitCode::from(status)
}

/// Exit status; cause and remedy.
pub fn explain(program: &OsStr, error: &Error) -> (u8, String) {
    let path = Path::new(program);
    // Without a slash it was looked for on PATH, and this folder says nothing about it.
    let named = program.as_bytes().contains(&b'/').then_some(path);
    match error.kind() {
        ErrorKind::NotFound if named.is_some_and(|path| path.symlink_metadata().is_ok()) => {
            let cause = match interpreter(path) {
                _ if !path.exists() => "it is a symbolic link to nothing; mend the link".to_owned(),
                Some(interpreter) => format!("its interpreter {interpreter} is not found; mend its first line"),
                None => {
                    "the dynamic linker that it asks for is not found; install the C library it was built for".into()
                }
            };
            (NOT_EXECUTABLE, cause)
        }
        ErrorKind::NotFound => {
            (NOT_FOUND, "not found; look at the spelling and at PATH, or give the whole path".into())
        }
        ErrorKind::PermissionDenied => {
            let cause = match named {
                Some(path) if path.is_dir() => "it is a folder; name the program in it",
                Some(_) => "permission denied; 'chmod +x' it, or see to its folder's permissions and mount options",
                None => "permission denied; look at the permissions of the one on PATH, or give the whole path",
            };
            (NOT_EXECUTABLE, cause.to_owned())
        }
        ErrorKind::ArgumentListTooLong => {
            (NOT_EXECUTABLE, "arguments and environment are too large together; pass less".into())
        }
        _ => (NOT_EXECUTABLE, format!("cannot be executed: {error}; try it without jeshim")),
    }
}

/// The interpreter that the file's first line asks for.
fn interpreter(path: &Path) -> Option<String> {
    let mut line = Vec::new();
    // The kernel reads no further, either.
    BufReader::new(std::fs::File::open(path).ok()?.take(256)).read_until(b'\n', &mut line).ok()?;
    let words = line.strip_prefix(b"#!")?.trim_ascii();
    let interpreter = words.split(|byte| byte.is_ascii_whitespace()).next()?;
    Some(printable(OsStr::from_bytes(interpreter)))
}
