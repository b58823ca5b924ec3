//! The fork of the starter that becomes the program.

use super::Signals;
use super::order::Order;
use crate::at_start;
use crate::system::family::{self, Ballast};
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::ptr;

/// Forks and executes. Returns when the program is executed, or its error.
pub(super) fn start(order: &Order, files: &[File; 3], signals: Signals, ballast: &Ballast) -> io::Result<libc::pid_t> {
    let pointers = |texts: &[CString]| -> Vec<*const libc::c_char> {
        texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
    };
    // Nothing is allocated in the child.
    let mut become_it = Become {
        words: pointers(&order.words),
        variables: pointers(&order.variables),
        by_shell: [c"/bin/sh".as_ptr(), ptr::null()]
            .into_iter()
            .chain(pointers(order.words.get(1..).unwrap_or(&[])))
            .collect(),
        order,
        files,
        signals,
        starter: std::process::id(),
        ballast,
    };
    let (told, tell) = io::pipe()?;
    // SAFETY: this process has one thread, and the child calls only what is safe after a fork of one with more.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => become_it.run(tell),
        pid => {
            drop(tell);
            match error_of(told) {
                None => Ok(pid),
                Some(error) => {
                    // SAFETY: its own child, which is ending; nobody asks for its status.
                    unsafe { libc::waitpid(pid, ptr::null_mut(), 0) };
                    Err(error)
                }
            }
        }
    }
}

/// What the child could not do; the pipe is closed by a successful execution.
fn error_of(mut told: PipeReader) -> Option<io::Error> {
    let mut error = [0; 4];
    told.read_exact(&mut error).ok().map(|()| io::Error::from_raw_os_error(i32::from_ne_bytes(error)))
}

/// All that the child needs.
struct Become<'a> {
    words: Vec<*const libc::c_char>,
    variables: Vec<*const libc::c_char>,
    /// The same for a file that is a shell's script without `#!`; the second is the file.
    by_shell: Vec<*const libc::c_char>,
    order: &'a Order,
    files: &'a [File; 3],
    signals: Signals,
    starter: u32,
    ballast: &'a Ballast,
}

impl Become<'_> {
    /// In the child: becomes the program, or tells the error and ends.
    fn run(&mut self, mut tell: PipeWriter) -> ! {
        let error = match self.prepare() {
            Ok(()) => {
                self.ballast.drop_in_this_process();
                self.execute()
            }
            Err(error) => error,
        };
        let _ = tell.write_all(&error.raw_os_error().unwrap_or(libc::EIO).to_ne_bytes());
        // SAFETY: nothing of the starter's is run at its end.
        unsafe { libc::_exit(127) }
    }

    fn prepare(&self) -> io::Result<()> {
        // SAFETY: system calls with valid arguments; the signals get no handlers.
        unsafe {
            family::die_with(self.starter)?;
            check(libc::setsid())?;
            for (file, descriptor) in self.files.iter().zip(0..) {
                check(libc::dup2(file.as_raw_fd(), descriptor))?;
            }
            if let Some(folder) = &self.order.folder {
                check(libc::chdir(folder.as_ptr()))?;
            }
            // Rust's runtime ignores SIGPIPE; SIGCHLD has a handler here.
            if !at_start::sigpipe_was_ignored() {
                libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            }
            libc::signal(libc::SIGCHLD, if self.signals.sigchld_ignored { libc::SIG_IGN } else { libc::SIG_DFL });
            check(libc::sigprocmask(libc::SIG_SETMASK, self.signals.mask.as_ref(), ptr::null_mut()))
        }
    }

    /// Tries one file after the other, as `execvp` does, and returns its error.
    fn execute(&mut self) -> io::Error {
        let mut forbidden = false;
        for file in &self.order.candidates {
            let mut error = execute(file, &self.words, &self.variables);
            if error == libc::ENOEXEC {
                if let Some(second) = self.by_shell.get_mut(1) {
                    *second = file.as_ptr();
                }
                error = execute(c"/bin/sh", &self.by_shell, &self.variables);
            }
            match error {
                libc::EACCES => forbidden = true,
                libc::ENOENT | libc::ENOTDIR | libc::ENODEV | libc::ESTALE | libc::ETIMEDOUT => {}
                error => return io::Error::from_raw_os_error(error),
            }
        }
        io::Error::from_raw_os_error(if forbidden { libc::EACCES } else { libc::ENOENT })
    }
}

fn execute(file: &CStr, words: &[*const libc::c_char], variables: &[*const libc::c_char]) -> i32 {
    // SAFETY: texts that end with NUL, in tables that end with a null pointer; all of them live.
    unsafe { family::execute(file, words.as_ptr(), variables.as_ptr()) }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
