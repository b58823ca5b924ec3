//! A server that runs: from its start to the end of the last phase.

use super::phases::Printed;
use super::{Driver, INTERVAL, Step};
use crate::compare::execute::program::Failure;
use crate::compare::execute::sampler::memory_below;
use crate::compare::execute::words::ended;
use crate::compare::results::{Figure, Unit};
use jeshim_host::starter::{Finished, Starter};
use jeshim_host::tree;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

/// A server that runs.
pub(super) struct Running<'a, 'd> {
    pub(super) driver: &'a Driver<'d>,
    pub(super) starter: &'a mut Starter,
    /// Starts what drives the server, apart from it.
    pub(super) helper: &'a mut Starter,
    pub(super) pid: u32,
    pub(super) began: Instant,
    pub(super) seen: Seen,
    /// It ended by itself.
    pub(super) finished: Option<Finished>,
}

/// What was seen of it so far.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) figures: Vec<(Figure, f64)>,
    pub(super) marks: Vec<(f32, String)>,
    /// Metrics that were found, and why others were not.
    pub(super) found: BTreeSet<String>,
    pub(super) missing: BTreeMap<String, String>,
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
            let what = format!("the phase '{}'", phase.name);
            let printed = match self.shell(&phase.command, &what, driver.timeout, "--timeout")? {
                Ok(printed) => printed,
                Err(failure) => return Ok(Err(failure)),
            };
            let name = &phase.name;
            let used = self.processor_time().saturating_sub(used);
            self.note(name, "time", Unit::Seconds, printed.took.as_secs_f64(), false);
            self.note(name, "CPU time", Unit::Seconds, used.as_secs_f64(), false);
            if let Err(failure) = self.read(name, &printed)? {
                return Ok(Err(failure));
            }
        }
        if let Some(settle) = driver.server.settle {
            let until = Instant::now().checked_add(settle);
            while until.is_none_or(|until| Instant::now() < until) {
                if let Err(failure) = self.is_there("while it rested", INTERVAL)? {
                    return Ok(Err(failure));
                }
            }
            return self.read("settled", &Printed::default());
        }
        Ok(Ok(()))
    }

    /// Memory, and the figures that a phase and the probe have printed.
    fn read(&mut self, phase: &str, printed: &Printed) -> Step<()> {
        self.look(phase);
        let metrics = self.driver.metrics;
        let mut readings = metrics.read(&printed.output, &printed.errors);
        let mut printed = vec![printed.output.clone(), printed.errors.clone()];
        if let Some(probe) = &self.driver.server.probe {
            match self.shell(probe, "the probe", self.driver.timeout, "--timeout")? {
                Ok(more) => {
                    readings.extend(metrics.read(&more.output, &more.errors));
                    printed.extend([more.output, more.errors]);
                }
                Err(failure) => return Ok(Err(failure)),
            }
        }
        for reading in readings {
            self.seen.figures.push((metrics.figure(&reading, Some(phase)), reading.value));
            self.seen.found.insert(reading.metric);
        }
        for metric in metrics.missing(&self.seen.found) {
            // What is not printed in one phase may be in the next.
            let why = metrics.why_not(&metric, &printed.join(&b'\n'), b"");
            self.seen.missing.extend(why.map(|why| (metric, why)));
        }
        Ok(Ok(()))
    }

    /// The memory of the tree, now.
    fn look(&mut self, phase: &str) {
        let bytes = memory_below(self.starter.pid());
        self.note(phase, "RSS", Unit::Bytes, bytes as f64, true);
        self.seen.marks.push((self.began.elapsed().as_secs_f32(), phase.to_owned()));
    }

    /// Of all its processes, and of those that they have waited for.
    fn processor_time(&self) -> Duration {
        let processes = tree::below(self.starter.pid());
        let times = processes.iter().filter_map(|pid| tree::processor_time(*pid));
        times.fold(Duration::ZERO, Duration::saturating_add)
    }

    fn note(&mut self, phase: &str, what: &str, unit: Unit, value: f64, headline: bool) {
        let id = format!("phase/{phase}/{}", what.to_lowercase().replace(' ', "_"));
        let figure = Figure { id, name: format!("{phase}: {what}"), unit, higher_is_better: false, headline };
        self.seen.figures.push((figure, value));
    }

    /// Whether it runs still; takes a moment.
    pub(super) fn is_there(&mut self, when: &str, patience: Duration) -> Step<()> {
        if self.driver.interrupts.arrived() {
            return Err(Failure::Interrupted);
        }
        if self.finished.is_none() {
            self.finished = self.starter.wait(Some(patience)).map_err(Failure::Broken)?;
        }
        Ok(match &self.finished {
            Some(finished) => Err(format!("the server {} {when}; look at what it says", ended(finished.ended))),
            None => Ok(()),
        })
    }
}
