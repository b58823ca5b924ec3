//! One run of a server: started, waited for, driven by the phases, stopped; its memory and figures at each of them.

mod ending;
mod phases;
mod readiness;
mod running;

use super::program::{self, Failure, Order, take};
use super::sampler::{Sampler, Wanted};
use super::words::last_line;
use crate::compare::breakdown::without_statistics;
use crate::compare::metrics::Metrics;
use crate::compare::plan::{self, Ready};
use crate::compare::results::Figure;
use crate::terminal::printable;
use ending::{Remark, stop};
use jeshim_host::interrupts::Interrupts;
use jeshim_host::ports;
use jeshim_host::starter::{Finished, Starter};
use running::{Running, Seen};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

/// How often it is asked whether something has come about.
const INTERVAL: Duration = Duration::from_millis(20);
/// How long a port may take to be free after the server before has ended: connections linger for a minute.
const PORT_PATIENCE: Duration = Duration::from_secs(65);

/// What was seen of a server.
#[derive(Debug, Default)]
pub struct Observed {
    /// Its process.
    pub pid: u32,
    /// How it ended, and what it used.
    pub finished: Option<Finished>,
    /// Why the run does not count.
    pub failure: Option<String>,
    /// Its figures at the phases.
    pub figures: Vec<(Figure, f64)>,
    /// Memory over time: seconds, and bytes resident in the whole tree.
    pub memory: Vec<(f32, u64)>,
    /// Where on that axis phases ended.
    pub marks: Vec<(f32, String)>,
    /// Peak of that, in bytes.
    pub tree_peak: u64,
    /// Whether the library was seen mapped.
    pub loaded: Option<bool>,
    /// Programs of its tree that certainly were without it.
    pub without: Vec<String>,
    /// What it printed on standard error.
    pub errors: Vec<u8>,
    /// Metrics that were found.
    pub found: BTreeSet<String>,
    /// Why others were not.
    pub missing: BTreeMap<String, String>,
    /// What a reader has to know: it had to be killed.
    pub remarks: Vec<Remark>,
}

/// What a run of a server is made with.
pub struct Driver<'a> {
    /// Its phases.
    pub server: &'a plan::Server,
    /// Figures of its own.
    pub metrics: &'a Metrics,
    /// Values for `{name}` in the phases.
    pub parameters: &'a [(String, String)],
    /// The environment of phases and probes: without any allocator.
    pub environment: &'a [(std::ffi::OsString, std::ffi::OsString)],
    /// Where phases and probes are run.
    pub folder: Option<&'a Path>,
    /// How often memory is looked at.
    pub sample: Duration,
    /// How long each phase may take.
    pub timeout: Duration,
    /// Ctrl-C.
    pub interrupts: &'a Interrupts,
    /// A folder for what is printed.
    pub place: &'a Path,
    /// Whether jemalloc's statistics are among what it prints, and none of its own words.
    pub statistics: bool,
}

/// How a step of the run came out: `Err` is why the run does not count.
type Step<T> = Result<Result<T, String>, Failure>;

impl Driver<'_> {
    /// Makes the run. The helper starts what drives the server.
    ///
    /// # Errors
    /// When it cannot be started, or no more runs can be made. A server that fails is an [`Observed::failure`].
    pub fn run(
        &self,
        starter: &mut Starter,
        helper: &mut Starter,
        order: &Order,
        wanted: Option<Wanted>,
    ) -> Result<Observed, Failure> {
        if let Ready::Port(port) = self.server.ready
            && let Some(taken) = self.port_is_taken(port)?
        {
            return Ok(Observed { failure: Some(taken), ..Observed::default() });
        }
        let (output, errors) = (self.place.join("server.out"), self.place.join("server.err"));
        let began = Instant::now();
        let pid = program::start(starter, &order.printing_to(&output, &errors))?;
        let sampler = Sampler::begin(starter.pid(), began, self.sample, wanted);
        let mut run = Running { driver: self, starter, helper, pid, began, seen: Seen::default(), finished: None };
        let lived = run.live(&output, &errors);
        let Running { seen, finished, .. } = run;
        let stopped = stop(starter, finished, self.server.stop_timeout);
        let sampled = sampler.map_err(Failure::Broken)?.end();
        let mut failure = lived?.err();
        let (finished, remarks) = stopped.map_err(Failure::Broken)?;
        let printed = take(&output).map_err(Failure::Broken)?;
        let errors = take(&errors).map_err(Failure::Broken)?;
        if let Some(failure) = &mut failure {
            let own = if self.statistics { without_statistics(&errors) } else { errors.clone() };
            if let Some(line) = last_line(&own).or_else(|| last_line(&printed)) {
                failure.push_str(&format!("; the last it said: {line}"));
            }
        }
        Ok(Observed {
            pid,
            failure,
            figures: seen.figures,
            memory: sampled.memory,
            marks: seen.marks,
            tree_peak: sampled.peak.max(finished.as_ref().map_or(0, |finished| finished.peak)),
            finished,
            loaded: sampled.loaded,
            without: sampled.without,
            errors,
            found: seen.found,
            missing: seen.missing,
            remarks,
        })
    }

    /// Waits until a port is free. Who has it, when somebody keeps it.
    fn port_is_taken(&self, port: u16) -> Result<Option<String>, Failure> {
        let began = Instant::now();
        while !ports::is_free(port) {
            // A server of the run before needs a moment to be gone; anybody who listens will not go away.
            if began.elapsed() > PORT_PATIENCE || ports::listener(port).is_some() {
                let owner = ports::listener(port).map_or_else(
                    || "somebody".to_owned(),
                    |owner| format!("{} (pid {})", printable(&owner.name), owner.pid),
                );
                return Ok(Some(format!("the port {port} is taken by {owner}; stop it, or choose another port")));
            }
            if self.interrupts.arrived() {
                return Err(Failure::Interrupted);
            }
            std::thread::sleep(INTERVAL);
        }
        Ok(None)
    }
}
