//! The starter itself: one thread, which sleeps until a child ends or this command wants something.

use super::frame::Frame;
use super::order::{self, Order};
use super::report;
use super::{END_ALL, Finished, SIGNAL, Signals, child};
use crate::launch::Ended;
use crate::system::family::{self, Ballast};
use crate::tree;
use nix::sys::signal::{SigSet, Signal};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::ptr;
use std::time::{Duration, Instant};

/// How long processes may take to end that end together with the program, before they count as left running.
const GRACE: Duration = Duration::from_millis(50);
/// How long it is tried to end processes: after SIGKILL only one that waits in the kernel goes on.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between looks at what does not tell that it changes.
const PAUSE: Duration = Duration::from_millis(1);

/// Serves until the other end is closed; then ends all that it started, and itself.
pub(super) fn serve(socket: UnixStream, signals: Signals) -> ! {
    family::adopt_orphans();
    let ballast = Ballast::of_this_process();
    let mut starter = Starter { socket, program: None, group: 0, signals, ballast };
    let told = starter.hear_of_children().and_then(|()| starter.serve());
    drop(told);
    starter.end_all();
    // SAFETY: what this command has to do at its end is not the starter's.
    unsafe { libc::_exit(0) }
}

struct Starter {
    socket: UnixStream,
    /// The one that runs, and since when.
    program: Option<(libc::pid_t, Instant)>,
    /// The process group of the last one.
    group: libc::pid_t,
    signals: Signals,
    ballast: Ballast,
}

/// What became of a child.
enum State {
    Ended(libc::pid_t, Finished),
    Runs,
    NoSuchChild,
}

extern "C" fn nothing(_: libc::c_int) {}

impl Starter {
    /// SIGCHLD is blocked as all others are, and has a handler: it interrupts [`Starter::sleep`], and that alone.
    fn hear_of_children(&self) -> io::Result<()> {
        // SAFETY: a sigaction of zeros is one; the handler does nothing.
        let result = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
            libc::sigaction(libc::SIGCHLD, &action, ptr::null_mut())
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Until the other end is closed.
    fn serve(&mut self) -> io::Result<()> {
        loop {
            if let Some(mut finished) = self.reap() {
                finished.left_running = self.left_running();
                report::finished(&finished).send(&self.socket)?;
            }
            if !self.sleep()? {
                continue;
            }
            let frame = Frame::receive(&self.socket)?;
            match (frame.kind, frame.numbers.as_slice()) {
                (order::KIND, _) => self.start(frame)?.send(&self.socket)?,
                (SIGNAL, [signal]) => self.signal(i32::try_from(*signal).unwrap_or(0)),
                (END_ALL, _) => {
                    if let Some(finished) = self.end_all() {
                        report::finished(&finished).send(&self.socket)?;
                    }
                    report::all_ended(&self.living()).send(&self.socket)?;
                }
                _ => return Err(io::ErrorKind::InvalidData.into()),
            }
        }
    }

    /// Waits until there is something to read (true) or a child has changed (false).
    fn sleep(&self) -> io::Result<bool> {
        let mut mask = SigSet::all();
        mask.remove(Signal::SIGCHLD);
        match family::wait_readable(&self.socket, &mask) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            Err(error) => Err(error),
            Ok(()) => Ok(true),
        }
    }

    /// Takes the ends of children: the program's, first and with the time, and those of orphans.
    fn reap(&mut self) -> Option<Finished> {
        let mut program = None;
        let mut asked = self.program.map_or(-1, |(pid, _)| pid);
        loop {
            match wait(asked) {
                State::Ended(pid, mut finished) => {
                    if let Some((_, started)) = self.program.take_if(|(program, _)| *program == pid) {
                        finished.wall = started.elapsed();
                        program = Some(finished);
                    }
                }
                State::Runs if asked != -1 => {}
                State::Runs | State::NoSuchChild => return program,
            }
            asked = -1;
        }
    }

    fn start(&mut self, frame: Frame) -> io::Result<Frame> {
        let Some(order) = Order::read(frame) else { return Err(io::ErrorKind::InvalidData.into()) };
        let files = match open(&order) {
            Ok(files) => files,
            Err((which, error)) => return Ok(report::not_opened(which, &error)),
        };
        let started = Instant::now();
        Ok(match child::start(&order, &files, self.signals, &self.ballast) {
            Ok(pid) => {
                self.program = Some((pid, started));
                self.group = pid;
                report::started(pid)
            }
            Err(error) => report::not_executed(&error),
        })
    }

    /// To the program's process group, as long as the number cannot be another's.
    fn signal(&self, signal: i32) {
        // SAFETY: asks for a number.
        let is_member = |pid: &u32| unsafe { libc::getpgid((*pid).cast_signed()) } == self.group;
        if self.group > 1 && (self.program.is_some() || self.living().iter().any(is_member)) {
            // SAFETY: sends a signal to a group that is the program's.
            unsafe { libc::kill(-self.group, signal) };
        }
    }

    /// Processes below that have not ended.
    fn living(&self) -> Vec<u32> {
        tree::below(std::process::id()).into_iter().filter(|pid| tree::is_running(*pid)).collect()
    }

    /// Those that go on without the program.
    fn left_running(&mut self) -> Vec<u32> {
        let until = Instant::now() + GRACE;
        loop {
            let left = match wait(-1) {
                State::NoSuchChild => Vec::new(),
                // Whose children end without an end would be waited for without one.
                State::Ended(..) if Instant::now() < until => continue,
                State::Ended(..) => self.living(),
                State::Runs => self.living(),
            };
            if left.is_empty() || Instant::now() >= until {
                return left;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Ends all that is below. What the program used, if it ran.
    fn end_all(&mut self) -> Option<Finished> {
        let until = Instant::now() + PATIENCE;
        let mut finished = None;
        loop {
            for pid in tree::below(std::process::id()) {
                // SAFETY: sends a signal. A child's number is its own as long as it is not waited for here; that of a
                // grandchild was its own some microseconds ago, and its parent, which this ends too, may have waited for it.
                unsafe { libc::kill(pid.cast_signed(), libc::SIGKILL) };
            }
            if self.program.is_some() {
                self.signal(libc::SIGKILL);
            }
            finished = finished.or(self.reap());
            // Every orphan comes here: when there is no child, there is nothing below.
            let none = self.program.is_none() && matches!(wait(-1), State::NoSuchChild);
            if none || Instant::now() >= until {
                return finished;
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// Standard input, output and errors. Opened here, so that it is no part of the program's time.
fn open(order: &Order) -> Result<[File; 3], (u64, io::Error)> {
    // Appended to: a program may open its standard output anew, by name, and must not write over what is there.
    let create = |path| {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).custom_flags(libc::O_APPEND).open(path)
    };
    Ok([
        File::open(&order.input).map_err(|error| (0, error))?,
        create(&order.output).map_err(|error| (1, error))?,
        create(&order.errors).map_err(|error| (2, error))?,
    ])
}

/// Asks for the end of a child, or of any (-1), and what it used.
fn wait(pid: libc::pid_t) -> State {
    let mut status = 0;
    // SAFETY: a rusage of zeros is one; wait4 writes to the variables only.
    let (result, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::wait4(pid, &mut status, libc::WNOHANG, &mut usage), usage)
    };
    match result {
        0 => State::Runs,
        -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => State::Runs,
        -1 => State::NoSuchChild,
        pid => State::Ended(pid, finished(status, &usage)),
    }
}

fn finished(status: libc::c_int, usage: &libc::rusage) -> Finished {
    let count = |number: libc::c_long| u64::try_from(number).unwrap_or(0);
    Finished {
        ended: if libc::WIFSIGNALED(status) {
            Ended::Killed(libc::WTERMSIG(status))
        } else {
            Ended::Exited((libc::WEXITSTATUS(status) & 0xff) as u8)
        },
        wall: Duration::ZERO,
        user: duration(usage.ru_utime),
        system: duration(usage.ru_stime),
        peak: count(usage.ru_maxrss).saturating_mul(family::PEAK_UNIT),
        minor_faults: count(usage.ru_minflt),
        major_faults: count(usage.ru_majflt),
        voluntary_switches: count(usage.ru_nvcsw),
        involuntary_switches: count(usage.ru_nivcsw),
        left_running: Vec::new(),
    }
}

fn duration(time: libc::timeval) -> Duration {
    let seconds = Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0));
    seconds.saturating_add(Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or(0)))
}
