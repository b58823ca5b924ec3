//! `jeshim check`: runs a command on the library, watches what becomes of it, reads what each process wrote about itself,
//! and judges. `--file` stops before running, and `--pid` (module [`crate::live`]) looks at what runs already.

pub mod judgement;
pub mod processes;
pub mod show;
pub mod standing;

use crate::arguments::Check;
use crate::examine::{self, Depth, Effect, Examination, ExamineError, Surroundings};
use crate::library::Library;
use crate::record::Record;
use crate::run::failure;
use crate::terminal::{BAD, NOTE, count, printable, say};
use crate::verdict::{NOT_EXECUTABLE, NOT_FOUND, Verdict};
use crate::{live, presets, records, settings, terminal};
use anyhow::{Context, bail};
use indicatif::ProgressBar;
use jeshim_host::interrupts::Interrupts;
use jeshim_host::launch::{self, Ended};
use jeshim_host::watch::Watch;
use jeshim_host::{preload, process};
use judgement::Judgement;
use processes::Processes;
use show::Report;
use standing::{Judge, Reason, Standing};
use std::ffi::OsString;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// How often the tree is looked at: the kernel keeps some thousand events in between.
const INTERVAL: Duration = Duration::from_millis(10);

/// Runs the command.
///
/// # Errors
/// When it cannot do its work: exit status 125.
pub fn main(arguments: &Check) -> anyhow::Result<ExitCode> {
    if arguments.settings.report.is_some() {
        bail!("--report cannot be used with check, which has records of its own; use jeshim run --report");
    }
    if arguments.settings.preset.as_deref() == Some("help") {
        return presets::show();
    }
    if let Some(path) = &arguments.output {
        // Before the program has run for nothing.
        terminal::can_write(path)?;
    }
    if let Some(pid) = arguments.pid {
        return live::main(arguments, pid);
    }
    let library = Library::find(arguments.settings.lib.as_deref())?;
    let variables = std::env::vars_os().collect();
    let around = Surroundings { library: Some(&library), variables };
    let (examination, command) = match (&arguments.file, arguments.command.split_first()) {
        (Some(file), _) => (examine::file(file, &around), None),
        // What takes time to search is searched afterwards, of the programs that were seen to run.
        (None, Some((program, rest))) => {
            (examine::command(program, rest, &around, Depth::Tables), Some((program, rest)))
        }
        (None, None) => bail!("nothing to check; name a command, --pid or --file (jeshim check --help)"),
    };
    let examination = match examination {
        Ok(examination) => examination,
        Err(error) => return cannot_examine(&error, arguments, command.is_some()),
    };
    let report = match command {
        None => Report::of_file(judge_file(&examination), &library, examination),
        Some((program, rest)) => {
            match examination.obstacles.iter().find(|obstacle| obstacle.effect == Effect::Breaks) {
                Some(obstacle) => {
                    let mut reason = Reason::of(obstacle);
                    reason.cause.push_str("; it was not run");
                    Report::of_file(Judgement::new(Verdict::NotServed, &reason), &library, examination)
                }
                None => match run(arguments, program, rest, &library, examination)? {
                    Ok(report) => report,
                    Err(status) => return Ok(status),
                },
            }
        }
    };
    print(&report, arguments)?;
    Ok(ExitCode::from(report.judgement.verdict.status()))
}

fn cannot_examine(error: &ExamineError, arguments: &Check, is_command: bool) -> anyhow::Result<ExitCode> {
    match error {
        ExamineError::NotFound(_) | ExamineError::NotExecutable { .. } if is_command => {
            say(BAD, "NOT STARTED:", error);
            let is_missing = matches!(error, ExamineError::NotFound(_));
            Ok(ExitCode::from(if is_missing { NOT_FOUND } else { NOT_EXECUTABLE }))
        }
        _ => {
            let judgement = Judgement {
                verdict: Verdict::CouldNotTell,
                id: Some("unreadable"),
                cause: error.to_string(),
                remedy: None,
            };
            let report = Report {
                judgement,
                ended: None,
                library: String::new(),
                file: None,
                processes: Vec::new(),
                may_have_missed: None,
                notes: Vec::new(),
            };
            print(&report, arguments)?;
            Ok(ExitCode::from(Verdict::CouldNotTell.status()))
        }
    }
}

/// What can be said from files alone: never "served", since nothing was seen to be.
fn judge_file(examination: &Examination) -> Judgement {
    let name = examination.steps.last().map_or_else(String::new, |step| printable(&step.path));
    let Some(obstacle) = examination.obstacles.iter().min_by_key(|obstacle| obstacle.effect) else {
        return Judgement {
            verdict: Verdict::CouldNotTell,
            id: None,
            cause: format!("nothing in the file of {name} stands in the way; only a run proves that it is served"),
            remedy: Some(format!("run it: jeshim check -- {name}")),
        };
    };
    let verdict = match obstacle.effect {
        Effect::Breaks | Effect::Prevents => Verdict::NotServed,
        Effect::Part => Verdict::InPart,
        Effect::Unsure => Verdict::CouldNotTell,
    };
    Judgement::new(verdict, &Reason::of(obstacle))
}

/// Runs the command and gives the report, or the status to exit with when it could not be started.
fn run(
    arguments: &Check,
    program: &OsString,
    rest: &[OsString],
    library: &Library,
    examination: Examination,
) -> anyhow::Result<Result<Report, ExitCode>> {
    let folder = records::Folder::new()?;
    let mut asked = arguments.settings.clone();
    asked.report = Some(folder.template());
    let settings = settings::compose(&asked, library)?;
    for warning in &settings.warnings {
        say(NOTE, "jeshim:", warning);
    }
    let mut command = Command::new(program);
    command.args(rest).envs(settings.variables.iter().map(|(name, value)| (name, value)));
    if arguments.json && arguments.output.is_none() {
        // Standard output is for the facts then.
        command.stdout(Stdio::from(std::io::stderr()));
    }
    let mut watch = Watch::begin(&library.path);
    let mut child = match launch::start(&mut command) {
        Ok(child) => child,
        Err(error) => {
            let (status, cause) = failure::explain(program, &error);
            say(BAD, "NOT STARTED:", format_args!("{} could not be executed: {cause}", printable(program)));
            return Ok(Err(ExitCode::from(status)));
        }
    };
    let mut processes = Processes::new(child.pid());
    let environment = |pid: u32| {
        let preload = process::variable(pid, preload::VARIABLE)?;
        Some(
            preload.is_some_and(|value| preload::names(&value).any(|name| preload::is_ours(name, Some(&library.path)))),
        )
    };
    // At once: where /proc is looked at, a program may not live for as long as the interval.
    processes.take(watch.events(child.pid()), environment);
    let ended = loop {
        let ended = child.wait_for(INTERVAL).context("the program cannot be waited for")?;
        processes.take(watch.events(child.pid()), environment);
        if let Some(ended) = ended {
            break ended;
        }
    };
    while watch.waits() {
        std::thread::sleep(INTERVAL);
        processes.take(watch.events(child.pid()), environment);
    }
    processes.root_ended(ended);
    follow(arguments.follow, &mut processes, &mut watch, environment);
    processes.complete(examination.steps.last().map(|step| step.path.as_path()));
    let mut records = Record::read_all(&folder.path()).unwrap_or_default();
    // Where another copy of the library is loaded too, both write.
    let ours = |record: &Record| std::fs::canonicalize(&record.library).map_or(true, |path| path == library.path);
    let others = records.extract_if(.., |record| !ours(record)).count();
    let nobodys = processes.assign(records, watch.is_exact());
    let mut report = report(arguments, &processes, library, examination, ended);
    report.judgement = report.judgement.in_the_dark(&watch.dark());
    report.may_have_missed = watch.missed();
    if nobodys > 0 {
        let records = count(nobodys as u64, "record", "records");
        report
            .notes
            .push(format!("{records} left out: no process of the tree that mapped the library has written them"));
    }
    if others > 0 {
        let records = count(others as u64, "record", "records");
        report
            .notes
            .push(format!("{records} left out: another copy of the library has written them, which is loaded as well"));
    }
    Ok(Ok(report))
}

/// Waits for what the program has left running.
fn follow(
    patience: Duration,
    processes: &mut Processes,
    watch: &mut Watch,
    environment: impl Fn(u32) -> Option<bool> + Copy,
) {
    let until = Instant::now().checked_add(patience);
    let progress = ProgressBar::new_spinner();
    let mut left = patience;
    // Ctrl-C ends the waiting, and what was seen by then is judged.
    let interrupts = Interrupts::hold();
    while processes.running() > 0 && !left.is_zero() && !interrupts.arrived() {
        let running = count(processes.running() as u64, "process", "processes");
        progress.set_message(format!("following {running}, {} s left", left.as_secs().saturating_add(1)));
        progress.tick();
        std::thread::sleep(INTERVAL.min(left));
        processes.take(watch.events(processes.root), environment);
        left = until.map_or(patience, |until| until.saturating_duration_since(Instant::now()));
    }
    progress.finish_and_clear();
}

fn report(
    arguments: &Check,
    processes: &Processes,
    library: &Library,
    examination: Examination,
    ended: Ended,
) -> Report {
    let strips = std::env::var_os("JESHIM_CHILDREN").is_some_and(|value| value == "strip");
    let mut judge = Judge::new(library, &examination, arguments.settings.no_children || strips);
    let asked = processes.asked();
    let standings: Vec<Standing> =
        processes.images.iter().enumerate().map(|(index, image)| judge.standing(image, Some(index) == asked)).collect();
    let file = examination.steps.first().map(|step| step.path.as_path());
    let typed = arguments.command.first().cloned().unwrap_or_default();
    let judgement = judgement::judge(processes, &standings, file, &typed);
    let mut notes = Vec::new();
    // What is known of each program, once; that of a shell that only starts others, less so.
    for (image, standing) in processes.images.iter().zip(&standings) {
        if matches!(standing, Standing::Served | Standing::Part(_) | Standing::Unknown(_))
            && let Some(file) = image.program.as_deref().and_then(|program| judge.file(program))
        {
            let new = file.notes.iter().filter(|note| !notes.contains(*note)).cloned().collect::<Vec<_>>();
            notes.extend(new);
        }
    }
    if processes.running() > 0 {
        let running = count(processes.running() as u64, "process", "processes");
        notes.push(format!(
            "{running} of the tree run still (--for TIME follows them); what they start will find no folder for its record, and \
             say so on stderr"
        ));
    }
    Report {
        judgement,
        ended: Some(show::ended_in_words(ended)),
        library: printable(&library.path),
        file: Some(examination),
        processes: show::rows(processes, &standings),
        may_have_missed: None,
        notes,
    }
}

fn print(report: &Report, arguments: &Check) -> anyhow::Result<()> {
    let text = if arguments.json { serde_json::to_string_pretty(report)? + "\n" } else { report.text(arguments.all) };
    // Of a command, standard output is the command's.
    let to_stdout = arguments.json || arguments.file.is_some();
    terminal::write_report(&text, arguments.output.as_deref(), to_stdout)
}
