//! How one process stands: served, or not, or in part, and why.

use super::processes::{End, Image};
use crate::examine::{Effect, Examination, Obstacle, Surroundings};
use crate::library::Library;
use crate::record::{Binding, Record};
use crate::terminal::{count, printable};
use jeshim_host::launch::Ended;
use jeshim_host::process;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The names on which everything rests: a program that has one of them elsewhere has two allocators.
const CORE: [&str; 6] = ["malloc", "calloc", "realloc", "free", "posix_memalign", "aligned_alloc"];

/// Fewer small blocks than that may all be libc's: buffers of standard streams, locale, what its start takes.
const FEW: u64 = 100;

/// How an image stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Small blocks were served.
    Served,
    /// They were, but a part of its memory is somebody else's.
    Part(Reason),
    /// It is not served.
    NotServed(Reason),
    /// The library is there, and was asked for no small block.
    Idle,
    /// It is not known.
    Unknown(Reason),
    /// Its process went on as another program, or it is a child that was forked for that only: it does not count.
    Passing,
}

/// Cause and remedy, each a sentence without a full stop.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Reason {
    /// For machines.
    pub id: &'static str,
    /// What is in the way.
    pub cause: String,
    /// What to do.
    pub remedy: String,
}

impl Reason {
    fn new(id: &'static str, cause: impl Into<String>, remedy: impl Into<String>) -> Reason {
        Reason { id, cause: cause.into(), remedy: remedy.into() }
    }

    /// What an obstacle says.
    pub fn of(obstacle: &Obstacle) -> Reason {
        Reason::new(obstacle.id, obstacle.cause.clone(), obstacle.remedy.clone())
    }
}

/// Judges images, and remembers what their files tell.
pub struct Judge<'a> {
    library: &'a Library,
    /// Programs that a program starts were asked not to have the library.
    no_children: bool,
    /// What the command asked for tells, with its arguments.
    asked: &'a Examination,
    files: HashMap<PathBuf, Option<Examination>>,
}

impl<'a> Judge<'a> {
    /// For what a command with this library came to.
    pub fn new(library: &'a Library, asked: &'a Examination, no_children: bool) -> Judge<'a> {
        Judge { library, no_children, asked, files: HashMap::new() }
    }

    /// How an image stands.
    pub fn standing(&mut self, image: &Image, is_asked: bool) -> Standing {
        if image.end == End::Replaced {
            return Standing::Passing;
        }
        if !image.loaded {
            let reason = self.not_loaded(image, is_asked);
            let is_guess = reason.id == "not_loaded" || reason.id == "environment" && image.environment.is_none();
            if image.end == End::Running && is_guess {
                // Between execution and the dynamic linker's work.
                return Standing::Unknown(Reason::new("starting", "it has only just started", "follow it: --for 10s"));
            }
            return Standing::NotServed(reason);
        }
        let Some(record) = &image.record else {
            if image.forked {
                // vfork and posix_spawn run no fork handlers, and a child whose execution failed ends at once.
                return Standing::Passing;
            }
            if image.end == End::Running {
                return Standing::Unknown(Reason::new("starting", "it has only just started", "follow it: --for 10s"));
            }
            return Standing::Unknown(Reason::new(
                "no_record",
                "no record of it could be written",
                "look at what it said on stderr; a program in another root or namespace may not reach the folder",
            ));
        };
        if let Some(reason) = self.bound_elsewhere(image, record) {
            let served =
                record.served.as_ref().map_or(record.serving == Some(true), |served| served.small_allocations > 0);
            return if served { Standing::Part(reason) } else { Standing::NotServed(reason) };
        }
        // So few are libc's own, when the program itself calls none of malloc's family.
        let few = record.served.as_ref().is_none_or(|served| served.small_allocations < FEW);
        let inside = image.program.as_deref().and_then(|program| self.allocator_inside(program, few));
        if record.is_served() {
            return inside.map_or(Standing::Served, Standing::Part);
        }
        match inside {
            Some(reason) => Standing::NotServed(reason),
            None if record.finished => Standing::Idle,
            None => Standing::Unknown(uncounted(image)),
        }
    }

    /// What the file of a program tells.
    pub fn file(&mut self, program: &Path) -> Option<&Examination> {
        let around = Surroundings { library: Some(self.library), variables: std::env::vars_os().collect() };
        self.files.entry(program.to_owned()).or_insert_with(|| crate::examine::file(program, &around).ok()).as_ref()
    }

    fn obstacle(&mut self, program: &Path, wanted: impl Fn(&Obstacle) -> bool) -> Option<Reason> {
        let examination = self.file(program)?;
        examination.obstacles.iter().find(|obstacle| wanted(obstacle)).map(Reason::of)
    }

    /// An allocator that an executable keeps to itself; what it serves, no preloaded library can see.
    fn allocator_inside(&mut self, program: &Path, or_hidden: bool) -> Option<Reason> {
        // Go without C code loads the library where its linker was the system's, and asks it for nothing.
        let inside = self.obstacle(program, |obstacle| obstacle.effect == Effect::Part || obstacle.id == "go");
        let mut hidden = || self.obstacle(program, |obstacle| or_hidden && obstacle.id == "hidden_allocator");
        inside.or_else(|| {
            let remedy = "if it has one, use a build that takes malloc from libc".to_owned();
            hidden().map(|reason| Reason { remedy, ..reason })
        })
    }

    fn not_loaded(&mut self, image: &Image, is_asked: bool) -> Reason {
        let Some(program) = image.program.clone() else {
            return Reason::new(
                "gone",
                "it ended before its program could be seen",
                "check that program by itself, or as root",
            );
        };
        let prevents = |obstacle: &Obstacle| matches!(obstacle.effect, Effect::Breaks | Effect::Prevents);
        let name = printable(&program);
        if !program.is_absolute() {
            return Reason::new(
                "unseen",
                format!(
                    "the file of {name} could not be seen: it runs with other rights (setuid, setgid), or ended at once"
                ),
                format!("look at the file: jeshim check --file {name}"),
            );
        }
        if let Some(reason) = self.obstacle(&program, prevents) {
            return reason;
        }
        // Its arguments may tell more than its file: env -i, sudo.
        if let Some(obstacle) = self.asked.obstacles.iter().find(|obstacle| is_asked && prevents(obstacle)) {
            return Reason::of(obstacle);
        }
        if let Some(reason) = self.obstacle(&program, |obstacle| obstacle.id == "damaged") {
            return reason;
        }
        if self.no_children && !is_asked {
            return Reason::new(
                "no_children",
                format!("{name} was started with --no-children"),
                "leave --no-children out",
            );
        }
        if image.environment == Some(true) && !process::all_may_read(&self.library.path) {
            let library = printable(&self.library.path);
            return Reason::new(
                "unreadable_library",
                format!("the user that {name} runs as may not read {library}, or enter a folder on the way to it"),
                "copy the library to a folder that everybody may read, such as /usr/local/lib, and name it with --lib",
            );
        }
        if image.environment == Some(true) {
            return Reason::new(
                "not_loaded",
                format!(
                    "{name} was started with the library named in its environment, and the dynamic linker did not load it"
                ),
                format!("look at what it says: LD_DEBUG=libs {name}"),
            );
        }
        let variable = jeshim_host::preload::VARIABLE;
        if image.environment.is_none() {
            return Reason::new(
                "environment",
                format!(
                    "{name} has not loaded the library: what started it did not pass {variable} on, or it could not be loaded"
                ),
                "set it where the program is started (jeshim env); what cannot be loaded the dynamic linker says on stderr",
            );
        }
        Reason::new(
            "environment",
            format!("{name} was started by something that did not pass {variable} on"),
            "set it where the program is started: env -i, sudo, su - and service managers clear it (jeshim env)",
        )
    }

    fn bound_elsewhere(&self, image: &Image, record: &Record) -> Option<Reason> {
        let foreign: Vec<(&str, &Binding)> = CORE
            .iter()
            .filter_map(|name| Some((*name, record.bound.names.get(*name)?)))
            .filter(|(_, binding)| **binding != Binding::Ours(true))
            .collect();
        let (name, binding) = foreign.first()?;
        let program = printable(image.program.as_deref().unwrap_or(Path::new("the program")));
        let cause = match binding {
            Binding::Other(path) if image.program.as_deref() == Some(Path::new(path)) => {
                format!("{program} has a {name} of its own in its executable")
            }
            Binding::Other(path) => format!("{name} of {program} is that of {}", printable(path)),
            Binding::Ours(_) => format!("{program} finds no {name}"),
        };
        let remedy = "use a build that takes malloc from libc: one in the executable, or in a library that is preloaded first, comes before";
        Some(Reason::new("own_allocator", cause, remedy))
    }
}

/// Why a record has no counts.
fn uncounted(image: &Image) -> Reason {
    let cause = match image.end {
        End::Running => "it runs still, and has asked for no small block yet".to_owned(),
        End::Ended(Some(Ended::Killed(signal))) => {
            format!("signal {signal} ended it before it asked for a small block")
        }
        _ => "it ended by _exit or a signal, and none of its small blocks came by the slow path".to_owned(),
    };
    Reason::new("not_counted", cause, "let it do more work, and end by exit or by returning from main")
}

/// What an image was served, in words; empty when nothing is known.
pub fn served_in_words(record: &Record) -> String {
    match &record.served {
        Some(served) => count(served.small_allocations, "small allocation", "small allocations"),
        None if record.serving == Some(true) => "small allocations (not counted)".to_owned(),
        None => String::new(),
    }
}
