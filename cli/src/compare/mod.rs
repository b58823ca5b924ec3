//! `jeshim compare`: which allocator is better for this program.
//!
//! | module | what it does |
//! |---|---|
//! | [`plan`] | what is compared and how, from what was typed; [`scenario`] the same from a file |
//! | [`allocators`] | which there are, and what a program is run with for each |
//! | [`proof`] | whether a participant's allocator really serves the program |
//! | [`schedule`] | which runs, in which order, and when it is enough; [`runner`] makes them |
//! | [`execute`] | one run: a program or a server, and its figures; [`metrics`] those of the program itself |
//! | [`breakdown`] | where the memory went, for jemalloc |
//! | [`results`] | what was measured; [`analysis`] what follows from it, by [`statistics`]; [`against`] an older result |
//! | [`report`] | tables, files, the page with plots; [`progress`] what is shown until then |

pub mod against;
pub mod allocators;
pub mod analysis;
pub mod breakdown;
pub mod execute;
pub mod metrics;
pub mod plan;
mod preparation;
pub mod progress;
pub mod proof;
pub mod report;
pub mod results;
pub mod runner;
pub mod scenario;
pub mod schedule;
pub mod statistics;
pub mod surroundings;
pub mod workloads;

use crate::arguments::Compare;
use crate::terminal::{BAD, NOTE, say};
use crate::verdict::UNUSABLE;
use jeshim_host::interrupts::Interrupts;
use jeshim_host::launch;
use jeshim_host::starter::Starter;
use plan::Plan;
use progress::Progress;
use results::{Comparison, FORMAT};
use runner::Runner;
use scenario::Scenario;
use std::process::ExitCode;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Exit status when a participant was not compared.
const INCOMPLETE: u8 = 1;

/// Runs the command.
///
/// # Errors
/// When it cannot do its work: exit status 125.
pub fn main(arguments: &Compare) -> anyhow::Result<ExitCode> {
    if arguments.list {
        return allocators::show_list(arguments.lib.as_deref());
    }
    // Before anything else: they are to be small, and this process has one thread now.
    let starter = || Starter::new().map_err(|error| anyhow::anyhow!("no process for the programs: {error}; try again"));
    let starters = (starter()?, starter()?);
    // They have noted the caller's; with SIGCHLD ignored, children of this process would vanish without a status.
    launch::default_sigchld()?;
    let older = arguments.output.against.as_deref().map(against::read).transpose()?;
    let plan = plan(arguments)?;
    report::can_write(&arguments.output)?;
    let (environment, warnings) = allocators::base_environment();
    for warning in warnings {
        say(NOTE, "jeshim:", warning);
    }
    let interrupts = Interrupts::hold();
    let points = plan.points();
    let mut runner = Runner::new(&plan, &points, starters, &interrupts, environment)?;
    let mut comparison = begin(&plan, &points);
    let began = Instant::now();
    let progress = Progress::new(arguments.output.quiet);
    let left_out = match preparation::prepare(&mut runner, &mut comparison, &progress) {
        Ok(left_out) => left_out,
        Err(preparation::End::Interrupted) => {
            progress.finish();
            say(NOTE, "jeshim:", "interrupted before anything was measured");
            return Ok(ExitCode::from(launch::INTERRUPTED));
        }
        Err(preparation::End::Refused(status, why)) => {
            progress.finish();
            say(BAD, "jeshim:", why);
            return Ok(ExitCode::from(status));
        }
    };
    let mut show = |now: &schedule::Progress| {
        let participant = plan.participants.get(now.job.participant).map_or("", |allocator| &allocator.label);
        let point = points.get(now.job.point).map(results::Point::name).unwrap_or_default();
        let what: Vec<&str> = [participant, &point].into_iter().filter(|part| !part.is_empty()).collect();
        progress.run(now.done as u64, now.expected as u64, now.left, &what.join(", "));
    };
    let skip = |participant, point| left_out.contains(&(participant, point));
    let result = schedule::run(&mut runner, &plan.effort, &mut comparison, &skip, &mut show);
    progress.finish();
    // What was measured until then is shown all the same.
    comparison.broken = result.err().map(|error| format!("{error:#}"));
    runner.finish(&mut comparison);
    comparison.took = began.elapsed().as_secs_f64();
    if let Some((before, _)) = comparison.machine.load {
        comparison.machine.load = Some((before, surroundings::load().unwrap_or(before)));
    }
    drop(runner);
    // Nothing is left to be ended in good order, and a reader of the report may take for ever.
    interrupts.release();
    let shown = report::show(&comparison, older.as_ref(), &arguments.output);
    if let Some(broken) = &comparison.broken {
        say(BAD, "jeshim:", format_args!("{broken}; what was measured until then is kept"));
    }
    shown?;
    Ok(match () {
        () if comparison.broken.is_some() => ExitCode::from(UNUSABLE),
        () if comparison.interrupted => ExitCode::from(launch::INTERRUPTED),
        () if preparation::is_incomplete(&comparison) => ExitCode::from(INCOMPLETE),
        () => ExitCode::SUCCESS,
    })
}

/// What is compared, from the scenario and from what was typed.
fn plan(arguments: &Compare) -> anyhow::Result<Plan> {
    let scenario = arguments.scenario.as_deref().map(Scenario::read).transpose()?;
    let specs = plan::participants(arguments, scenario.as_ref());
    let participants = allocators::parse(&specs, arguments.lib.as_deref());
    let participants = match (&scenario, participants) {
        (Some(scenario), Err(error)) if arguments.participants.is_empty() => {
            return Err(scenario.wrong_participant(&error));
        }
        (_, participants) => participants?,
    };
    plan::plan(arguments, scenario, participants)
}

/// A comparison without runs.
fn begin(plan: &Plan, points: &[results::Point]) -> Comparison {
    let participants = plan.participants.iter().map(|allocator| results::Participant {
        label: allocator.label.clone(),
        allocator: allocator.name.clone(),
        library: allocator.kind.library().cloned(),
        version: allocator.version.clone(),
        variables: allocator
            .variables
            .iter()
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
            .collect(),
    });
    Comparison {
        comparison: FORMAT,
        jeshim: env!("CARGO_PKG_VERSION").to_owned(),
        name: plan.name.clone(),
        description: plan.description.clone(),
        asked: std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect(),
        started: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
        machine: surroundings::machine(),
        participants: participants.collect(),
        baseline: plan.baseline,
        server: plan.server.is_some(),
        points: points.to_vec(),
        precision: plan.effort.precision,
        ..Comparison::default()
    }
}
