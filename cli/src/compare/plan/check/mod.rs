//! From a draft to a plan: everything that can be known to be wrong is said before the first run.

mod server;

use super::draft::{Draft, EffortDraft, Given, Need};
use super::{CommandLine, Effort, Parameter, Plan, words};
use crate::compare::allocators::Allocator;
use crate::compare::workloads;
use crate::options::nearest;
use crate::terminal::printable;
use anyhow::bail;
use std::collections::BTreeSet;
use std::path::Path;

/// More combinations than anyone would wait for.
const MOST_POINTS: usize = 1000;
/// What jeshim puts in by itself: a server's process, the folder of the workloads.
const OWN: [&str; 2] = ["pid", WORKLOADS];
const WORKLOADS: &str = "workloads";
/// In per cent.
const PRECISION: std::ops::RangeInclusive<f64> = 0.05..=50.0;

impl Draft {
    /// Checks all of it, and puts constants in their places.
    ///
    /// # Errors
    /// The first thing that is wrong: cause and remedy.
    pub(crate) fn check(mut self, participants: Vec<Allocator>) -> anyhow::Result<Plan> {
        let baseline = baseline(self.baseline.as_ref(), &participants)?;
        for need in &self.needs {
            check_need(need, self.folder.as_deref())?;
        }
        check_commands(&self.commands)?;
        self.check_parameters()?;
        let constants = self.constants_filled()?;
        let commands = self.commands.iter().map(|command| self.command(&command.value, &constants)).collect();
        let server = match &self.server {
            Some(server) => {
                let swept: Vec<&str> = self.parameters.iter().map(|parameter| parameter.value.name.as_str()).collect();
                Some(server::checked_server(server, &constants, &swept)?)
            }
            None => None,
        };
        Ok(Plan {
            name: self.name.take(),
            description: self.description.take(),
            participants,
            baseline,
            commands,
            parameters: self.parameters.into_iter().map(|parameter| parameter.value).collect(),
            server,
            metrics: self.metrics,
            effort: checked_effort(&self.effort)?,
            folder: self.folder,
        })
    }

    /// A name, one value at least, none of them twice or empty, and a place for it.
    fn check_parameters(&self) -> anyhow::Result<()> {
        let mut points = self.commands.len();
        let mut names = BTreeSet::new();
        for parameter in self.parameters.iter().chain(&self.constants) {
            let Parameter { name, values } = &parameter.value;
            let shown = printable(name);
            let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
            if !is_name {
                return Err(parameter.wrong(format_args!(
                    "'{shown}' is no name for a parameter; take letters, digits, _ and -, as in -P threads=1,2,4"
                )));
            }
            if OWN.contains(&name.as_str()) {
                return Err(
                    parameter.wrong(format_args!("jeshim itself puts something in for {{{shown}}}; take another name"))
                );
            }
            if !names.insert(name) {
                return Err(
                    parameter.wrong(format_args!("the parameter '{shown}' is there twice; put its values together"))
                );
            }
            if values.is_empty() || values.iter().any(String::is_empty) {
                return Err(parameter.wrong(format_args!(
                    "the parameter '{shown}' has an empty value; write values with commas between, as in {shown}=1,2"
                )));
            }
            let mut seen = BTreeSet::new();
            if let Some(twice) = values.iter().find(|value| !seen.insert(*value)) {
                return Err(parameter.wrong(format_args!(
                    "the parameter '{shown}' has the value '{}' twice; leave one out",
                    printable(twice)
                )));
            }
            if !self.has_a_place_for(name) {
                return Err(parameter
                    .wrong(format_args!("nothing in the command has a place for '{shown}'; write {{{shown}}} there")));
            }
            points = points.saturating_mul(values.len());
        }
        if points > MOST_POINTS {
            bail!("that makes {points} combinations, and {MOST_POINTS} is the limit; leave out values of -P");
        }
        Ok(())
    }

    fn has_a_place_for(&self, name: &str) -> bool {
        let place = format!("{{{name}}}");
        let in_commands = || {
            let words = self.commands.iter().flat_map(|command| &command.value.words);
            words.filter_map(|word| word.to_str()).any(|word| word.contains(&place))
        };
        let in_server = || {
            let server = self.server.as_ref().map(|server| &server.value);
            server.is_some_and(|server| server.texts().any(|text| text.contains(&place)))
        };
        in_commands() || in_server()
    }

    /// The constants, and the folder of the workloads where it is wanted, with what is put in for them.
    fn constants_filled(&self) -> anyhow::Result<Vec<(String, String)>> {
        let mut constants: Vec<(String, String)> = self
            .constants
            .iter()
            .filter_map(|constant| Some((constant.value.name.clone(), constant.value.values.first()?.clone())))
            .collect();
        if self.has_a_place_for(WORKLOADS) {
            let folder = workloads::folder()?;
            constants.push((WORKLOADS.to_owned(), folder.to_string_lossy().into_owned()));
        }
        Ok(constants)
    }

    fn command(&self, command: &CommandLine, constants: &[(String, String)]) -> CommandLine {
        let mut words = words(&command.words, constants);
        // A path in a scenario is meant from its folder, whatever this process's is.
        if let (Some(folder), Some(program)) = (&self.folder, words.first_mut())
            && program.as_encoded_bytes().contains(&b'/')
            && !program.as_encoded_bytes().starts_with(b"/")
        {
            *program = folder.join(&*program).into_os_string();
        }
        let name = if self.commands.len() == 1 { String::new() } else { command.name.clone() };
        CommandLine { name, words }
    }
}

fn baseline(asked: Option<&Given<String>>, participants: &[Allocator]) -> anyhow::Result<usize> {
    if participants.len() < 2 {
        let alone = participants.first().map_or("nobody", |participant| participant.label.as_str());
        bail!("there is nothing to compare: {} takes part; add another --with NAME", printable(alone));
    }
    let Some(asked) = asked else { return Ok(0) };
    let labels = || participants.iter().map(|participant| participant.label.as_str());
    labels().position(|label| label == asked.value).ok_or_else(|| {
        let nearest =
            nearest(&asked.value, labels()).map(|nearest| format!("the nearest is '{nearest}'; ")).unwrap_or_default();
        asked.wrong(format_args!(
            "the baseline '{}' does not take part; {nearest}there are {}",
            printable(&asked.value),
            printable(labels().collect::<Vec<_>>().join(", "))
        ))
    })
}

fn check_need(need: &Given<Need>, folder: Option<&Path>) -> anyhow::Result<()> {
    let Need { program, remedy } = &need.value;
    let is_there = |path: &Path| jeshim_host::executable::may_execute(path) && path.is_file();
    let found = if program.contains('/') {
        is_there(&folder.unwrap_or(Path::new("")).join(program))
    } else {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| is_there(&folder.join(program)))
    };
    if found {
        return Ok(());
    }
    let remedy = remedy.as_deref().map_or_else(|| "install it".to_owned(), printable);
    Err(need.wrong(format_args!("{} is needed and not there; {remedy}", printable(program))))
}

fn check_commands(commands: &[Given<CommandLine>]) -> anyhow::Result<()> {
    let mut names = BTreeSet::new();
    for command in commands {
        let CommandLine { name, words } = &command.value;
        if words.first().is_none_or(|program| program.is_empty()) {
            return Err(command.wrong("a command is empty; write the program and its arguments"));
        }
        if words.iter().any(|word| word.as_encoded_bytes().contains(&0)) {
            return Err(
                command.wrong("a command has a NUL character in it, which no program can be given; take it out")
            );
        }
        if commands.len() > 1 && name.trim().is_empty() {
            return Err(command.wrong("a command has no name; where there are several, each needs one"));
        }
        if !names.insert(name) {
            return Err(command
                .wrong(format_args!("the command '{}' is there twice; give each a name of its own", printable(name))));
        }
    }
    Ok(())
}

fn checked_effort(draft: &EffortDraft) -> anyhow::Result<Effort> {
    let usual = Effort::default();
    let precision = match &draft.precision {
        Some(precision) if !PRECISION.contains(&precision.value) => {
            return Err(precision.wrong(format_args!(
                "a precision of {} per cent cannot be reached or says nothing; take one from {} to {}",
                precision.value,
                PRECISION.start(),
                PRECISION.end()
            )));
        }
        Some(precision) => precision.value / 100.0,
        None => usual.precision,
    };
    let timeout = match &draft.timeout {
        Some(timeout) if timeout.value.is_zero() => {
            return Err(timeout.wrong("a timeout of 0 would end every run at once; leave it out, or name a time"));
        }
        Some(timeout) => timeout.value,
        None => usual.timeout,
    };
    Ok(Effort {
        rounds: draft.rounds,
        warmup: draft.warmup.unwrap_or(usual.warmup),
        precision,
        budget: draft.budget.unwrap_or(usual.budget),
        timeout,
        sample: draft.sample.unwrap_or(usual.sample),
        ignore_failure: draft.ignore_failure,
        in_part: draft.in_part,
        requested: !draft.no_requested,
    })
}
