//! One run of a server: started, waited for, driven by the phases, stopped; its memory and figures at each of them.

use super::program::{self, Failure, Order};
use super::sampler::{Sampler, memory_below};
use crate::compare::metrics::Metrics;
use crate::compare::plan::{self, Ready, fill};
use crate::compare::results::{Figure, Unit};
use crate::terminal::printable;
use jeshim_host::interrupts::Interrupts;
use jeshim_host::launch::{self, Ended};
use jeshim_host::starter::{Finished, Starter};
use jeshim_host::{ports, tree};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How often it is asked whether something has come about.
const INTERVAL: Duration = Duration::from_millis(20);
/// The same while a command runs whose time is taken.
const SHORT: Duration = Duration::from_millis(2);
/// How long a port may take to be free after the server before has ended.
const PORT_PATIENCE: Duration = Duration::from_secs(5);

/// What was seen of a server.
#[derive(Debug)]
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
    pub remarks: Vec<(&'static str, String)>,
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

/// What a phase printed.
struct Printed {
    output: Vec<u8>,
    errors: Vec<u8>,
    took: Duration,
}

impl Driver<'_> {
    /// Makes the run.
    ///
    /// # Errors
    /// When it cannot be started, or no more runs can be made. A server that fails is an [`Observed::failure`].
    pub fn run(&self, starter: &mut Starter, order: &Order, library: Option<&Path>) -> Result<Observed, Failure> {
        let nothing = |failure| Observed {
            pid: 0,
            finished: None,
            failure: Some(failure),
            figures: Vec::new(),
            memory: Vec::new(),
            marks: Vec::new(),
            tree_peak: 0,
            loaded: None,
            errors: Vec::new(),
            metrics: BTreeSet::new(),
            remarks: Vec::new(),
        };
        if let Ready::Port(port) = self.server.ready
            && let Some(taken) = self.port_is_taken(port)?
        {
            return Ok(nothing(taken));
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

/// A server that runs.
struct Running<'a, 'd> {
    driver: &'a Driver<'d>,
    starter: &'a mut Starter,
    pid: u32,
    began: Instant,
    figures: Vec<(Figure, f64)>,
    metrics: BTreeSet<String>,
    marks: Vec<(f32, String)>,
    /// It ended by itself.
    finished: Option<Finished>,
}

impl Running<'_, '_> {
    /// From its start to the end of the last phase.
    fn live(&mut self, output: &Path, errors: &Path) -> Step<()> {
        if let Err(failure) = self.wait_until_ready(output, errors)? {
            return Ok(Err(failure));
        }
        let driver = self.driver;
        self.look("ready");
        for phase in &driver.server.phases {
            let used = self.processor_time();
            let printed = match self.shell(&phase.command, &format!("the phase '{}'", phase.name), driver.timeout)? {
                Ok(printed) => printed,
                Err(failure) => return Ok(Err(failure)),
            };
            let name = &phase.name;
            let used = self.processor_time().saturating_sub(used);
            self.note(name, "time", Unit::Seconds, printed.took.as_secs_f64(), false);
            self.note(name, "CPU time", Unit::Seconds, used.as_secs_f64(), true);
            if let Err(failure) = self.read(name, &printed)? {
                return Ok(Err(failure));
            }
        }
        if let Some(settle) = driver.server.settle {
            let until = Instant::now() + settle;
            while Instant::now() < until {
                if let Err(failure) = self.is_there("while it rested", INTERVAL)? {
                    return Ok(Err(failure));
                }
            }
            let nothing = Printed { output: Vec::new(), errors: Vec::new(), took: Duration::ZERO };
            return self.read("settled", &nothing);
        }
        Ok(Ok(()))
    }

    /// Memory, and the figures that a phase and the probe have printed.
    fn read(&mut self, phase: &str, printed: &Printed) -> Step<()> {
        self.look(phase);
        let mut found = self.driver.metrics.read(&printed.output, &printed.errors);
        if let Some(probe) = &self.driver.server.probe {
            match self.shell(probe, "the probe", self.driver.timeout)? {
                Ok(printed) => found.extend(self.driver.metrics.read(&printed.output, &printed.errors)),
                Err(failure) => return Ok(Err(failure)),
            }
        }
        for reading in found {
            self.figures.push((self.driver.metrics.figure(&reading, Some(phase)), reading.value));
            self.metrics.insert(reading.metric);
        }
        Ok(Ok(()))
    }

    /// The memory of the tree, now.
    fn look(&mut self, phase: &str) {
        let bytes = memory_below(self.starter.pid());
        self.note(phase, "RSS", Unit::Bytes, bytes as f64, true);
        self.marks.push((self.began.elapsed().as_secs_f32(), phase.to_owned()));
    }

    fn processor_time(&self) -> Duration {
        tree::below(self.starter.pid())
            .iter()
            .filter_map(|pid| tree::processor_time(*pid))
            .fold(Duration::ZERO, Duration::saturating_add)
    }

    fn note(&mut self, phase: &str, what: &str, unit: Unit, value: f64, headline: bool) {
        let id = format!("phase/{phase}/{}", what.to_lowercase().replace(' ', "_"));
        let figure = Figure { id, name: format!("{phase}: {what}"), unit, higher_is_better: false, headline };
        self.figures.push((figure, value));
    }

    fn wait_until_ready(&mut self, output: &Path, errors: &Path) -> Step<()> {
        let driver = self.driver;
        let until = Instant::now() + driver.server.ready_timeout;
        loop {
            let ready = match &driver.server.ready {
                Ready::Port(port) => ports::takes_connections(*port),
                Ready::Log(line) => [output, errors]
                    .into_iter()
                    .any(|file| std::fs::read(file).is_ok_and(|text| line.is_match(&String::from_utf8_lossy(&text)))),
                Ready::Command(command) => {
                    let left = until.saturating_duration_since(Instant::now()).max(INTERVAL);
                    self.shell(command, "the readiness command", left)?.is_ok()
                }
            };
            // In this order: a server that printed its line and died is not ready.
            if let Err(failure) = self.is_there("before it was ready", INTERVAL)? {
                return Ok(Err(failure));
            }
            if ready {
                return Ok(Ok(()));
            }
            if Instant::now() > until {
                let what = match &driver.server.ready {
                    Ready::Port(port) => format!("nobody took connections on port {port}"),
                    Ready::Log(line) => format!("no line that it printed matched '{line}'"),
                    Ready::Command(command) => format!("'{}' did not succeed", printable(command)),
                };
                let patience = driver.server.ready_timeout;
                return Ok(Err(format!(
                    "the server was not ready after {patience:?}: {what}; give it longer with --ready-timeout, or look at what it says"
                )));
            }
        }
    }

    /// Whether it runs still; takes a moment.
    fn is_there(&mut self, when: &str, patience: Duration) -> Step<()> {
        if self.driver.interrupts.arrived() {
            return Err(Failure::Interrupted);
        }
        let finished = self.starter.wait(Some(patience)).map_err(Failure::Broken)?;
        let Some(finished) = finished else { return Ok(Ok(())) };
        let why = format!("the server {} {when}", ended(finished.ended));
        self.finished = Some(finished);
        Ok(Err(why))
    }

    /// Runs a shell command to its end.
    fn shell(&mut self, command: &str, what: &str, timeout: Duration) -> Step<Printed> {
        let mut parameters = self.driver.parameters.to_vec();
        parameters.push(("pid".to_owned(), self.pid.to_string()));
        if let Ready::Port(port) = self.driver.server.ready {
            parameters.push(("port".to_owned(), port.to_string()));
        }
        let files = [self.driver.place.join("phase.out"), self.driver.place.join("phase.err")];
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &fill(command, &parameters)]);
        shell.env_clear().envs(self.driver.environment.iter().map(|(name, value)| (name, value)));
        if let Some(folder) = self.driver.folder {
            shell.current_dir(folder);
        }
        let began = Instant::now();
        let mut child = match spawn(&mut shell, &files) {
            Ok(child) => child,
            Err(error) => return Err(Failure::Broken(error)),
        };
        let mut wait = || -> Step<std::process::ExitStatus> {
            loop {
                if let Some(status) = child.try_wait().map_err(Failure::Broken)? {
                    return Ok(Ok(status));
                }
                if began.elapsed() > timeout {
                    return Ok(Err(format!("{what} took longer than {timeout:?}; give it longer with --timeout")));
                }
                if let Err(failure) = self.is_there(&format!("during {what}"), SHORT)? {
                    return Ok(Err(failure));
                }
            }
        };
        let status = wait();
        let took = began.elapsed();
        // What it has left, or the command itself.
        launch::end_group(child.id());
        let _ = child.wait();
        let read = |file: &PathBuf| std::fs::read(file).unwrap_or_default();
        let printed = Printed { output: read(&files[0]), errors: read(&files[1]), took };
        Ok(match status? {
            Err(failure) => Err(failure),
            Ok(status) if status.success() => Ok(printed),
            Ok(status) => {
                let said = last_line(&printed.errors).or_else(|| last_line(&printed.output));
                let said = said.map(|line| format!(": {line}")).unwrap_or_default();
                Err(format!("{what} failed ({status}){said}"))
            }
        })
    }
}

fn spawn(shell: &mut Command, files: &[PathBuf; 2]) -> std::io::Result<std::process::Child> {
    use std::os::unix::process::CommandExt;
    shell
        .stdin(Stdio::null())
        .stdout(File::create(&files[0])?)
        .stderr(File::create(&files[1])?)
        .process_group(0)
        .spawn()
}

/// Ends a server: as it wants to be ended, or by force.
fn stop(
    starter: &mut Starter,
    finished: Option<Finished>,
    patience: Duration,
) -> std::io::Result<(Option<Finished>, Vec<(&'static str, String)>)> {
    let finished = match finished {
        Some(finished) => Some(finished),
        // It may have ended since.
        None => starter.wait(Some(Duration::ZERO))?,
    };
    if finished.is_some() {
        starter.end_all()?;
        return Ok((finished, Vec::new()));
    }
    let _ = starter.signal(launch::TERM);
    let finished = starter.wait(Some(patience))?;
    let mut remarks = Vec::new();
    if finished.is_none() {
        remarks.push((
            "killed",
            format!("the server did not end within {patience:?} of SIGTERM, and was killed; give it longer with --stop-timeout"),
        ));
    }
    let killed = starter.end_all()?;
    Ok((finished.or(killed), remarks))
}

fn pause(interrupts: &Interrupts) -> Result<(), Failure> {
    if interrupts.arrived() {
        return Err(Failure::Interrupted);
    }
    std::thread::sleep(INTERVAL);
    Ok(())
}

/// "ended with status 1", "was ended by SIGSEGV".
pub fn ended(how: Ended) -> String {
    match how {
        Ended::Exited(status) => format!("ended with status {status}"),
        Ended::Killed(signal) => format!("was ended by {}", launch::signal_name(signal)),
    }
}

/// The last line that is not empty, shortened.
pub fn last_line(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    Some(printable(line.chars().take(200).collect::<String>()))
}
