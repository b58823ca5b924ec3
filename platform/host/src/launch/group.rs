//! A command with a process group of its own, which is ended with all that it has started.

use crate::ending;
use crate::interrupts;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, pthread_sigmask, sigaction};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// How long it may take to end: after SIGKILL only what waits in the kernel, or is another user's, goes on.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between looks whether it has.
const PAUSE: Duration = Duration::from_millis(1);

/// Starts a command as the leader of a process group. Signals are as this process was given them: what
/// [`Interrupts`](crate::interrupts::Interrupts) holds back is not, and SIGCHLD has its default effect.
///
/// # Errors
/// The system's, when it cannot be executed.
pub fn start_group(command: &mut Command) -> io::Result<GroupChild> {
    let mask = interrupts::without_held(SigSet::thread_get_mask()?);
    let prepare = move || {
        default_sigchld()?;
        Ok(pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&mask), None)?)
    };
    // SAFETY: only system calls between fork and exec; nothing allocates or locks.
    unsafe { command.process_group(0).pre_exec(prepare) };
    Ok(GroupChild { child: command.spawn()?, status: None })
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

/// A command that leads a process group. Dropped, it is ended with the group.
#[derive(Debug)]
pub struct GroupChild {
    child: Child,
    /// Once it was waited for: from then on its number may be another's.
    status: Option<ExitStatus>,
}

impl GroupChild {
    /// Its process, and the number of its group.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it has ended; `None`: it runs. Its number stays its own until [`GroupChild::end`], since it is not waited
    /// for.
    ///
    /// # Errors
    /// The system's; `ECHILD` where SIGCHLD is ignored ([`default_sigchld`]).
    pub fn finished(&mut self) -> io::Result<Option<ExitStatus>> {
        // SAFETY: a siginfo_t of zeros is one; waitid writes to it only.
        let (result, info) = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let options = libc::WEXITED | libc::WNOWAIT | libc::WNOHANG;
            (libc::waitid(libc::P_PID, self.pid(), &mut info, options), info)
        };
        if result == -1 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: waitid has filled these, or left zeros.
        let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
        Ok((pid != 0).then(|| {
            ExitStatus::from_raw(match info.si_code {
                libc::CLD_EXITED => (status & 0xff) << 8,
                libc::CLD_DUMPED => status | 0x80,
                _ => status,
            })
        }))
    }

    /// Ends it, if it runs, its group, and those of its descendants that have left the group; waits for it. Gives how it
    /// ended. What has left the group and has lost its parent, too, is not found: a daemon.
    ///
    /// # Errors
    /// `TimedOut` when it does not end within some seconds: it is another user's, or stuck in the kernel.
    pub fn end(mut self) -> io::Result<ExitStatus> {
        self.end_now()
    }

    fn end_now(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        ending::end_group(self.pid());
        let began = Instant::now();
        while self.finished()?.is_none() {
            if began.elapsed() > PATIENCE {
                return Err(io::Error::new(io::ErrorKind::TimedOut, format!("process {} does not end", self.pid())));
            }
            std::thread::sleep(PAUSE);
        }
        let status = self.child.wait()?;
        self.status = Some(status);
        Ok(status)
    }
}

impl Drop for GroupChild {
    fn drop(&mut self) {
        let _ = self.end_now();
    }
}
