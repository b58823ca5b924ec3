//! Starting and measuring programs by a small process of its own, the starter, that is forked from this command before
//! it has threads and memory.
//!
//! What a program is said to have used at most ([`Finished::peak`]) begins with what its process used before it executed
//! the program: the memory of whoever forked it (`exec_mmap` in `fs/exec.c`). Forked by a large command, every small
//! program would seem large. The starter has little memory, and a fork of it, less.
//!
//! The starter adopts processes that lose their parent, so that all that a program leaves behind is found, and ends
//! all of it when this command goes away, however that happens. It has every signal blocked: what ends this command is
//! for this command to see to.

mod child;
mod frame;
mod order;
mod process;
mod report;

use crate::launch::Ended;
use frame::Frame;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, pthread_sigmask};
use report::Report;
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Kinds of frames that ask for something, besides [`order::KIND`].
const SIGNAL: u8 = b'k';
const END_ALL: u8 = b'e';

/// Starts programs, one at a time.
#[derive(Debug)]
pub struct Starter {
    pid: libc::pid_t,
    socket: UnixStream,
    runs: bool,
}

/// The signals that programs find as this process was given them.
#[derive(Debug, Clone, Copy)]
struct Signals {
    mask: SigSet,
    sigchld_ignored: bool,
}

/// What is to be started.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a> {
    /// The program and its arguments. A name without a slash is looked for in the PATH of `variables`.
    pub words: &'a [OsString],
    /// The complete environment.
    pub variables: &'a [(OsString, OsString)],
    /// The folder in which it runs; the one in which this process was when the starter was made, when `None`.
    pub folder: Option<&'a Path>,
    /// Its standard input; `/dev/null` when `None`.
    pub input: Option<&'a Path>,
    /// Its standard output: created, or emptied.
    pub output: &'a Path,
    /// Its standard error: created, or emptied. Another file than `output`.
    pub errors: &'a Path,
}

/// What a program used until its end: it and those of its descendants that it, or they, waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub ended: Ended,
    /// From before it was forked until its end was known.
    pub wall: Duration,
    /// On a processor, in the program.
    pub user: Duration,
    /// On a processor, in the kernel.
    pub system: Duration,
    /// The largest resident set of one of the processes, in bytes.
    pub peak: u64,
    /// Page faults that needed no input or output.
    pub minor_faults: u64,
    /// Page faults that needed some.
    pub major_faults: u64,
    /// Times that it waited.
    pub voluntary_switches: u64,
    /// Times that its processor was given to another.
    pub involuntary_switches: u64,
    /// Descendants that go on without it; [`Starter::end_all`] ends them.
    pub left_running: Vec<u32>,
}

impl Starter {
    /// Forks it. To be called early: while this process has one thread, and little memory.
    ///
    /// # Errors
    /// The system's.
    pub fn new() -> io::Result<Starter> {
        let (socket, other_end) = UnixStream::pair()?;
        let mut mask = SigSet::empty();
        pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), Some(&mut mask))?;
        // SAFETY: the child goes its own way, and has this thread only. With others in this process, of tests, it rests
        // on the C library, which lets a forked process allocate.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            drop(socket);
            process::serve(other_end, Signals { mask, sigchld_ignored: sigchld_is_ignored() });
        }
        let error = io::Error::last_os_error();
        pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&mask), None)?;
        if pid == -1 { Err(error) } else { Ok(Starter { pid, socket, runs: false }) }
    }

    /// Its process: programs and all that they start are below it.
    pub fn pid(&self) -> u32 {
        self.pid.unsigned_abs()
    }

    /// Starts a program, as the leader of a session of its own, without a terminal (a program in the background that asks one
    /// for something would be stopped, for ever), with signals as this process was given them.
    /// Gives its pid.
    ///
    /// # Errors
    /// The system's, with its number, when the program cannot be executed (`NotFound`, `PermissionDenied` …) or its
    /// folder cannot be entered. Without a number: when a file cannot be opened, a program runs, or the starter has ended.
    pub fn start(&mut self, start: &Start) -> io::Result<u32> {
        if self.runs {
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, "a program runs already"));
        }
        self.send(&order::frame(start)?)?;
        match self.receive()? {
            Report::Started(pid) => {
                self.runs = true;
                Ok(pid)
            }
            Report::NotExecuted(error) => Err(error),
            Report::NotOpened(which, error) => {
                let path = [start.input.unwrap_or(Path::new("/dev/null")), start.output, start.errors];
                let path = usize::try_from(which).ok().and_then(|which| path.get(which)).unwrap_or(&start.output);
                Err(io::Error::new(error.kind(), format!("{} cannot be opened: {error}", path.display())))
            }
            Report::Finished(_) | Report::AllEnded(_) => Err(nonsense()),
        }
    }

    /// Waits until the program has ended, but not longer than this. `None`: it runs.
    ///
    /// # Errors
    /// When none runs, or the starter has ended.
    pub fn wait(&mut self, patience: Option<Duration>) -> io::Result<Option<Finished>> {
        if !self.runs {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no program runs"));
        }
        if !self.is_readable(patience)? {
            return Ok(None);
        }
        match self.receive()? {
            Report::Finished(finished) => {
                self.runs = false;
                Ok(Some(finished))
            }
            _ => Err(nonsense()),
        }
    }

    /// Sends a signal to the program's process group, also when only others of the group are left. Nothing happens when
    /// nobody is.
    ///
    /// # Errors
    /// When the starter has ended.
    pub fn signal(&self, signal: i32) -> io::Result<()> {
        self.send(&Frame::new(SIGNAL, &[u64::from(signal.unsigned_abs())]))
    }

    /// Ends the program, if it runs, and all that was left running, by SIGKILL, and waits until nothing is left. Gives
    /// what the program used, unless [`Starter::wait`] did already.
    ///
    /// # Errors
    /// When processes do not end within some seconds (another user's, or stuck in the kernel), or the starter has ended.
    pub fn end_all(&mut self) -> io::Result<Option<Finished>> {
        self.send(&Frame::new(END_ALL, &[]))?;
        let mut program = None;
        loop {
            match self.receive()? {
                Report::Finished(finished) => {
                    self.runs = false;
                    program = Some(finished);
                }
                Report::AllEnded(left) if left.is_empty() => return Ok(program),
                Report::AllEnded(left) => {
                    let pids: Vec<String> = left.iter().map(u32::to_string).collect();
                    return Err(io::Error::other(format!("processes do not end: {}", pids.join(", "))));
                }
                _ => return Err(nonsense()),
            }
        }
    }

    fn send(&self, frame: &Frame) -> io::Result<()> {
        frame.send(&self.socket).map_err(gone)
    }

    fn receive(&self) -> io::Result<Report> {
        Report::read(&Frame::receive(&self.socket).map_err(gone)?).ok_or_else(nonsense)
    }

    /// Waits for an answer. To the nanosecond it is never asked for, but less than a millisecond is not "for ever".
    fn is_readable(&self, patience: Option<Duration>) -> io::Result<bool> {
        let until = patience.and_then(|patience| Instant::now().checked_add(patience));
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let rounded = left.map(|left| left.as_nanos().div_ceil(1_000_000));
            let timeout = rounded.map_or(PollTimeout::NONE, |left| {
                i32::try_from(left).ok().and_then(|left| PollTimeout::try_from(left).ok()).unwrap_or(PollTimeout::MAX)
            });
            match poll(&mut [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)], timeout) {
                Ok(0) if left.is_some_and(|left| left.is_zero()) => return Ok(false),
                Ok(0) | Err(nix::errno::Errno::EINTR) => {}
                Ok(_) => return Ok(true),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Drop for Starter {
    /// Ends it and all below it.
    fn drop(&mut self) {
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        // SAFETY: its own child, which ends when the socket is closed.
        while unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), 0) } == -1
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
    }
}

/// Whether the ends of children are thrown away here, as after `trap '' CHLD`: programs then find it so.
fn sigchld_is_ignored() -> bool {
    // SAFETY: a sigaction of zeros is one; with no new one, sigaction writes to the variable only.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGCHLD, std::ptr::null(), &mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}

fn nonsense() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the process that starts programs answers nonsense")
}

/// The other end is closed, which it never is before this one: somebody killed it, or memory ran out.
fn gone(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => {
            io::Error::new(io::ErrorKind::BrokenPipe, "the process that starts programs was ended from outside")
        }
        _ => io::Error::other(error.to_string()),
    }
}
