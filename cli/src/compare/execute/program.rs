//! A program that ends by itself.

use super::sampler::{Sampler, Wanted};
use crate::compare::results::{Figure, Unit};
use jeshim_host::interrupts::Interrupts;
use jeshim_host::launch::TERM;
use jeshim_host::starter::{Finished, Start, Starter};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes of what a program prints that are kept from its beginning, and as many from its end.
const KEPT: u64 = 32 << 20;
/// How often it is looked whether this command is to stop.
const TURN: Duration = Duration::from_millis(40);
/// Between SIGTERM and SIGKILL.
const TIME_TO_END: Duration = Duration::from_secs(1);
/// The variable that is set to move the stack.
const PADDING: &str = "COMPARE_PADDING";
/// Its largest length in bytes: a page, after which addresses begin to look alike again.
const MOST_PADDING: usize = 4096;

/// What is to be run.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    /// The program and its arguments. A name without a slash is looked for in the PATH of `variables`.
    pub words: &'a [OsString],
    /// The complete environment.
    pub variables: &'a [(OsString, OsString)],
    /// The folder in which it runs; this process's when `None`.
    pub folder: Option<&'a Path>,
    /// Its standard input; `/dev/null` when `None`.
    pub input: Option<&'a Path>,
}

impl<'a> Order<'a> {
    /// With the files for what it prints.
    pub fn printing_to(&self, output: &'a Path, errors: &'a Path) -> Start<'a> {
        let Order { words, variables, folder, input } = *self;
        Start { words, variables, folder, input, output, errors }
    }
}

/// What was seen of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// Its process.
    pub pid: u32,
    /// How it ended, and what it used. Processes that it left running have been ended.
    pub finished: Finished,
    /// It did not end in time, and was ended.
    pub timed_out: bool,
    /// Memory of all its processes over time: seconds and bytes.
    pub memory: Vec<(f32, u64)>,
    /// The most memory that all its processes had together, as far as that was seen; never less than the largest one's.
    pub tree_peak: u64,
    /// Whether the library was seen in one of its processes. `None`: nobody could look; see [`super::sampler`].
    pub loaded: Option<bool>,
    /// Programs that certainly were without it ([`Wanted::everywhere`]).
    pub without: Vec<String>,
    /// What it printed: of a great deal, beginning and end.
    pub output: Vec<u8>,
    /// What it printed on standard error.
    pub errors: Vec<u8>,
}

/// Why there is nothing to be seen of a run.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The program cannot be executed: the system's error.
    #[error("it cannot be started: {0}")]
    CannotStart(io::Error),
    /// This command was asked to stop. All of the run has been ended.
    #[error("interrupted")]
    Interrupted,
    /// No further run can be made.
    #[error("{0}")]
    Broken(io::Error),
}

/// Runs a program and waits for its end. Memory is looked at every `sample` (zero for never), the library is looked for
/// in its processes, and after `timeout` it is ended. What it prints goes through files in `place`.
///
/// # Errors
/// See [`Failure`].
pub fn run(
    starter: &mut Starter,
    order: &Order,
    sample: Duration,
    timeout: Duration,
    wanted: Option<Wanted>,
    interrupts: &Interrupts,
    place: &Path,
) -> Result<Observed, Failure> {
    let (output, errors) = (place.join("output"), place.join("errors"));
    let started = Instant::now();
    let pid = start(starter, &order.printing_to(&output, &errors))?;
    let end = Sampler::begin(starter.pid(), started, sample, wanted).map_err(Failure::Broken).and_then(|sampler| {
        let end = wait(starter, started.checked_add(timeout), interrupts);
        Ok((end?, sampler.end()))
    });
    let ((finished, timed_out), samples) = match end {
        Ok(end) => end,
        Err(failure) => {
            // Nothing goes on when this has failed; that it did is worth more than that this does, too.
            let _ = end_softly(starter);
            return Err(failure);
        }
    };
    if !finished.left_running.is_empty() {
        starter.end_all().map_err(Failure::Broken)?;
    }
    let read = |path| take(path).map_err(Failure::Broken);
    Ok(Observed {
        pid,
        timed_out,
        memory: samples.memory,
        tree_peak: samples.peak.max(finished.peak),
        loaded: samples.loaded,
        without: samples.without,
        output: read(&output)?,
        errors: read(&errors)?,
        finished,
    })
}

/// Starts a program. Gives its pid.
///
/// # Errors
/// See [`Failure`].
pub fn start(starter: &mut Starter, start: &Start) -> Result<u32, Failure> {
    starter.start(start).map_err(|error| match error.raw_os_error() {
        Some(_) => Failure::CannotStart(error),
        None => Failure::Broken(error),
    })
}

/// Waits for the end, and makes it at that time.
fn wait(starter: &mut Starter, until: Option<Instant>, interrupts: &Interrupts) -> Result<(Finished, bool), Failure> {
    loop {
        let left = until.map_or(TURN, |until| until.saturating_duration_since(Instant::now()));
        let finished = starter.wait(Some(left.min(TURN))).map_err(Failure::Broken)?;
        if interrupts.arrived() {
            return Err(Failure::Interrupted);
        }
        if let Some(finished) = finished {
            return Ok((finished, false));
        }
        if left.is_zero() {
            let finished = end_softly(starter).map_err(Failure::Broken)?;
            let nothing = || Failure::Broken(io::Error::other("the program was ended, and its end was not told"));
            return finished.ok_or_else(nothing).map(|finished| (finished, true));
        }
    }
}

/// Asks the program to end, and then ends all that is there. What it used, if its end was not told before.
fn end_softly(starter: &mut Starter) -> io::Result<Option<Finished>> {
    starter.signal(TERM)?;
    let finished = starter.wait(Some(TIME_TO_END)).unwrap_or(None);
    Ok(starter.end_all()?.or(finished))
}

/// Reads what is kept of a file, and removes it.
pub(super) fn take(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut kept = Vec::new();
    file.by_ref().take(KEPT).read_to_end(&mut kept)?;
    if length > KEPT.saturating_mul(2) {
        // What is left out parts a line from another.
        kept.push(b'\n');
    }
    file.seek(SeekFrom::Start(length.saturating_sub(KEPT).max(KEPT)))?;
    file.take(KEPT).read_to_end(&mut kept)?;
    std::fs::remove_file(path)?;
    Ok(kept)
}

/// Adds a variable of random length, from 0 to 4096 bytes. The size of the environment moves the stack, and that alone
/// can make a program faster or slower: with another size each time, it is noise and not a difference (Mytkowicz et al.,
/// "Producing Wrong Data Without Doing Anything Obviously Wrong!", 2009).
pub fn pad(variables: &mut Vec<(OsString, OsString)>, random: &mut fastrand::Rng) {
    variables.retain(|(name, _)| name != PADDING);
    variables.push((PADDING.into(), "x".repeat(random.usize(..=MOST_PADDING)).into()));
}

/// The figures of a run, by [`Figure::id`].
pub fn figures(observed: &Observed) -> BTreeMap<String, f64> {
    used(&observed.finished, observed.tree_peak)
}

/// The figures of what a program used, when all its processes together had that many bytes at most.
pub fn used(finished: &Finished, tree_peak: u64) -> BTreeMap<String, f64> {
    let count = |number: u64| number as f64;
    let values = [
        ("wall", finished.wall.as_secs_f64()),
        ("cpu", finished.user.saturating_add(finished.system).as_secs_f64()),
        ("user", finished.user.as_secs_f64()),
        ("system", finished.system.as_secs_f64()),
        ("peak_rss", count(finished.peak)),
        ("peak_tree", count(tree_peak)),
        ("minor_faults", count(finished.minor_faults)),
        ("major_faults", count(finished.major_faults)),
        ("voluntary_switches", count(finished.voluntary_switches)),
        ("involuntary_switches", count(finished.involuntary_switches)),
    ];
    values.into_iter().map(|(id, value)| (id.to_owned(), value)).collect()
}

/// What [`figures`] gives, in the order of the tables.
pub fn standard_figures() -> Vec<Figure> {
    let figure = |id: &str, name: &str, unit: Unit, headline: bool| Figure {
        id: id.to_owned(),
        name: name.to_owned(),
        unit,
        higher_is_better: false,
        headline,
    };
    vec![
        figure("wall", "wall time", Unit::Seconds, true),
        figure("cpu", "CPU time", Unit::Seconds, true),
        figure("user", "user time", Unit::Seconds, false),
        figure("system", "system time", Unit::Seconds, false),
        figure("peak_rss", "peak RSS", Unit::Bytes, true),
        figure("peak_tree", "peak RSS of the tree", Unit::Bytes, false),
        figure("minor_faults", "minor page faults", Unit::Count, false),
        figure("major_faults", "major page faults", Unit::Count, false),
        figure("voluntary_switches", "voluntary context switches", Unit::Count, false),
        figure("involuntary_switches", "involuntary context switches", Unit::Count, false),
    ]
}
