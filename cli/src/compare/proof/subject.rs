//! The program that was meant by a command, among those that ran.

use super::bindings::Image;
use crate::examine::{self, Depth, Effect, Examination, Obstacle, Surroundings};
use jeshim_host::launch::Ended;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::rc::Rc;

/// What was run.
pub(super) struct Command<'a> {
    pub(super) program: &'a OsString,
    pub(super) rest: &'a [OsString],
    pub(super) variables: &'a [(OsString, OsString)],
    pub(super) pid: u32,
    pub(super) ended: Ended,
    /// What files told, by the name that a program was started under.
    examined: RefCell<HashMap<String, Option<Rc<Examination>>>>,
}

/// The program that was meant.
pub(super) struct Subject<'a> {
    /// What the dynamic linker told of it; `None`: nothing.
    pub(super) image: Option<&'a Image>,
    /// What its file tells.
    pub(super) examination: Option<Examination>,
    /// The last images of other processes.
    pub(super) others: Vec<&'a Image>,
}

impl<'c> Command<'c> {
    /// A command that was run.
    pub(super) fn new(
        words: &'c [OsString],
        variables: &'c [(OsString, OsString)],
        pid: u32,
        ended: Ended,
    ) -> Option<Command<'c>> {
        let (program, rest) = words.split_first()?;
        Some(Command { program, rest, variables, pid, ended, examined: RefCell::default() })
    }

    /// Finds the program that was meant among those that ran: what the files say that the command comes to (timeout
    /// starts it, env becomes it, a script's interpreter is it), or what that became; else what its process was in the
    /// end.
    pub(super) fn subject<'a>(&self, processes: &'a [(u32, Vec<Image>)]) -> Subject<'a> {
        let asked = examine::command(self.program, self.rest, &self.around(), Depth::Whole).ok();
        let is_meant = |image: &Image| {
            let Some(meant) = asked.as_ref().and_then(meant) else { return false };
            self.examine_image(image).is_some_and(|found| found.steps.iter().any(|step| step.path == meant))
        };
        let (own, others): (Vec<_>, Vec<_>) = processes.iter().partition(|(pid, _)| *pid == self.pid);
        let own = own.first().map_or(&[][..], |(_, images)| images.as_slice());
        let mut others: Vec<&Image> = others.into_iter().filter_map(|(_, images)| images.last()).collect();
        let place = if own.iter().any(is_meant) { None } else { others.iter().position(|image| is_meant(image)) };
        let image = match place {
            Some(place) => {
                others.extend(own.last());
                Some(others.swap_remove(place))
            }
            // It was started, and the dynamic linker told nothing of it.
            None if !own.iter().any(is_meant) && asked.as_ref().and_then(set_apart).is_some() => {
                others.extend(own.last());
                None
            }
            None => own.last(),
        };
        let examination = match image {
            Some(image) if !is_meant(image) => self.look_into(image).or(asked),
            _ => asked,
        };
        Subject { image, examination, others }
    }

    /// What the file tells of an image, whose program is known by the name that it was started under; its tables only.
    pub(super) fn examine_image(&self, image: &Image) -> Option<Rc<Examination>> {
        let program = image.program.as_ref()?;
        let known = self.examined.borrow().get(program).cloned();
        known.unwrap_or_else(|| {
            let found = examine::command(OsStr::new(program), &[], &self.around(), Depth::Tables).ok().map(Rc::new);
            self.examined.borrow_mut().insert(program.clone(), found.clone());
            found
        })
    }

    fn look_into(&self, image: &Image) -> Option<Examination> {
        examine::command(OsStr::new(image.program.as_ref()?), &[], &self.around(), Depth::Whole).ok()
    }

    fn around(&self) -> Surroundings<'static> {
        Surroundings { library: None, variables: self.variables.to_vec() }
    }
}

impl Subject<'_> {
    /// An obstacle that its file shows.
    pub(super) fn obstacle(&self, wanted: impl Fn(&Obstacle) -> bool) -> Option<&Obstacle> {
        self.examination.as_ref()?.obstacles.iter().find(|obstacle| wanted(obstacle))
    }

    /// Whether the executable has a malloc in it.
    pub(super) fn has_own_malloc(&self) -> bool {
        self.obstacle(is_own_malloc).is_some()
    }
}

/// The program that a command comes to.
pub(super) fn meant(asked: &Examination) -> Option<&Path> {
    asked.steps.last().map(|step| step.path.as_path())
}

/// What keeps a preloaded library out of the program that a command starts, though not out of the command itself.
pub(super) fn set_apart(asked: &Examination) -> Option<&Obstacle> {
    let starts_another = asked.steps.len() > 1;
    asked.obstacles.iter().find(|obstacle| starts_another && obstacle.effect <= Effect::Prevents)
}

/// Whether an obstacle is a malloc in the executable, which other objects take.
pub(super) fn is_own_malloc(obstacle: &Obstacle) -> bool {
    matches!(obstacle.id, "own_allocator" | "sanitizer") && obstacle.effect <= Effect::Prevents
}
