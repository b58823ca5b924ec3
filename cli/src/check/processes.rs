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

    /// Gives each record to the image that wrote it. One that nobody is known for is an image of its own: in a
    /// namespace of its own a process has another pid there, and where processes are only looked for now and then,
    /// some are never seen.
    pub fn assign(&mut self, records: Vec<Record>) {
        for record in records {
            let fits = |image: &Image| image.record.is_none() && image.forked == record.forked;
            let program = Path::new(&record.program);
            let same_program = |image: &Image| image.program.as_deref() == Some(program);
            let images = &self.images;
            let found = images
                .iter()
                .position(|image| fits(image) && image.pid == record.pid && same_program(image))
                .or_else(|| images.iter().position(|image| fits(image) && image.pid == record.pid))
                .or_else(|| images.iter().position(|image| fits(image) && image.loaded && same_program(image)));
            match found.and_then(|index| self.images.get_mut(index)) {
                Some(image) => {
                    image.loaded = true;
                    image.program = Some(program.to_owned());
                    image.record = Some(record);
                }
                None => self.images.push(Image {
                    pid: record.pid,
                    parent: record.parent_pid,
                    program: Some(program.to_owned()),
                    forked: record.forked,
                    loaded: true,
                    end: End::Ended(None),
                    record: Some(record),
                    environment: None,
                }),
            }
        }
    }

    /// Fills in the program asked for where it could not be seen: `file` is what its files said it would be.
    pub fn complete(&mut self, file: Option<&Path>) {
        let unseen = |image: &&mut Image| image.program.as_deref().is_none_or(|program| !program.is_absolute());
        let asked = self.asked().and_then(|index| self.images.get_mut(index));
        if let (Some(image), Some(file)) = (asked.filter(unseen), file) {
            image.program = Some(file.to_owned());
        }
    }

    /// The index of what the process that was asked for became in the end. `None` when it never executed anything.
    pub fn asked(&self) -> Option<usize> {
        let own = |image: &Image| image.pid == self.root && !(image.forked && image.parent == std::process::id());
        self.images.iter().rposition(own)
    }
}
