//! The verdict on the whole tree, in one line.

use super::processes::{Image, Processes};
use super::standing::{Reason, Standing, served_in_words};
use crate::terminal::{count, printable};
use crate::verdict::Verdict;
use std::ffi::OsStr;
use std::path::Path;

/// What a check came to.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Judgement {
    /// The answer.
    pub verdict: Verdict,
    /// What is in the way, for machines (`docs/why-not.md`).
    pub id: Option<&'static str>,
    /// Why, in one line without a full stop.
    pub cause: String,
    /// What to do about it; nothing when it is served.
    pub remedy: Option<String>,
}

impl Judgement {
    /// From a reason.
    pub fn new(verdict: Verdict, reason: &Reason) -> Judgement {
        Judgement { verdict, id: Some(reason.id), cause: reason.cause.clone(), remedy: Some(reason.remedy.clone()) }
    }
}

/// "python3 (pid 123)".
pub fn name_of(image: &Image) -> String {
    let program = image.program.as_deref().unwrap_or(Path::new("a program that nobody saw"));
    format!("{} (pid {})", printable(program.file_name().unwrap_or(program.as_os_str())), image.pid)
}

/// The name under which it was asked for, and, where that came to run another program, that program's.
fn name_as_typed(asked: &Image, file: Option<&Path>, typed: &OsStr) -> String {
    let typed = printable(Path::new(typed).file_name().unwrap_or(typed));
    let real = file.and_then(|file| std::fs::canonicalize(file).ok());
    if asked.program == real {
        // Not that of the file behind a symbolic link: redis-server is redis-check-rdb.
        return format!("{typed} (pid {})", asked.pid);
    }
    format!("{}, started as {typed})", name_of(asked).trim_end_matches(')'))
}

impl Judgement {
    /// Takes "served" back where programs ran of which nothing more is told: what they became, or have started, may be
    /// anything.
    pub fn in_the_dark(self, dark: &[String]) -> Judgement {
        if self.verdict != Verdict::Served || dark.is_empty() {
            return self;
        }
        Judgement {
            verdict: Verdict::CouldNotTell,
            id: Some("dark"),
            cause: format!("{}, but what {} became, or has started, is not known", self.cause, dark.join(", ")),
            remedy: Some(
                "check it as root: of a program that its user may not read the kernel tells nobody else".to_owned(),
            ),
        }
    }
}

/// Judges the tree. The program that was asked for decides; the others can only take away from "served". `file` is what
/// was asked for, and `typed` how it was typed.
pub fn judge(processes: &Processes, standings: &[Standing], file: Option<&Path>, typed: &OsStr) -> Judgement {
    let all = || processes.images.iter().zip(standings);
    let counted = || all().filter(|(_, standing)| **standing != Standing::Passing);
    let Some((asked, standing)) = processes.asked().and_then(|index| all().nth(index)) else {
        return Judgement {
            verdict: Verdict::CouldNotTell,
            id: Some("unseen"),
            cause: "the program was started, and ended before anything could be seen of it".to_owned(),
            remedy: Some("let it do more work, or check it as root".to_owned()),
        };
    };
    let others = || counted().filter(|(image, _)| !std::ptr::eq(*image, asked));
    let not_served = others().find_map(|(image, standing)| match standing {
        Standing::NotServed(reason) | Standing::Part(reason) => Some((image, standing, reason)),
        _ => None,
    });
    let served =
        counted().filter(|(_, standing)| matches!(standing, Standing::Served | Standing::Part(_))).count() as u64;
    let others_served = served.saturating_sub(u64::from(matches!(standing, Standing::Served | Standing::Part(_))));
    let processes_served = || count(others_served, "process", "processes");
    let name = name_as_typed(asked, file, typed);
    let words = asked.record.as_ref().map(served_in_words).unwrap_or_default();
    let others_are = others().filter(|(_, standing)| matches!(standing, Standing::NotServed(_))).count() as u64;
    match (standing, not_served) {
        (Standing::Part(reason), _) => Judgement::new(
            Verdict::InPart,
            &Reason { cause: format!("jemalloc served {words} of {name}, but {}", reason.cause), ..reason.clone() },
        ),
        (Standing::NotServed(reason), _) if others_served > 0 => Judgement::new(
            Verdict::InPart,
            &Reason {
                cause: format!(
                    "{} (pid {}); but {} of its tree had small allocations served",
                    reason.cause,
                    asked.pid,
                    processes_served()
                ),
                ..reason.clone()
            },
        ),
        (Standing::NotServed(reason), _) => Judgement::new(
            Verdict::NotServed,
            &Reason { cause: format!("{} (pid {})", reason.cause, asked.pid), ..reason.clone() },
        ),
        (Standing::Served | Standing::Idle, Some((_, other, reason))) if served > 0 => {
            let cause = match other {
                Standing::Part(_) => format!("jemalloc served {words} of {name}, but of its tree, {}", reason.cause),
                _ => format!(
                    "jemalloc served {} of {name}, but not {} of its tree: {}",
                    if words.is_empty() { "what was asked" } else { words.as_str() },
                    count(others_are, "process", "processes"),
                    reason.cause
                ),
            };
            Judgement::new(Verdict::InPart, &Reason { cause, ..reason.clone() })
        }
        (Standing::Served, _) => {
            let mut more = if others_served > 0 { format!(", and {} more", processes_served()) } else { String::new() };
            let unknown = others().filter(|(_, standing)| matches!(standing, Standing::Unknown(_))).count() as u64;
            if unknown > 0 {
                more.push_str(&format!("; of {} it is not known", count(unknown, "process", "processes")));
            }
            Judgement {
                verdict: Verdict::Served,
                id: None,
                cause: format!("jemalloc served {words} of {name}{more}"),
                remedy: None,
            }
        }
        (Standing::Idle, _) if others_served > 0 => Judgement {
            verdict: Verdict::Served,
            id: None,
            cause: format!(
                "{name} asked for no small block itself, and jemalloc served {} of its tree",
                processes_served()
            ),
            remedy: None,
        },
        (Standing::Idle, _) => Judgement {
            verdict: Verdict::NotServed,
            id: Some("idle"),
            cause: format!(
                "the library was loaded into {name} and all its names bound, but no small block was asked of it: the program does too \
                 little, or has an allocator of its own compiled in"
            ),
            remedy: Some("try it with more work to do, or use a build that takes malloc from libc".to_owned()),
        },
        (Standing::Unknown(reason), _) if others_served > 0 => Judgement::new(
            Verdict::InPart,
            &Reason {
                cause: format!(
                    "jemalloc served {} of the tree of {name}, but whether it served that one is not known: {}",
                    processes_served(),
                    reason.cause
                ),
                ..reason.clone()
            },
        ),
        (Standing::Unknown(reason), _) => Judgement::new(
            Verdict::CouldNotTell,
            &Reason { cause: format!("the library was loaded into {name}, but {}", reason.cause), ..reason.clone() },
        ),
        (Standing::Passing, _) => Judgement {
            verdict: Verdict::CouldNotTell,
            id: Some("unseen"),
            cause: format!("{name} was on its way to another program when it ended"),
            remedy: Some("let it do more work".to_owned()),
        },
    }
}
