//! Makes the runs: those in which every participant is proven to serve, and those that are measured.

use super::breakdown;
use super::execute::program::{self, Failure, Order};
use super::execute::server::{self, Driver};
use super::execute::words;
use super::plan::Plan;
use super::progress::Progress;
use super::proof::Watching;
use super::results::{Comparison, Figure, Finding, Point, Proof, Run};
use super::schedule::{Executor, Job, Stop};
use crate::run::failure;
use anyhow::{Context, anyhow};
use jeshim_host::interrupts::Interrupts;
use jeshim_host::launch::Ended;
use jeshim_host::starter::Starter;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

/// What a run has to be made with.
pub struct Runner<'a> {
    /// What is compared.
    pub plan: &'a Plan,
    /// Its points.
    pub points: &'a [Point],
    /// Every figure that was seen so far, in the order of the rows.
    pub figures: Vec<Figure>,
    /// What a reader has to know.
    pub findings: Vec<Finding>,
    /// Metrics that were found in some run.
    found: BTreeSet<String>,
    /// Why the others were not, in the first run.
    missing: BTreeMap<String, String>,
    /// Who starts the programs.
    starter: Starter,
    interrupts: &'a Interrupts,
    /// The environment without any allocator.
    environment: Vec<(OsString, OsString)>,
    /// For what programs print.
    place: tempfile::TempDir,
    random: fastrand::Rng,
    began: Option<Instant>,
}

/// What was seen of one run, of a program or a server.
struct Seen {
    run: Run,
    ended: Option<Ended>,
    pid: u32,
    errors: Vec<u8>,
}

/// How the first runs of a participant at a point came out.
pub struct Proven {
    /// What was seen.
    pub proof: Proof,
    /// Why it failed, if it did.
    pub failure: Option<String>,
}

/// Why there is nothing to compare.
#[derive(Debug)]
pub enum Refusal {
    /// No more runs can be made.
    Stop(Stop),
    /// The program cannot be executed: exit status, and why.
    NotExecutable(u8, String),
}

impl From<Stop> for Refusal {
    fn from(stop: Stop) -> Refusal {
        Refusal::Stop(stop)
    }
}

impl<'a> Runner<'a> {
    /// Makes it. The starter has to come from a time when this process had one thread.
    ///
    /// # Errors
    /// When there is no place for temporary files.
    pub fn new(
        plan: &'a Plan,
        points: &'a [Point],
        starter: Starter,
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
            interrupts,
            environment,
            place,
            random: fastrand::Rng::new(),
            began: None,
        })
    }

    /// The runs before the measured ones: the first proves who serves, the others warm up.
    ///
    /// # Errors
    /// When nothing can be run.
    pub fn prove(&mut self, participant: usize, point: usize, progress: &Progress) -> Result<Proven, Refusal> {
        let allocator = &self.plan.participants[participant];
        progress.phase(&format!("proving {}{}", allocator.label, at(&self.points[point])));
        let watching = Watching::begin(allocator).map_err(Stop::Broken)?;
        let seen = self.make(participant, point, &watching.variables())?;
        let ended = seen.ended.unwrap_or(Ended::Exited(0));
        let words = self.plan.words(point, &self.points[point].parameters);
        let variables = self.variables(participant, &[]);
        let judgement = watching.judge(allocator, &words, ended, seen.pid, &seen.errors, &variables);
        let mut proof = Proof {
            participant,
            point,
            served: judgement.served,
            by: judgement.by,
            because: judgement.because,
            memory: judgement.memory,
        };
        let mut failure = seen.run.failure;
        if failure.is_none() && proof.memory.is_some() && self.plan.effort.requested {
            self.learn_requested(&mut proof, progress)?;
        }
        for warmup in 1..self.plan.effort.warmup {
            if failure.is_some() {
                break;
            }
            let rounds = self.plan.effort.warmup;
            progress.phase(&format!("warming up {} ({} of {rounds})", allocator.label, warmup.saturating_add(1)));
            failure = self.make(participant, point, &[])?.run.failure;
        }
        Ok(Proven { proof, failure })
    }

    /// One run more, with the heap profiler, which knows what was asked for. It changes where blocks lie, so that
    /// nothing but the share is taken from it.
    fn learn_requested(&mut self, proof: &mut Proof, progress: &Progress) -> Result<(), Refusal> {
        let allocator = &self.plan.participants[proof.participant];
        let Some(asking) = Watching::for_requested(allocator).map_err(Stop::Broken)? else { return Ok(()) };
        progress.phase(&format!("counting what is asked of {}{}", allocator.label, at(&self.points[proof.point])));
        let seen = self.make(proof.participant, proof.point, &asking.variables())?;
        let words = self.plan.words(proof.point, &self.points[proof.point].parameters);
        let ended = seen.ended.unwrap_or(Ended::Exited(0));
        let variables = self.variables(proof.participant, &[]);
        let judgement = asking.judge(allocator, &words, ended, seen.pid, &seen.errors, &variables);
        if let (None, Some(memory), Some(other)) = (&seen.run.failure, proof.memory, judgement.memory) {
            proof.memory = Some(breakdown::with_requested(memory, &other));
        }
        Ok(())
    }

    /// The variables for a run: the environment, the participant's, and more.
    fn variables(&self, participant: usize, more: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
        let mut variables: BTreeMap<OsString, OsString> = self.environment.iter().cloned().collect();
        variables.extend(self.plan.participants[participant].variables.iter().cloned());
        variables.extend(more.iter().cloned());
        variables.into_iter().collect()
    }

    fn make(&mut self, participant: usize, point: usize, more: &[(OsString, OsString)]) -> Result<Seen, Refusal> {
        let parameters = &self.points[point].parameters;
        let words = self.plan.words(point, parameters);
        let mut variables = self.variables(participant, more);
        program::pad(&mut variables, &mut self.random);
        let order = Order { words: &words, variables: &variables, folder: self.plan.folder.as_deref() };
        let library = self.plan.participants[participant].kind.library().map(|path| path.as_path());
        let seen = match &self.plan.server {
            None => self.program(participant, &order, library),
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
                };
                driver.run(&mut self.starter, &order, library).map(|observed| {
                    for (id, remark) in &observed.remarks {
                        remark_once(&mut self.findings, id, participant, remark);
                    }
                    self.found.extend(observed.metrics.iter().cloned());
                    of_server(observed, &mut self.figures)
                })
            }
        };
        let mut seen = seen.map_err(|failure| match failure {
            Failure::Interrupted => Refusal::Stop(Stop::Interrupted),
            Failure::Broken(error) => Refusal::Stop(Stop::Broken(anyhow!(error).context("a run cannot be made"))),
            Failure::CannotStart(error) => {
                let program = words.first().cloned().unwrap_or_default();
                let (status, cause) = failure::explain(&program, &error);
                Refusal::NotExecutable(status, format!("{}: {cause}", crate::terminal::printable(program)))
            }
        })?;
        seen.run.participant = participant;
        seen.run.point = point;
        Ok(seen)
    }

    /// Notes why metrics are not found in what a program has printed, as long as they never were.
    fn explain_missing(&mut self, output: &[u8], errors: &[u8]) {
        for metric in self.plan.metrics.missing(&self.found) {
            if !self.missing.contains_key(&metric)
                && let Some(why) = self.plan.metrics.why_not(&metric, output, errors)
            {
                self.missing.insert(metric, why);
            }
        }
    }

    /// What the runs have brought to light besides figures.
    pub fn finish(&mut self, comparison: &mut Comparison) {
        comparison.figures = self.figures.clone();
        for metric in self.plan.metrics.missing(&self.found) {
            let why = self.missing.remove(&metric);
            let why = why.unwrap_or_else(|| format!("the metric '{metric}' matched nothing in any run"));
            let finding = Finding { id: "metric_never_matched".to_owned(), text: why, ..Finding::default() };
            comparison.findings.push(finding);
        }
        comparison.findings.append(&mut self.findings);
    }

    fn program(&mut self, participant: usize, order: &Order, library: Option<&Path>) -> Result<Seen, Failure> {
        let effort = &self.plan.effort;
        let observed = program::run(
            &mut self.starter,
            order,
            effort.sample,
            effort.timeout,
            library,
            self.interrupts,
            self.place.path(),
        )?;
        let mut run = Run { figures: program::figures(&observed), ..Run::default() };
        let ended = observed.finished.ended;
        if observed.timed_out {
            run.failure =
                Some(format!("it took longer than {:?}, and was ended; give it longer with --timeout", effort.timeout));
        } else if ended != Ended::Exited(0) && !effort.ignore_failure {
            let said = words::last_line(&observed.errors).map(|line| format!(": {line}")).unwrap_or_default();
            run.failure = Some(format!("it {}{said}", words::ended(ended)));
        } else {
            run.failure = not_mapped(observed.loaded);
        }
        let readings = self.plan.metrics.read(&observed.output, &observed.errors);
        for reading in readings {
            let figure = self.plan.metrics.figure(&reading, None);
            run.figures.insert(figure.id.clone(), reading.value);
            register(&mut self.figures, figure);
            self.found.insert(reading.metric);
        }
        self.explain_missing(&observed.output, &observed.errors);
        run.memory = observed.memory;
        if !observed.finished.left_running.is_empty() {
            self.starter.end_all().map_err(Failure::Broken)?;
            let text =
                "processes of CMD ran on after its end, and were ended before the next run; run it in the foreground";
            remark_once(&mut self.findings, "left_running", participant, text);
        }
        Ok(Seen { run, ended: Some(ended), pid: observed.pid, errors: observed.errors })
    }
}

impl Executor for Runner<'_> {
    fn run(&mut self, job: Job) -> Result<Run, Stop> {
        self.began.get_or_insert_with(Instant::now);
        match self.make(job.participant, job.point, &[]) {
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

/// A server's run, whose figures are known only now.
fn of_server(observed: server::Observed, figures: &mut Vec<Figure>) -> Seen {
    let failure = observed.failure.or_else(|| not_mapped(observed.loaded));
    let mut run = Run { failure, memory: observed.memory, marks: observed.marks, ..Run::default() };
    for (figure, value) in observed.figures {
        run.figures.insert(figure.id.clone(), value);
        register(figures, figure);
    }
    let mut ended = None;
    let mut pid = 0;
    if let Some(finished) = observed.finished {
        ended = Some(finished.ended);
        pid = observed.pid;
        // Of the whole life, in which it waited for the phases: wall time says nothing.
        for mut figure in program::standard_figures() {
            if let (Some(value), true) =
                (program::used(&finished, observed.tree_peak).remove(&figure.id), figure.id != "wall")
            {
                run.figures.insert(figure.id.clone(), value);
                figure.headline = figure.id == "peak_rss";
                register(figures, figure);
            }
        }
    }
    Seen { run, ended, pid, errors: observed.errors }
}

/// A run in which the allocator was looked for and was not there is not the allocator's.
fn not_mapped(loaded: Option<bool>) -> Option<String> {
    (loaded == Some(false)).then(|| "its library was not mapped while it ran".to_owned())
}

/// Notes what a reader has to know, once.
fn remark_once(findings: &mut Vec<Finding>, id: &str, participant: usize, text: &str) {
    let finding = Finding { id: id.to_owned(), participant: Some(participant), point: None, text: text.to_owned() };
    if !findings.contains(&finding) {
        findings.push(finding);
    }
}

/// Keeps figures in the order in which they were first seen.
fn register(figures: &mut Vec<Figure>, figure: Figure) {
    if !figures.iter().any(|known| known.id == figure.id) {
        figures.push(figure);
    }
}

/// " with threads=4", for a message.
fn at(point: &Point) -> String {
    let name = point.name();
    if name.is_empty() { name } else { format!(" with {name}") }
}
