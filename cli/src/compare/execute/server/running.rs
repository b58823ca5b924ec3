//! A server that runs: from its start to the end of the last phase.

use super::phases::Printed;
use super::{Driver, INTERVAL, Step};
use crate::compare::execute::program::Failure;
use crate::compare::execute::sampler::memory_below;
use crate::compare::execute::words::ended;
use crate::compare::plan::Ready;
use crate::compare::results::{Figure, Unit};
use crate::terminal::printable;
use jeshim_host::starter::{Finished, Starter};
use jeshim_host::{ports, tree};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

/// A server that runs.
pub(super) struct Running<'a, 'd> {
    pub(super) driver: &'a Driver<'d>,
    pub(super) starter: &'a mut Starter,
    pub(super) pid: u32,
    pub(super) began: Instant,
    pub(super) figures: Vec<(Figure, f64)>,
    pub(super) metrics: BTreeSet<String>,
    pub(super) marks: Vec<(f32, String)>,
    /// It ended by itself.
    pub(super) finished: Option<Finished>,
}

impl Running<'_, '_> {
    /// From its start to the end of the last phase.
    pub(super) fn live(&mut self, output: &Path, errors: &Path) -> Step<()> {
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
    pub(super) fn is_there(&mut self, when: &str, patience: Duration) -> Step<()> {
        if self.driver.interrupts.arrived() {
            return Err(Failure::Interrupted);
        }
        let finished = self.starter.wait(Some(patience)).map_err(Failure::Broken)?;
        let Some(finished) = finished else { return Ok(Ok(())) };
        let why = format!("the server {} {when}", ended(finished.ended));
        self.finished = Some(finished);
        Ok(Err(why))
    }
}
