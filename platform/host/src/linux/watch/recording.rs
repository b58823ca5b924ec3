//! The kernel's record: a dummy event for each processor, inherited by every process that is started, which counts
//! nothing and reports forks, executions, mappings of code, and ends.

use crate::watch::Event;
use perf_event::data::Record;
use perf_event::events::Software;
use perf_event::{Builder, Clock, SampleFlag, Sampler};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// Room for some thousand events on each processor, within what an unprivileged user may lock (perf_event_mlock_kb).
const ROOM: usize = 256 * 1024;
/// `PERF_RECORD_MISC_COMM_EXEC`: the name has changed by execution.
const BY_EXECUTION: u16 = 1 << 13;

/// An execution of which the kernel has told, and whose file it has not mapped yet.
#[derive(Clone)]
struct Executing {
    name: OsString,
    /// How often it was waited for in vain.
    waited: u32,
}

/// Whatever executes maps its file within microseconds; so often it is waited for before the kernel is taken to be silent.
const PATIENCE: u32 = 2;

pub(super) struct Recording {
    samplers: Vec<Sampler>,
    library: PathBuf,
    /// Processes that execute a program whose file was not reported yet.
    executing: BTreeMap<u32, Executing>,
    /// How many threads each process has, as far as that is more than one.
    threads: BTreeMap<u32, u32>,
    /// Processes of which the kernel told that they execute something, and then nothing more: where a program may not be
    /// read by its user, or runs with other rights, it ends the watch, of what that program starts too.
    dark: BTreeMap<u32, OsString>,
    lost: u64,
    own: u32,
}

impl Recording {
    pub(super) fn begin(library: &Path) -> io::Result<Recording> {
        let mut samplers = Vec::new();
        for processor in online_processors()? {
            let mut builder = Builder::new(Software::DUMMY);
            builder
                .observe_self()
                .one_cpu(processor)
                .inherit(true)
                .exclude_kernel(true)
                .exclude_hv(true)
                .task(true)
                .comm(true)
                .comm_exec(true)
                .mmap(true)
                .mmap2(true)
                .sample(SampleFlag::TIME)
                .sample_id_all(true)
                .clockid(Clock::MONOTONIC)
                .enabled(true);
            samplers.push(builder.build()?.sampled(ROOM)?);
        }
        Ok(Recording {
            samplers,
            library: library.to_owned(),
            executing: BTreeMap::new(),
            threads: BTreeMap::new(),
            dark: BTreeMap::new(),
            lost: 0,
            own: std::process::id(),
        })
    }

    /// Names of programs with which the watch of their processes ended.
    pub(super) fn dark(&self) -> Vec<String> {
        self.dark.values().map(|name| name.to_string_lossy().into_owned()).collect()
    }

    /// Whether something executes that was not seen to map its file yet.
    pub(super) fn waits(&self) -> bool {
        !self.executing.is_empty()
    }

    /// How many events the kernel had no room for.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    pub(super) fn events(&mut self, root: u32) -> Vec<Event> {
        let mut raw = Vec::new();
        for sampler in &mut self.samplers {
            while let Some(record) = sampler.next_record() {
                // With sample_id_all and TIME, each ends in the time, in nanoseconds.
                let time = record.to_vec().last_chunk::<8>().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
                let by_execution = record.misc() & BY_EXECUTION != 0;
                if let Ok(parsed) = record.parse_record() {
                    raw.extend(Raw::of(parsed, by_execution).map(|raw| (time, raw)));
                }
            }
        }
        // A process moves from one processor to another.
        raw.sort_by_key(|(time, _)| *time);
        let mut events = Vec::new();
        for (_, raw) in raw {
            self.translate(raw, root, &mut events);
        }
        // What was executed and not mapped by now is on its way still, or dark.
        for (pid, Executing { name, waited }) in self.executing.clone() {
            if waited < PATIENCE {
                self.executing.insert(pid, Executing { name, waited: waited.saturating_add(1) });
            } else {
                let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or(PathBuf::from(&name));
                self.executing.remove(&pid);
                self.dark.insert(pid, name);
                events.push(Event::Executed { pid, program: Some(program) });
            }
        }
        events
    }

    fn translate(&mut self, raw: Raw, root: u32, events: &mut Vec<Event>) {
        match raw {
            Raw::Forked { parent, child } if parent != self.own || child == root => {
                self.dark.remove(&parent);
                events.push(Event::Forked { parent, child });
            }
            Raw::Thread(pid) if pid != self.own => {
                let threads = self.threads.entry(pid).or_insert(1);
                *threads = threads.saturating_add(1);
            }
            Raw::Executing(pid, name) if pid != self.own => {
                self.dark.remove(&pid);
                // The other threads are gone; which of them was the first one does not matter.
                self.threads.remove(&pid);
                let before = self.executing.insert(pid, Executing { name, waited: 0 });
                events.extend(before.map(|before| Event::Executed { pid, program: Some(before.name.into()) }));
            }
            Raw::Mapped(pid, file) if pid != self.own => {
                if self.executing.contains_key(&pid) && file.is_absolute() {
                    self.executing.remove(&pid);
                    events.push(Event::Executed { pid, program: Some(file) });
                } else if file.file_name() == self.library.file_name() {
                    events.push(Event::Mapped { pid });
                }
                self.dark.remove(&pid);
            }
            // The first thread may end before the others.
            Raw::ThreadEnded(pid) if pid != self.own => match self.threads.get_mut(&pid) {
                Some(threads) if *threads > 1 => *threads -= 1,
                _ => {
                    self.threads.remove(&pid);
                    let unseen = self.executing.remove(&pid);
                    if let Some(unseen) = unseen {
                        self.dark.insert(pid, unseen.name.clone());
                        events.push(Event::Executed { pid, program: Some(unseen.name.into()) });
                    }
                    events.push(Event::Ended { pid });
                }
            },
            Raw::Lost(count) => self.lost = self.lost.saturating_add(count),
            _ => {}
        }
    }
}

/// What the kernel reports, as far as it matters here.
enum Raw {
    Forked { parent: u32, child: u32 },
    Executing(u32, OsString),
    Mapped(u32, PathBuf),
    Thread(u32),
    ThreadEnded(u32),
    Lost(u64),
}

impl Raw {
    fn of(record: Record, by_execution: bool) -> Option<Raw> {
        match record {
            // A thread has its process's pid.
            Record::Fork(fork) if fork.pid == fork.ppid => Some(Raw::Thread(fork.pid)),
            Record::Fork(fork) => Some(Raw::Forked { parent: fork.ppid, child: fork.pid }),
            Record::Comm(comm) if by_execution => Some(Raw::Executing(comm.pid, comm.comm_os().to_owned())),
            Record::Mmap2(mmap) => Some(Raw::Mapped(mmap.pid, PathBuf::from(mmap.filename_os()))),
            Record::Exit(exit) => Some(Raw::ThreadEnded(exit.pid)),
            Record::Lost(lost) => Some(Raw::Lost(lost.lost)),
            _ => None,
        }
    }
}

/// The processors that run, as "0-3,6" in /sys.
fn online_processors() -> io::Result<Vec<usize>> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online")?;
    let mut processors = Vec::new();
    for range in text.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number =
            |text: &str| text.parse::<usize>().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error));
        processors.extend(number(first)?..=number(last)?.min(8192));
    }
    Ok(processors)
}
