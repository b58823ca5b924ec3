//! One run of a server: started, waited for, driven by the phases, stopped; its memory and figures at each of them.

mod ending;
mod phases;
mod running;

use super::program::{self, Failure, Order};
use super::sampler::Sampler;
use super::words::last_line;
use crate::compare::metrics::Metrics;
use crate::compare::plan::{self, Ready};
use crate::compare::results::Figure;
use crate::terminal::printable;
use ending::{Remark, stop};
use jeshim_host::interrupts::Interrupts;
use jeshim_host::launch::{self, Ended};
use jeshim_host::ports;
use jeshim_host::starter::{Finished, Starter};
use running::Running;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often it is asked whether something has come about.
const INTERVAL: Duration = Duration::from_millis(20);
/// How long a port may take to be free after the server before has ended.
const PORT_PATIENCE: Duration = Duration::from_secs(5);

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
    /// What it printed on standard error.
    pub errors: Vec<u8>,
    /// Metrics that were found.
    pub metrics: BTreeSet<String>,
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
}

/// How a step of the run came out: `Err` is why the run does not count.
type Step<T> = Result<Result<T, String>, Failure>;

impl Driver<'_> {
    /// Makes the run.
    ///
    /// # Errors
    /// When it cannot be started, or no more runs can be made. A server that fails is an [`Observed::failure`].
    pub fn run(&self, starter: &mut Starter, order: &Order, library: Option<&Path>) -> Result<Observed, Failure> {
        if let Ready::Port(port) = self.server.ready
            && let Some(taken) = self.port_is_taken(port)?
        {
            return Ok(Observed { failure: Some(taken), ..Observed::default() });
        }
        let (output, errors) = (self.place.join("server.out"), self.place.join("server.err"));
        let began = Instant::now();
        let pid = program::start(starter, &order.printing_to(&output, &errors))?;
        let sampler = Sampler::begin(starter.pid(), began, self.sample, library);
        let mut run = Running {
            driver: self,
            starter,
            pid,
            began,
            figures: Vec::new(),
            marks: Vec::new(),
            metrics: BTreeSet::new(),
            finished: None,
        };
        let lived = run.live(&output, &errors);
        let Running { figures, marks, metrics, finished, .. } = run;
        let stopped = stop(starter, finished, self.server.stop_timeout);
        let sampled = sampler.map_err(Failure::Broken)?.end();
        let lived = lived?;
        let (finished, mut remarks) = stopped.map_err(Failure::Broken)?;
        let mut failure = lived.err();
        if let (None, Some(Ended::Killed(signal))) = (&failure, finished.as_ref().map(|finished| finished.ended))
            && !matches!(signal, launch::TERM | launch::KILL)
        {
            failure = Some(format!("the server ended by {}", launch::signal_name(signal)));
        }
        if finished.as_ref().is_some_and(|finished| !finished.left_running.is_empty()) {
            let text = "processes of the server ran on after its end, and were ended before the next run";
            remarks.push(("left_running", text.to_owned()));
        }
        let errors = std::fs::read(&errors).unwrap_or_default();
        if let Some(failure) = &mut failure
            && let Some(line) = last_line(&errors).or_else(|| last_line(&std::fs::read(&output).unwrap_or_default()))
        {
            failure.push_str(&format!("; the last it said: {line}"));
        }
        let tree_peak = sampled.peak.max(finished.as_ref().map_or(0, |finished| finished.peak));
        Ok(Observed {
            pid,
            finished,
            failure,
            figures,
            memory: sampled.memory,
            marks,
            tree_peak,
            loaded: sampled.loaded,
            errors,
            metrics,
            remarks,
        })
    }

    /// Waits until a port is free. Who has it, when somebody keeps it.
    fn port_is_taken(&self, port: u16) -> Result<Option<String>, Failure> {
        let until = Instant::now() + PORT_PATIENCE;
        while !ports::is_free(port) {
            // A server of the run before needs a moment; anybody else will not go away.
            if Instant::now() > until
                || ports::listener(port).is_some() && Instant::now() + PORT_PATIENCE > until + INTERVAL
            {
                return Ok(Some(taken(port)));
            }
            pause(self.interrupts)?;
        }
        Ok(None)
    }
}

/// Cause and remedy of a port that somebody has.
pub fn taken(port: u16) -> String {
    let owner = ports::listener(port)
        .map_or_else(|| "somebody".to_owned(), |owner| format!("{} (pid {})", printable(&owner.name), owner.pid));
    format!("the port {port} is taken by {owner}; stop it, or choose another port")
}

fn pause(interrupts: &Interrupts) -> Result<(), Failure> {
    if interrupts.arrived() {
        return Err(Failure::Interrupted);
    }
    std::thread::sleep(INTERVAL);
    Ok(())
}
