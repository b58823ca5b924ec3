//! The judgement on another allocator's library.

use super::bindings::Image;
use super::standing::{Look, Standing, short};
use super::subject::{Command, Subject, is_own_malloc};
use super::{Judgement, line, refused};
use crate::compare::allocators::refusal;
use crate::compare::results::Served;
use crate::examine::{Effect, Obstacle};
use crate::terminal::count;
use std::path::Path;

/// What to do where a name leads elsewhere.
const OTHER_BUILD: &str = "use a build that takes malloc from the C library, without what brings another";

/// Judges a run with a library preloaded.
pub(super) fn judge(command: &Command, library: &Path, processes: &[(u32, Vec<Image>)], errors: &str) -> Judgement {
    let subject = command.subject(processes);
    let standing = |image, own_malloc| Look { image, library, own_malloc }.standing();
    let main = subject.image.map_or(Standing::Nothing, |image| standing(image, subject.has_own_malloc()));
    let others = subject.others.iter().map(|image| {
        let file = command.examine_image(image);
        let own_malloc = file.is_some_and(|file| file.obstacles.iter().any(is_own_malloc));
        (image.program.as_deref().map_or_else(|| "a program".to_owned(), short), standing(image, own_malloc))
    });
    let others = others.collect();
    let case = Case { name: short(&library.to_string_lossy()), main, others, subject: &subject };
    let judgement = case.judge();
    match refusal(errors, library) {
        Some(message) if judgement.served != Served::Yes => refused(&case.name, &message),
        _ => judgement,
    }
}

/// What is known of a run.
struct Case<'a> {
    /// The library's.
    name: String,
    /// How the program stands that was meant.
    main: Standing,
    /// How other programs of its tree stand, with their names.
    others: Vec<(String, Standing)>,
    subject: &'a Subject<'a>,
}

impl Case<'_> {
    fn judge(&self) -> Judgement {
        // What an executable keeps to itself shows in no binding.
        let inside = self.subject.obstacle(|one| one.effect == Effect::Part || one.id == "go");
        let hidden = self.subject.obstacle(|one| one.id == "hidden_allocator");
        let prevents = self.subject.obstacle(|one| one.effect <= Effect::Prevents);
        match (&self.main, inside) {
            (Standing::Served(_), Some(one)) if one.effect != Effect::Part => self.not_served(words(one)),
            (Standing::Served(_), Some(one)) => judgement(Served::Part, words(one)),
            (Standing::Served(objects), None) => match hidden {
                Some(one) => judgement(Served::Unknown, line(&one.cause, OTHER_BUILD)),
                None => self.served(*objects),
            },
            (Standing::Part(cause), _) => {
                judgement(Served::Part, prevents.map_or_else(|| line(cause, OTHER_BUILD), words))
            }
            (Standing::Not(cause), _) => self.not_served(prevents.map_or_else(|| line(cause, OTHER_BUILD), words)),
            (Standing::Nothing, _) => match prevents {
                Some(one) => self.not_served(words(one)),
                None => judgement(
                    Served::Unknown,
                    "the dynamic linker has not told who serves it (only glibc's tells); let it do more work"
                        .to_owned(),
                ),
            },
        }
    }

    /// The program itself is served.
    fn served(&self, objects: u64) -> Judgement {
        let unserved = self.others.iter().find_map(|(program, standing)| match standing {
            Standing::Part(cause) | Standing::Not(cause) => Some((program, cause)),
            _ => None,
        });
        if let Some((program, cause)) = unserved {
            return judgement(
                Served::Part,
                line(
                    &format!("the program is served, but of {program}, which belongs to its tree, {cause}"),
                    OTHER_BUILD,
                ),
            );
        }
        let name = &self.name;
        let mut because = match objects {
            0 => format!("malloc of the C library is bound to {name}, and nothing else was seen to call it"),
            _ => format!("malloc and free of {} are bound to {name}", count(objects, "object", "objects")),
        };
        let others = self.others_served();
        if others > 0 {
            because
                .push_str(&format!(", and those of {} of its tree", count(others, "process more", "processes more")));
        }
        Judgement { by: Some(name.clone()), ..judgement(Served::Yes, because) }
    }

    /// The program itself is not.
    fn not_served(&self, because: String) -> Judgement {
        match self.others_served() {
            0 => judgement(Served::No, because),
            others => {
                let others = count(others, "process", "processes");
                judgement(Served::Part, format!("{others} of its tree took malloc from {}, but {because}", self.name))
            }
        }
    }

    fn others_served(&self) -> u64 {
        self.others.iter().filter(|(_, standing)| matches!(standing, Standing::Served(_))).count() as u64
    }
}

fn judgement(served: Served, because: String) -> Judgement {
    Judgement { served, because, ..Judgement::default() }
}

fn words(obstacle: &Obstacle) -> String {
    line(&obstacle.cause, &obstacle.remedy)
}
