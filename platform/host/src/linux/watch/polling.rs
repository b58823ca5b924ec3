//! Looking at /proc: the children of each known process, what they execute, and whether the library is mapped.

use crate::system::smaps;
use crate::watch::Event;
use procfs::process::Process;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(super) struct Polling {
    library: PathBuf,
    /// What this process executes: a forked child that has not executed anything yet has the same.
    own: Option<PathBuf>,
    begun: bool,
    known: BTreeMap<u32, Known>,
}

struct Known {
    /// In ticks since the machine started; tells a process from a later one with the same pid.
    started: u64,
    program: Option<PathBuf>,
    /// Where the stack begins: another place after each execution, also of the same program. 0 when that is not shown.
    stack: u64,
    mapped: bool,
}

impl Polling {
    pub(super) fn begin(library: &Path) -> Polling {
        Polling { library: library.to_owned(), own: std::env::current_exe().ok(), begun: false, known: BTreeMap::new() }
    }

    pub(super) fn events(&mut self, root: u32) -> Vec<Event> {
        let mut events = Vec::new();
        if !self.begun {
            self.begun = true;
            self.meet(std::process::id(), root, self.own.clone(), &mut events);
        }
        // Those that are met on the way are looked at as well.
        let mut to_look_at: Vec<u32> = self.known.keys().copied().collect();
        while let Some(pid) = to_look_at.pop() {
            let before = self.known.len();
            self.look(pid, &mut events);
            if self.known.len() > before {
                let children = events.iter().filter_map(|event| match event {
                    Event::Forked { parent, child } if *parent == pid => Some(*child),
                    _ => None,
                });
                to_look_at.extend(children);
            }
        }
        events
    }

    fn meet(&mut self, parent: u32, child: u32, program: Option<PathBuf>, events: &mut Vec<Event>) {
        let Some(stat) = process(child).and_then(|process| process.stat().ok()) else { return };
        self.known.insert(child, Known { started: stat.starttime, program, stack: stat.startstack, mapped: false });
        events.push(Event::Forked { parent, child });
    }

    fn look(&mut self, pid: u32, events: &mut Vec<Event>) {
        let Some(known) = self.known.get_mut(&pid) else { return };
        let stat = process(pid).and_then(|process| Some((process.stat().ok()?, process)));
        let Some((stat, process)) = stat.filter(|(stat, _)| stat.starttime == known.started && stat.state != 'Z')
        else {
            self.known.remove(&pid);
            events.push(Event::Ended { pid });
            return;
        };
        let program = process.exe().ok();
        // In the middle of an execution the stack is moved: it counts once the library was mapped.
        let elsewhere = known.mapped && known.stack != 0 && stat.startstack != 0 && known.stack != stat.startstack;
        if stat.startstack != 0 {
            known.stack = stat.startstack;
        }
        if program.is_some() && (program != known.program || elsewhere) {
            known.program = program.clone();
            known.mapped = false;
            events.push(Event::Executed { pid, program: program.clone() });
        }
        // Its own program is this command's until the child executes the one that was asked for.
        if !known.mapped && known.program != self.own && maps(pid, &self.library) {
            known.mapped = true;
            events.push(Event::Mapped { pid });
        }
        for child in children(&process) {
            if !self.known.contains_key(&child) {
                self.meet(pid, child, program.clone(), events);
            }
        }
    }
}

fn process(pid: u32) -> Option<Process> {
    Process::new(i32::try_from(pid).ok()?).ok()
}

fn maps(pid: u32, library: &Path) -> bool {
    let Ok(text) = std::fs::read(format!("/proc/{pid}/maps")) else { return false };
    smaps::parse(&text).iter().any(|map| map.name == library.as_os_str())
}

fn children(process: &Process) -> Vec<u32> {
    let Ok(threads) = process.tasks() else { return Vec::new() };
    threads.flatten().filter_map(|thread| thread.children().ok()).flatten().collect()
}
