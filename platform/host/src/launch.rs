//! Starting a program: in this process's place ([`replace`]), or as a child ([`start`]) for which this process stands
//! in until it ends: signals sent to this process reach the child, and both stop and continue together.
//!
//! The program finds what this process was given: signal mask, ignored signals, closed standard descriptors.
//!
//! What the child sends to its parent (that it is ready, with some programs) is not sent back to it. What somebody sends
//! to the whole process group the child has twice: its own, and this process's. A sender in the same group cannot be told
//! from a shell's script that means this process alone (`kill $!`), and that has to reach the child.

use crate::at_start;
use crate::system::signals::Arrivals;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, kill, pthread_sigmask, sigaction};
use nix::unistd::Pid;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

/// The signal that asks a program to end.
pub const TERM: i32 = libc::SIGTERM;
/// The signal that ends a program.
pub const KILL: i32 = libc::SIGKILL;

/// The exit status of a command that was interrupted: what a shell gives to SIGINT.
pub const INTERRUPTED: u8 = 130;

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It exited, with this status.
    Exited(u8),
    /// A signal ended it; its number.
    Killed(i32),
}

impl Ended {
    /// The status that a shell gives it: its own, or 128 and the signal's number.
    pub fn shell_status(self) -> u8 {
        match self {
            Ended::Exited(status) => status,
            Ended::Killed(signal) => u8::try_from(128_i32.saturating_add(signal)).unwrap_or(u8::MAX),
        }
    }
}

/// A signal that came to this process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrived {
    pub(crate) signal: i32,
    /// A terminal's keys, or another event: the whole process group has it.
    pub(crate) from_kernel: bool,
    /// The process that sent it, where the system says so.
    pub(crate) sender: Option<u32>,
}

/// Puts the program in this process's place. Returns only when that fails. Runs a file without `#!` by `/bin/sh`, as
/// `execvp` does. Standard descriptors have to be inherited (`Command`'s default).
pub fn replace(command: &mut Command) -> io::Error {
    as_at_start(command, None, false);
    command.exec()
}

/// Starts the program as a child in the same process group. Standard descriptors have to be inherited (`Command`'s
/// default). To be called while this process has one thread: from now until [`Child::wait`] has the end, signals are
/// blocked in the caller, and go to the child.
///
/// # Errors
/// The system's, when the program cannot be executed (`NotFound`, `PermissionDenied`, ENOEXEC …).
pub fn start(command: &mut Command) -> io::Result<Child> {
    let forwarded = forwarded();
    let mut mask = SigSet::empty();
    pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&forwarded), Some(&mut mask))?;
    // Where the caller ignores SIGCHLD, children vanish without a status.
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // SAFETY: no handler is installed.
    let before = unsafe { sigaction(Signal::SIGCHLD, &default) }?;
    let started = Arrivals::of(&forwarded).and_then(|arrivals| {
        as_at_start(command, Some(mask), matches!(before.handler(), SigHandler::SigIgn));
        let child = command.spawn()?;
        Ok(Child { pid: Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX)), arrivals, mask, ended: None })
    });
    if started.is_err() {
        // SAFETY: what was there before.
        unsafe { sigaction(Signal::SIGCHLD, &before) }?;
        pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&mask), None)?;
    }
    started
}

/// A started program.
pub struct Child {
    pid: Pid,
    arrivals: Arrivals,
    /// The caller's mask, to be restored.
    mask: SigSet,
    ended: Option<Ended>,
}

impl Child {
    /// Its process.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw().unsigned_abs()
    }

    /// Waits until it has ended.
    ///
    /// # Errors
    /// The system's; not expected.
    pub fn wait(&mut self) -> io::Result<Ended> {
        loop {
            if let Some(ended) = self.turn(None)? {
                return Ok(ended);
            }
        }
    }

    /// Waits until it has ended, but not longer than this. `None`: it runs. Signals are passed on during the wait only.
    ///
    /// # Errors
    /// The system's; not expected.
    pub fn wait_for(&mut self, patience: Duration) -> io::Result<Option<Ended>> {
        let until = Instant::now().checked_add(patience);
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let ended = self.turn(left)?;
            if ended.is_some() || left.is_some_and(|left| left.is_zero()) {
                return Ok(ended);
            }
        }
    }

    /// Passes a signal on to the child.
    ///
    /// # Errors
    /// When it has ended, or runs as another user.
    pub fn signal(&self, signal: i32) -> io::Result<()> {
        if self.ended.is_some() {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        // SAFETY: sends a signal; nobody else can have the pid of a child that was not waited for.
        match unsafe { libc::kill(self.pid.as_raw(), signal) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// One signal, and what has become of the child.
    fn turn(&mut self, patience: Option<Duration>) -> io::Result<Option<Ended>> {
        if self.ended.is_some() {
            return Ok(self.ended);
        }
        match self.arrivals.next(patience)? {
            Some(Arrived { signal: libc::SIGCHLD, .. }) | None => self.look()?,
            Some(Arrived { sender: Some(pid), .. }) if pid == self.pid() || pid == std::process::id() => {}
            // The terminal has hung up: told to the session's leader, which may be this process, and not to all.
            Some(Arrived { signal, from_kernel, .. }) if signal == libc::SIGHUP || !from_kernel => {
                drop(self.signal(signal));
            }
            Some(_) => {}
        }
        Ok(self.ended)
    }

    /// Asks for the child's state, and shares it.
    fn look(&mut self) -> io::Result<()> {
        loop {
            let mut status = 0;
            // SAFETY: writes to the variable only. Not nix's waitpid, which has no words for signals of real time.
            match unsafe { libc::waitpid(self.pid.as_raw(), &mut status, libc::WNOHANG | libc::WUNTRACED) } {
                0 => return Ok(()),
                -1 => match io::Error::last_os_error() {
                    error if error.kind() == io::ErrorKind::Interrupted => {}
                    error => return Err(error),
                },
                _ if libc::WIFSTOPPED(status) => self.stop_too(libc::WSTOPSIG(status))?,
                _ if libc::WIFSIGNALED(status) => return self.end(Ended::Killed(libc::WTERMSIG(status))),
                _ => return self.end(Ended::Exited((libc::WEXITSTATUS(status) & 0xff) as u8)),
            }
        }
    }

    /// The child has stopped: so does this process, for the shell that started it, and goes on with the child when told to.
    fn stop_too(&self, signal: i32) -> io::Result<()> {
        // SIGSTOP is not a shell's: who sends it to the child alone will send SIGCONT to it alone.
        if let Ok(signal) = Signal::try_from(signal)
            && signal != Signal::SIGSTOP
        {
            stop_with(signal)?;
            let _ = self.signal(libc::SIGCONT);
        }
        Ok(())
    }

    /// The child has ended: signals that came with its end are not to end this process, too; later ones are.
    fn end(&mut self, ended: Ended) -> io::Result<()> {
        self.ended = Some(ended);
        while self.arrivals.next(Some(Duration::ZERO))?.is_some() {}
        pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&self.mask), None)?;
        Ok(())
    }
}

/// Ends this process as the program ended: by the same signal, without a core dump of its own. Returns the exit status
/// to use: the program's, or a shell's where the signal does not end this process (pid 1, an ignored signal).
pub fn end_as(ended: Ended) -> u8 {
    if let Ended::Killed(number) = ended
        && let Ok(signal) = Signal::try_from(number)
    {
        let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
        let _ = stop_with(signal);
    }
    ended.shell_status()
}

/// Gives SIGCHLD its default effect in this process: where the caller ignores it, as after `trap '' CHLD`, children
/// vanish without a status. To be called after [`Starter::new`](crate::starter::Starter::new), which notes for programs
/// what the caller had.
///
/// # Errors
/// The system's; not expected.
pub fn default_sigchld() -> io::Result<()> {
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // SAFETY: no handler is installed.
    unsafe { sigaction(Signal::SIGCHLD, &default) }?;
    Ok(())
}

/// "SIGTERM", or the number of a signal without a name.
pub fn signal_name(number: i32) -> String {
    Signal::try_from(number).map_or_else(|_| number.to_string(), |signal| signal.as_str().to_owned())
}

/// Whether a process with this pid exists, of whatever user.
pub fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).map(Pid::from_raw);
    pid.is_ok_and(|pid| pid.as_raw() > 0 && !matches!(kill(pid, None), Err(nix::errno::Errno::ESRCH)))
}

/// Every signal but those that a process causes itself, and SIGPIPE, which this process ignores.
fn forwarded() -> SigSet {
    use Signal::{SIGBUS, SIGFPE, SIGILL, SIGPIPE, SIGSEGV, SIGSYS, SIGTRAP, SIGXCPU, SIGXFSZ};
    let mut set = SigSet::all();
    for own in [SIGBUS, SIGFPE, SIGILL, SIGPIPE, SIGSEGV, SIGSYS, SIGTRAP, SIGXCPU, SIGXFSZ] {
        set.remove(own);
    }
    set
}

/// Lets a signal have its default effect on this process: stops it until SIGCONT, or ends it.
fn stop_with(signal: Signal) -> io::Result<()> {
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // SAFETY: no handler is installed.
    let before = unsafe { sigaction(signal, &default) };
    let mut this = SigSet::empty();
    this.add(signal);
    let mut mask = SigSet::empty();
    kill(Pid::this(), signal)?;
    pthread_sigmask(SigmaskHow::SIG_UNBLOCK, Some(&this), Some(&mut mask))?;
    pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&mask), None)?;
    if let Ok(before) = before {
        // SAFETY: what was there before.
        unsafe { sigaction(signal, &before) }?;
    }
    Ok(())
}

/// Gives the program what this process was given.
fn as_at_start(command: &mut Command, mask: Option<SigSet>, sigchld_ignored: bool) {
    let closed: Vec<i32> = at_start::closed_descriptors().collect();
    let mut ignored = Vec::new();
    if at_start::sigpipe_was_ignored() {
        ignored.push(Signal::SIGPIPE);
    }
    if sigchld_ignored {
        ignored.push(Signal::SIGCHLD);
    }
    if closed.is_empty() && ignored.is_empty() && mask.is_none() {
        return;
    }
    let ignore = SigAction::new(SigHandler::SigIgn, SaFlags::empty(), SigSet::empty());
    let prepare = move || {
        for signal in &ignored {
            // SAFETY: no handler is installed.
            unsafe { sigaction(*signal, &ignore) }?;
        }
        for descriptor in &closed {
            // SAFETY: the runtime's /dev/null, which nothing owns.
            unsafe { libc::close(*descriptor) };
        }
        if let Some(mask) = &mask {
            pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(mask), None)?;
        }
        Ok(())
    };
    // SAFETY: only system calls between fork and exec; nothing allocates or locks.
    unsafe { command.pre_exec(prepare) };
}
