//! The tree of processes that a command came to: what was seen from outside, and what each process wrote about itself.

use crate::record::Record;
use jeshim_host::launch::Ended;
use jeshim_host::watch::Event;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// One program in one process: from execution, or from the fork, to the next execution or the end.
#[derive(Debug, Clone, Default)]
pub struct Image {
    /// The process.
    pub pid: u32,
    /// Who forked it.
    pub parent: u32,
    /// Its executable; of a script, the interpreter. Where that could not be seen, the name that the kernel gives the
    /// process, without a folder; `None` when not even that is known.
    pub program: Option<PathBuf>,
    /// Whether it has executed nothing since it was forked.
    pub forked: bool,
    /// Whether the library was mapped.
    pub loaded: bool,
    /// What it wrote about itself.
    pub record: Option<Record>,
    /// What becomes of it.
    pub end: End,
    /// Whether its environment, when it was looked at, named the library.
    pub environment: Option<bool>,
}

/// What becomes of an image.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum End {
    /// It runs still.
    #[default]
    Running,
    /// Its process executed something else.
    Replaced,
    /// Its process has ended; how, is known of the process that was asked for only.
    Ended(Option<Ended>),
}

/// The tree.
#[derive(Debug, Default)]
pub struct Processes {
    /// In the order in which they began.
    pub images: Vec<Image>,
    /// The last image of each process that has not ended.
    current: HashMap<u32, usize>,
    /// The process that was asked for.
    pub root: u32,
}

impl Processes {
    /// Nothing but the process that was started.
    pub fn new(root: u32) -> Processes {
        let mut processes = Processes { root, ..Processes::default() };
        // Until it executes the program asked for it is a copy of this command.
        processes.begin(Image { pid: root, parent: std::process::id(), forked: true, ..Image::default() });
        processes
    }

    /// Takes in what was seen. `environment` looks at the environment of a process, for the library.
    pub fn take(&mut self, events: Vec<Event>, environment: impl Fn(u32) -> Option<bool>) {
        for event in events {
            match event {
                Event::Forked { child, .. } if child == self.root => {}
                Event::Forked { parent, child } => {
                    let copy = self.current(parent).cloned().unwrap_or_default();
                    let (program, loaded, environment) = (copy.program, copy.loaded, copy.environment);
                    let child =
                        Image { pid: child, parent, program, forked: true, loaded, environment, ..Image::default() };
                    self.begin(child);
                }
                Event::Executed { pid, program } => {
                    let before = self.current(pid);
                    let parent = before.as_ref().map_or(0, |image| image.parent);
                    if let Some(before) = before {
                        before.end = End::Replaced;
                    }
                    let environment = environment(pid);
                    self.begin(Image { pid, parent, program, environment, ..Image::default() });
                }
                Event::Mapped { pid } => {
                    if let Some(image) = self.current(pid) {
                        image.loaded = true;
                    }
                }
                Event::Ended { pid } => {
                    if let Some(image) = self.current(pid) {
                        image.end = End::Ended(None);
                        self.current.remove(&pid);
                    }
                }
            }
        }
    }

    /// How the process that was asked for has ended.
    pub fn root_ended(&mut self, ended: Ended) {
        self.current.remove(&self.root);
        let root = self.root;
        if let Some(image) = self.images.iter_mut().rfind(|image| image.pid == root) {
            image.end = End::Ended(Some(ended));
        }
    }

    /// How many processes of the tree run still.
    pub fn running(&self) -> usize {
        self.current.len()
    }

    fn begin(&mut self, image: Image) {
        self.current.insert(image.pid, self.images.len());
        self.images.push(image);
    }

    fn current(&mut self, pid: u32) -> Option<&mut Image> {
        self.images.get_mut(*self.current.get(&pid)?)
    }

    /// Gives each record, in the order in which those of one process came, to the image that wrote it. How many were
    /// nobody's: where the kernel has told of everything (`exact`), a record of a process that never mapped the library
    /// was written by somebody else.
    pub fn assign(&mut self, records: Vec<Record>, exact: bool) -> usize {
        let mut nobodys = 0_usize;
        for record in records {
            match self.writer(&record, exact) {
                Some(index) => {
                    if let Some(image) = self.images.get_mut(index) {
                        image.loaded = true;
                        image.program = Some(PathBuf::from(&record.program));
                        image.record = Some(record);
                    }
                }
                None if exact => nobodys = nobodys.saturating_add(1),
                None => self.insert(record),
            }
        }
        nobodys
    }

    /// The image that has written a record.
    fn writer(&self, record: &Record, exact: bool) -> Option<usize> {
        let program = Path::new(&record.program);
        let free = |image: &Image| image.record.is_none() && image.forked == record.forked && (image.loaded || !exact);
        let same = |image: &Image| image.program.as_deref() == Some(program);
        let unseen = |image: &Image| image.program.as_deref().is_none_or(|program| !program.is_absolute());
        let find = |wanted: &dyn Fn(&Image) -> bool| self.images.iter().position(|image| free(image) && wanted(image));
        find(&|image| image.pid == record.pid && same(image))
            .or_else(|| find(&|image| image.pid == record.pid && (exact || unseen(image))))
            // In a namespace of its own a process has another pid there.
            .or_else(|| find(&|image| image.loaded && same(image)))
    }

    /// A record of a program that nobody saw: where processes are looked for now and then, some are missed. It was
    /// before what its process was seen to be in the end, unless that has a record already.
    fn insert(&mut self, record: Record) {
        let mut image = Image {
            pid: record.pid,
            parent: record.parent_pid,
            program: Some(PathBuf::from(&record.program)),
            forked: record.forked,
            loaded: true,
            end: End::Ended(None),
            record: None,
            environment: None,
        };
        let last = self.images.iter().rposition(|other| other.pid == record.pid);
        image.record = Some(record);
        let Some((index, last)) = last.and_then(|index| Some((index, self.images.get_mut(index)?))) else {
            self.images.push(image);
            return;
        };
        if last.record.is_some() {
            image.end = std::mem::replace(&mut last.end, End::Replaced);
            self.images.insert(index.saturating_add(1), image);
        } else {
            image.end = End::Replaced;
            self.images.insert(index, image);
        }
    }

    /// Adds what is known of the process asked for where it could not be seen: it has executed a program, since it was
    /// started, and `file` is what its files say that this would be.
    pub fn complete(&mut self, file: Option<&Path>) {
        let Some(file) = file else { return };
        let unseen = |image: &Image| image.program.as_deref().is_none_or(|program| !program.is_absolute());
        match self.asked().and_then(|index| self.images.get_mut(index)) {
            Some(image) if unseen(image) => image.program = Some(file.to_owned()),
            Some(_) => {}
            None => {
                let root = self.root;
                let Some(copy) = self.images.iter_mut().find(|image| image.pid == root) else { return };
                let end = std::mem::replace(&mut copy.end, End::Replaced);
                let image =
                    Image { pid: root, parent: copy.parent, program: Some(file.to_owned()), end, ..Image::default() };
                self.images.insert(1.min(self.images.len()), image);
            }
        }
    }

    /// The index of what the process that was asked for became in the end. `None` when it never executed anything.
    pub fn asked(&self) -> Option<usize> {
        let own = |image: &Image| image.pid == self.root && !(image.forked && image.parent == std::process::id());
        self.images.iter().rposition(own)
    }
}
