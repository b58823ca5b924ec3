//! What the starter answers.

use super::Finished;
use super::frame::Frame;
use crate::launch::Ended;
use std::io;
use std::time::Duration;

const STARTED: u8 = b'S';
const NOT_OPENED: u8 = b'O';
const NOT_EXECUTED: u8 = b'X';
const FINISHED: u8 = b'F';
const ALL_ENDED: u8 = b'E';

/// An answer, as this command reads it.
pub(super) enum Report {
    /// The program is executed.
    Started(u32),
    /// Standard input (0), output (1) or errors (2) cannot be opened.
    NotOpened(u64, io::Error),
    /// The system's error.
    NotExecuted(io::Error),
    /// The program has ended.
    Finished(Finished),
    /// Nothing runs any more, but these.
    AllEnded(Vec<u32>),
}

pub(super) fn started(pid: libc::pid_t) -> Frame {
    Frame::new(STARTED, &[u64::from(pid.unsigned_abs())])
}

pub(super) fn not_opened(which: u64, error: &io::Error) -> Frame {
    Frame::new(NOT_OPENED, &[which, number(error)])
}

pub(super) fn not_executed(error: &io::Error) -> Frame {
    Frame::new(NOT_EXECUTED, &[number(error)])
}

pub(super) fn finished(finished: &Finished) -> Frame {
    let (exited, status) = match finished.ended {
        Ended::Exited(status) => (1, u64::from(status)),
        Ended::Killed(signal) => (0, u64::from(signal.unsigned_abs())),
    };
    let times =
        [finished.wall, finished.user, finished.system].map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    let [wall, user, system] = times;
    let numbers = [
        exited,
        status,
        wall,
        user,
        system,
        finished.peak,
        finished.minor_faults,
        finished.major_faults,
        finished.voluntary_switches,
        finished.involuntary_switches,
    ];
    Frame::new(FINISHED, &[&numbers, pids(&finished.left_running).as_slice()].concat())
}

pub(super) fn all_ended(left: &[u32]) -> Frame {
    Frame::new(ALL_ENDED, &pids(left))
}

impl Report {
    pub(super) fn read(frame: &Frame) -> Option<Report> {
        let pids = |numbers: &[u64]| numbers.iter().filter_map(|number| u32::try_from(*number).ok()).collect();
        let error = |number: u64| io::Error::from_raw_os_error(i32::try_from(number).unwrap_or(libc::EIO));
        Some(match (frame.kind, frame.numbers.as_slice()) {
            (STARTED, [pid]) => Report::Started(u32::try_from(*pid).ok()?),
            (NOT_OPENED, [which, number]) => Report::NotOpened(*which, error(*number)),
            (NOT_EXECUTED, [number]) => Report::NotExecuted(error(*number)),
            (ALL_ENDED, left) => Report::AllEnded(pids(left)),
            (FINISHED, [exited, status, wall, user, system, peak, minor, major, voluntary, involuntary, left @ ..]) => {
                Report::Finished(Finished {
                    ended: match exited {
                        0 => Ended::Killed(i32::try_from(*status).ok()?),
                        _ => Ended::Exited(u8::try_from(*status).ok()?),
                    },
                    wall: Duration::from_nanos(*wall),
                    user: Duration::from_nanos(*user),
                    system: Duration::from_nanos(*system),
                    peak: *peak,
                    minor_faults: *minor,
                    major_faults: *major,
                    voluntary_switches: *voluntary,
                    involuntary_switches: *involuntary,
                    left_running: pids(left),
                })
            }
            _ => return None,
        })
    }
}

fn number(error: &io::Error) -> u64 {
    u64::from(error.raw_os_error().unwrap_or(libc::EIO).unsigned_abs())
}

fn pids(pids: &[u32]) -> Vec<u64> {
    pids.iter().copied().map(u64::from).collect()
}
