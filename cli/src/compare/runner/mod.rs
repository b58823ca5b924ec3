//! Makes the runs: those in which every participant is proven to serve ([`proving`]), and those that are measured. What is
//! seen of a program and of a server is brought into one form by [`seen`].

mod proving;
mod seen;
mod standard_input;

pub use proving::{Failed, Proven};

use super::breakdown;
use super::execute::program::{self, Failure, Order};
use super::execute::sampler::Wanted;
use super::execute::server::Driver;
use super::plan::Plan;
use super::results::{Comparison, Figure, Finding, Point, Run, finding};
use super::schedule::{Executor, Job, Stop};
use crate::run::failure;
use crate::terminal::printable;
use anyhow::{Context, anyhow};
use jeshim_host::interrupts::Interrupts;
use jeshim_host::starter::Starter;
use seen::Seen;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What a run has to be made with.
pub struct Runner<'a> {
    /// What is compared.
    plan: &'a Plan,
    points: &'a [Point],
    /// Every figure that was seen so far, in the order of the rows.
    figures: Vec<Figure>,
    findings: Vec<Finding>,
    /// Metrics that were found in some run.
    found: BTreeSet<String>,
    /// Why the others were not, the first time.
    missing: BTreeMap<String, String>,
    /// Who starts the programs.
    starter: Starter,
    /// Who starts what drives a server.
    helper: Starter,
    /// What the programs read: the file that is this process's standard input.
    input: Option<PathBuf>,
    interrupts: &'a Interrupts,
    /// The environment without any allocator.
    environment: Vec<(OsString, OsString)>,
    /// For what programs print.
    place: tempfile::TempDir,
    random: fastrand::Rng,
    began: Option<Instant>,
}

/// Why a run cannot be made.
#[derive(Debug)]
pub enum Refusal {
    /// Nor any other.
    Stop(Stop),
    /// The program cannot be executed: exit status, and why.
    NotExecutable(u8, String),
}

impl From<Stop> for Refusal {
    fn from(stop: Stop) -> Refusal {
        Refusal::Stop(stop)
    }
}

/// One run to be made, measured or not.
struct Making<'v> {
    participant: usize,
    point: usize,
    /// Variables besides the participant's.
    more: &'v [(OsString, OsString)],
    /// Whether jemalloc's statistics are among what the program prints, and none of its own words.
    statistics: bool,
    /// Whether the library is looked for in every process.
    everywhere: bool,
}

impl<'a> Runner<'a> {
    /// Makes it. The starters, for the programs and for what drives a server, have to come from a time when this process
    /// had one thread.
    ///
    /// # Errors
    /// When there is no place for temporary files.
    pub fn new(
        plan: &'a Plan,
        points: &'a [Point],
        (starter, helper): (Starter, Starter),
        interrupts: &'a Interrupts,
        environment: Vec<(OsString, OsString)>,
    ) -> anyhow::Result<Runner<'a>> {
        let place = tempfile::Builder::new().prefix("jeshim-").tempdir();
        let place =
            place.context("no folder for what the programs print; set TMPDIR to one that this user may write")?;
        let figures = if plan.server.is_some() { Vec::new() } else { program::standard_figures() };
        Ok(Runner {
            plan,
            points,
            figures,
            findings: Vec::new(),
            found: BTreeSet::new(),
            missing: BTreeMap::new(),
            starter,
            helper,
            input: standard_input::file(),
            interrupts,
            environment,
            place,
            random: fastrand::Rng::new(),
            began: None,
        })
    }

    /// Whether participants are compared that serve a part only.
    pub fn takes_parts(&self) -> bool {
        self.plan.effort.in_part
    }

    /// What is known before the first measured run.
    pub fn finish_preparation(&self, comparison: &mut Comparison) {
        comparison.figures = self.figures.clone();
    }

    /// What the runs have brought to light besides figures.
    pub fn finish(&mut self, comparison: &mut Comparison) {
        comparison.figures = self.figures.clone();
        for metric in self.plan.metrics.missing(&self.found) {
            let why = self.missing.remove(&metric);
            let text = why.unwrap_or_else(|| {
                format!("the metric '{}' matched nothing in any run; look at its pattern", printable(&metric))
            });
            comparison.findings.push(Finding { id: finding::METRIC.to_owned(), text, ..Finding::default() });
        }
        comparison.findings.extend(self.not_printed(comparison));
        comparison.findings.append(&mut self.findings);
    }

    /// Metrics that one participant never printed at a point where others did: its runs were not the same work.
    fn not_printed(&self, comparison: &Comparison) -> Vec<Finding> {
        let mut findings = Vec::new();
        for figure in comparison.figures.iter().filter(|figure| figure.id.contains("metric/")) {
            for point in 0..comparison.points.len() {
                let has = |participant: usize| !comparison.values(&figure.id, participant, point).is_empty();
                let all = 0..comparison.participants.len();
                if !all.clone().any(has) {
                    continue;
                }
                let lacks = |participant: &usize| {
                    comparison.counted(*participant, point).next().is_some() && !has(*participant)
                };
                findings.extend(all.filter(lacks).map(|participant| Finding {
                    id: finding::NOT_PRINTED.to_owned(),
                    participant: Some(participant),
                    point: Some(point),
                    text: format!(
                        "'{}' was never printed, and others have it; look at what the program does there",
                        printable(&figure.name)
                    ),
                }));
            }
        }
        findings
    }

    /// The variables for a run: the environment, the participant's, and more.
    fn variables(&self, participant: usize, more: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
        let mut variables: BTreeMap<OsString, OsString> = self.environment.iter().cloned().collect();
        variables.extend(self.plan.participants[participant].variables.iter().cloned());
        variables.extend(more.iter().cloned());
        variables.into_iter().collect()
    }

    fn make(&mut self, order: &Making) -> Result<Seen, Refusal> {
        let Making { participant, point, more, statistics, everywhere } = *order;
        // A run may be too short for a signal to come while it is waited for.
        if self.interrupts.arrived() {
            return Err(Refusal::Stop(Stop::Interrupted));
        }
        let parameters = &self.points[point].parameters;
        let words = self.plan.words(point, parameters);
        let mut variables = self.variables(participant, more);
        program::pad(&mut variables, &mut self.random);
        let input = self.input.clone();
        let order = Order {
            words: &words,
            variables: &variables,
            folder: self.plan.folder.as_deref(),
            input: input.as_deref(),
        };
        let library = self.plan.participants[participant].kind.library();
        let wanted = library.map(|library| Wanted { library, everywhere });
        let seen = match &self.plan.server {
            None => self.program(&order, wanted, statistics),
            Some(server) => {
                let driver = Driver {
                    server,
                    metrics: &self.plan.metrics,
                    parameters,
                    environment: &self.environment,
                    folder: self.plan.folder.as_deref(),
                    sample: self.plan.effort.sample,
                    timeout: self.plan.effort.timeout,
                    interrupts: self.interrupts,
                    place: self.place.path(),
                    statistics,
                };
                driver.run(&mut self.starter, &mut self.helper, &order, wanted).map(Seen::of_server)
            }
        };
        let mut seen = seen.map_err(|failure| match failure {
            Failure::Interrupted => Refusal::Stop(Stop::Interrupted),
            Failure::Broken(error) => Refusal::Stop(Stop::Broken(anyhow!(error).context("a run cannot be made"))),
            Failure::CannotStart(error) => {
                let program = words.first().cloned().unwrap_or_default();
                let (status, cause) = failure::explain(&program, &error);
                Refusal::NotExecutable(status, format!("{}: {cause}", printable(program)))
            }
        })?;
        for (id, text) in std::mem::take(&mut seen.remarks) {
            self.remark(id, participant, text);
        }
        self.note_figures(&mut seen);
        seen.run.participant = participant;
        seen.run.point = point;
        Ok(seen)
    }

    /// A program that ends by itself.
    fn program(&mut self, order: &Order, wanted: Option<Wanted>, statistics: bool) -> Result<Seen, Failure> {
        let effort = &self.plan.effort;
        let mut observed = program::run(
            &mut self.starter,
            order,
            effort.sample,
            effort.timeout,
            wanted,
            self.interrupts,
            self.place.path(),
        )?;
        let printed = observed.errors.clone();
        if statistics {
            observed.errors = breakdown::without_statistics(&observed.errors);
        }
        let metrics = &self.plan.metrics;
        let readings = metrics.read(&observed.output, &observed.errors);
        let found = readings.iter().map(|reading| reading.metric.clone()).collect();
        let why =
            |metric: &String| Some((metric.clone(), metrics.why_not(metric, &observed.output, &observed.errors)?));
        let missing = metrics.missing(&found).iter().filter_map(why).collect();
        let readings = readings.iter().map(|reading| (metrics.figure(reading, None), reading.value)).collect();
        Ok(Seen { printed, readings, found, missing, ..Seen::of_program(observed, effort) })
    }

    /// Keeps figures in the order in which they were first seen, and why metrics are missing as long as they always were.
    fn note_figures(&mut self, seen: &mut Seen) {
        for (figure, value) in seen.readings.drain(..) {
            // What is no number cannot be compared, and JSON has no word for it.
            if value.is_finite() {
                seen.run.figures.insert(figure.id.clone(), value);
            }
            if !self.figures.iter().any(|known| known.id == figure.id) {
                self.figures.push(figure);
            }
        }
        self.found.append(&mut seen.found);
        for (metric, why) in std::mem::take(&mut seen.missing) {
            if !self.found.contains(&metric) {
                self.missing.entry(metric).or_insert(why);
            }
        }
    }

    /// Notes what a reader has to know, once.
    fn remark(&mut self, id: &str, participant: usize, text: String) {
        let finding = Finding { id: id.to_owned(), participant: Some(participant), point: None, text };
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }
}

impl Executor for Runner<'_> {
    fn run(&mut self, job: Job) -> Result<Run, Stop> {
        self.began.get_or_insert_with(Instant::now);
        let order =
            Making { participant: job.participant, point: job.point, more: &[], statistics: false, everywhere: false };
        match self.make(&order) {
            Ok(Seen { mut run, .. }) => {
                run.round = job.round;
                Ok(run)
            }
            Err(Refusal::Stop(stop)) => Err(stop),
            Err(Refusal::NotExecutable(_, why)) => Err(Stop::Broken(anyhow!(why))),
        }
    }

    fn elapsed(&self) -> Duration {
        self.began.map_or(Duration::ZERO, |began| began.elapsed())
    }
}
