//! This process's standard input, for programs that are to read it from its beginning, each of them.

use crate::system::process::standard_input_path;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fs::File;
use std::io::stdin;
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;

/// What it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StandardInput {
    /// A file: a path under which it can be opened again, which may be one of the system's for a descriptor.
    File(PathBuf),
    /// A pipe with something in it, which can be read once only.
    FullPipe,
    /// A terminal, `/dev/null`, an empty pipe.
    Nothing,
}

/// Looks at it; takes nothing from it.
pub fn standard_input() -> StandardInput {
    let input = stdin();
    let about = input.as_fd().try_clone_to_owned().map(File::from).and_then(|file| file.metadata());
    let Ok(about) = about else { return StandardInput::Nothing };
    if about.is_file() {
        return standard_input_path().map_or(StandardInput::Nothing, StandardInput::File);
    }
    let mut waits = [PollFd::new(input.as_fd(), PollFlags::POLLIN)];
    let is_full = about.file_type().is_fifo()
        && poll(&mut waits, PollTimeout::ZERO).is_ok()
        && waits.iter().any(|one| one.revents().is_some_and(|events| events.contains(PollFlags::POLLIN)));
    if is_full { StandardInput::FullPipe } else { StandardInput::Nothing }
}
