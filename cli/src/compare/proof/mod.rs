//! Whether a participant's allocator really serves the program: seen in a run of its own, which is not measured.
//!
//! jeshim's library writes a record about each process, which `check` knows to judge. Of every other allocator glibc's
//! dynamic linker tells: with LD_DEBUG=bindings it writes, for each process into a file of its own, from which object
//! each object takes malloc, free and the rest.
//!
//! None of this is in the measured runs: writing bindings costs milliseconds at each start, and statistics a walk over
//! all of jemalloc's. Nothing is lost by that: who has a name follows from the files and the environment, and those are
//! the same in all runs of a participant.
//!
//! | module | what it does |
//! |---|---|
//! | [`bindings`] | what the dynamic linker wrote, one image after the other |
//! | [`subject`] | the program that was meant, among those that ran |
//! | [`standing`] | how one image stands: who has its names |
//! | [`preloaded`] | the judgement on another allocator's library |
//! | [`system`] | which allocator it is that the system, or the program itself, brings |
//! | [`jeshim`] | the judgement on our library, by the records |

mod bindings;
mod jeshim;
mod preloaded;
mod standing;
mod subject;
mod system;

use super::allocators::{Allocator, Kind};
use super::breakdown;
use super::results::{Memory, Proof, Served};
use crate::doctor::machine::cause;
use crate::records::Folder;
use crate::terminal::printable;
use bindings::Image;
use jeshim_host::launch::Ended;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::BufReader;
use subject::Command;

/// jemalloc's statistics as JSON, totals and sums only.
const STATISTICS: &str = "stats_print:true,stats_print_opts:Jablxeh";

/// Room that a record takes, in bytes.
const ROOM: usize = 64 * 1024;

/// A run that is watched: from before its start to the judgement.
#[derive(Debug)]
pub struct Watching {
    folder: Folder,
    variables: Vec<(OsString, OsString)>,
}

/// The participant's options, and these.
fn conf_with(allocator: &Allocator, more: &str) -> OsString {
    let own = allocator.variables.iter().find(|(name, _)| name == "MALLOC_CONF");
    let parts = own.map(|(_, value)| value.as_os_str()).into_iter().chain([OsStr::new(more)]);
    let parts: Vec<&OsStr> = parts.filter(|part| !part.is_empty()).collect();
    parts.join(OsStr::new(","))
}

/// Whether an allocator serves a command. What [`Proof`] says, without the participant and the point.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Judgement {
    /// The answer.
    pub served: Served,
    /// Which allocator it really is: "glibc 2.36", "libmimalloc.so.2".
    pub by: Option<String>,
    /// Why, or what was seen: one line without a full stop, with the remedy where there is one.
    pub because: String,
    /// Where the memory was at exit, for jemalloc.
    pub memory: Option<Memory>,
}

impl Judgement {
    /// The records say what jemalloc did; they do not say that a program was executed that left none. The dynamic linker
    /// does.
    fn and_by_bindings(self, bindings: Judgement) -> Judgement {
        match (self.served, bindings.served) {
            (Served::Yes, Served::No | Served::Part) => Judgement { memory: self.memory, ..bindings },
            _ => self,
        }
    }

    /// Takes "served" back where programs of the tree ran without the library: static ones, and those to which LD_PRELOAD
    /// was not passed on, leave no other trace.
    pub fn with_programs_without(self, programs: &[String]) -> Judgement {
        if self.served != Served::Yes || programs.is_empty() {
            return self;
        }
        let because = format!(
            "{} ran without its library: static, or started without LD_PRELOAD ('jeshim check' says which)",
            programs.join(", ")
        );
        Judgement { served: Served::Part, because, ..self }
    }

    /// For a participant at a point.
    pub fn proof(self, participant: usize, point: usize) -> Proof {
        let Judgement { served, by, because, memory } = self;
        Proof { participant, point, served, by, because, memory }
    }
}

impl Watching {
    /// Prepares to watch a run under this allocator.
    ///
    /// # Errors
    /// When no folder can be made where temporary files go.
    pub fn begin(allocator: &Allocator) -> anyhow::Result<Watching> {
        let folder = Folder::new()?;
        let mut variables = Vec::new();
        if let Kind::Jeshim(_) = allocator.kind {
            variables.push(("JESHIM_REPORT".into(), folder.template().into_os_string()));
        }
        // With the files, the point shows at which a process has replaced its program.
        variables.push(("LD_DEBUG".into(), "bindings,files".into()));
        variables.push(("LD_DEBUG_OUTPUT".into(), folder.path().join(OUTPUT).into_os_string()));
        if let Kind::Jemalloc(_) = allocator.kind {
            variables.push(("MALLOC_CONF".into(), conf_with(allocator, STATISTICS)));
        }
        Ok(Watching { folder, variables })
    }

    /// Prepares to watch a run that is made to learn how many bytes were asked for: of its judgement only the memory is
    /// of use. `None` for an allocator that cannot tell.
    ///
    /// # Errors
    /// As [`Watching::begin`].
    pub fn for_requested(allocator: &Allocator) -> anyhow::Result<Option<Watching>> {
        if !matches!(allocator.kind, Kind::Jeshim(_)) {
            return Ok(None);
        }
        let mut watching = Watching::begin(allocator)?;
        watching.variables.push(("MALLOC_CONF".into(), conf_with(allocator, breakdown::REQUESTED_CONF)));
        Ok(Some(watching))
    }

    /// To be set for the run, after the allocator's own.
    pub fn variables(&self) -> Vec<(OsString, OsString)> {
        self.variables.clone()
    }

    /// Judges the run when it is over: `words` is the command as it was run, `pid` its process, `errors` what came on its
    /// standard error, and `variables` the whole environment that it was started with.
    pub fn judge(
        self,
        allocator: &Allocator,
        words: &[OsString],
        ended: Ended,
        pid: u32,
        errors: &[u8],
        variables: &[(OsString, OsString)],
    ) -> Judgement {
        let Some(command) = Command::new(words, variables, pid, ended) else { return Judgement::default() };
        let said = String::from_utf8_lossy(errors);
        if let Err(error) = self.has_room() {
            return Judgement {
                because: format!(
                    "nothing could be written about it in {}: {}; make room, or set TMPDIR to another folder",
                    printable(self.folder.path()),
                    cause(&error)
                ),
                ..Judgement::default()
            };
        }
        let mut judgement = match &allocator.kind {
            Kind::Jeshim(path) => {
                let by_records = jeshim::judge(&command, path, &self.folder, &said);
                by_records.and_by_bindings(preloaded::judge(&command, path, &self.processes(), &said))
            }
            Kind::System => system::judge(&command, &self.processes()),
            Kind::Jemalloc(path) | Kind::Other(path) => preloaded::judge(&command, path, &self.processes(), &said),
        };
        if let Kind::Jemalloc(_) = allocator.kind {
            judgement.memory = breakdown::printed(errors);
        }
        judgement
    }

    /// Whether what was to be written could be: a full disk is no proof of anything.
    fn has_room(&self) -> std::io::Result<()> {
        let file = self.folder.path().join("room");
        std::fs::write(&file, [0; ROOM]).and_then(|()| std::fs::remove_file(file))
    }

    /// What the dynamic linker has written, of each process.
    fn processes(&self) -> Vec<(u32, Vec<Image>)> {
        let Ok(entries) = std::fs::read_dir(self.folder.path()) else { return Vec::new() };
        let mut processes: Vec<(u32, Vec<Image>)> = entries
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name();
                let pid = name.to_str()?.strip_prefix(OUTPUT)?.strip_prefix('.')?.parse().ok()?;
                // A link, or a FIFO, is nobody's account: others may write to the folder.
                if !entry.file_type().ok()?.is_file() {
                    return None;
                }
                let file = BufReader::new(File::open(entry.path()).ok()?);
                Some((pid, bindings::read(file)))
            })
            .collect();
        processes.sort_by_key(|(pid, _)| *pid);
        processes
    }
}

/// The beginning of the names of files that the dynamic linker writes: it appends the pid.
const OUTPUT: &str = "ld";

/// Where the dynamic linker went on without a library.
fn refused(name: &str, message: &str) -> Judgement {
    let because = line(&format!("{name} was not loaded: {message}"), "use another build of it");
    Judgement { served: Served::No, because, ..Judgement::default() }
}

/// "a cause; a remedy".
fn line(cause: &str, remedy: &str) -> String {
    format!("{cause}; {remedy}")
}
