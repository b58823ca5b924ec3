//! What is in a scenario, as a draft.

use super::form::{self, File};
use super::{Scenario, Source};
use crate::arguments::duration;
use crate::compare::metrics::Metrics;
use crate::compare::plan::draft::{Draft, EffortDraft, Given, Need, ReadyDraft, ServerDraft};
use crate::compare::plan::{CommandLine, Parameter, Phase};
use crate::terminal::printable;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::{Spanned, Value};

pub(super) fn scenario(file: File, source: &Source, path: &Path) -> anyhow::Result<Scenario> {
    let with = file.with.into_iter().map(|with| source.given(with)).collect();
    let mut commands = Vec::new();
    if let Some(command) = file.command {
        if let Some(second) = file.commands.first() {
            return Err(super::wrong(
                Some(&source.place(second.span().start)),
                "there are both 'command' and 'commands'; leave one of them",
            ));
        }
        commands.push(command_line(String::new(), source.given(command))?);
    }
    for command in file.commands {
        let form::Command { name, run } = command.into_inner();
        let name = source.given(name);
        let line = command_line(name.value.clone(), source.given(run))?;
        commands.push(Given { place: name.place, ..line });
    }
    let (parameters, constants) = parameters(file.parameters, source)?;
    let server = match file.server {
        Some(server) => {
            let given = source.given(server);
            let place = given.place;
            Some(Given { value: read_server(given.value, source)?, place })
        }
        None => None,
    };
    let draft = Draft {
        name: file.name,
        description: file.description,
        needs: file.needs.into_iter().map(|need| read_need(source.given(need))).collect::<anyhow::Result<_>>()?,
        baseline: file.baseline.map(|baseline| source.given(baseline)),
        commands,
        parameters,
        constants,
        metrics: read_metrics(file.metrics, source)?,
        effort: EffortDraft {
            rounds: file.rounds.map(|rounds| in_range(source.given(rounds), 100_000)).transpose()?,
            warmup: file.warmup.map(|warmup| in_range(source.given(warmup), 1000)).transpose()?,
            precision: file.precision.map(|precision| source.given(precision)),
            budget: time(file.budget, source)?.map(|given| given.value),
            timeout: time(file.timeout, source)?,
            sample: time(file.sample, source)?.map(|given| given.value),
            ignore_failure: file.ignore_failure,
            no_requested: file.no_requested,
            in_part: file.in_part,
        },
        server,
        folder: Some(folder(file.folder, source, path)?),
    };
    Ok(Scenario { with, draft })
}

/// The scenario's own folder, or the one that it names from there; absolute, for programs are started in it.
fn folder(named: Option<Spanned<String>>, source: &Source, path: &Path) -> anyhow::Result<PathBuf> {
    let own = path.parent().unwrap_or(Path::new(""));
    let own = std::path::absolute(if own.as_os_str().is_empty() { Path::new(".") } else { own });
    let own = own.unwrap_or_default();
    let Some(named) = named else { return Ok(own) };
    let named = source.given(named);
    let folder = own.join(&named.value);
    if !folder.is_dir() {
        return Err(named.wrong(format_args!(
            "{} is no folder; name one from the scenario's own folder, or make it",
            printable(&folder)
        )));
    }
    Ok(folder)
}

/// A list is a program and its arguments, a text is the shell's.
fn command_line(name: String, run: Given<Value>) -> anyhow::Result<Given<CommandLine>> {
    let words: Vec<OsString> = match &run.value {
        Value::String(text) if !text.trim().is_empty() => vec!["/bin/sh".into(), "-c".into(), text.into()],
        Value::Array(words) if !words.is_empty() => {
            let words = words.iter().map(|word| scalar(word).map(OsString::from));
            let words: Option<Vec<OsString>> = words.collect();
            words.ok_or_else(|| run.wrong("a word of the command is neither text nor a number; write it in quotes"))?
        }
        _ => {
            return Err(run.wrong(
                "a command is a list, [\"program\", \"argument\"], or a text for the shell; write one of them",
            ));
        }
    };
    Ok(run.with(CommandLine { name, words }))
}

/// A text, or a number as it is written on a command line.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(flag) => Some(flag.to_string()),
        _ => None,
    }
}

type Parameters = Vec<Given<Parameter>>;

/// Lists are compared, single values are constants.
fn parameters(pairs: form::Pairs, source: &Source) -> anyhow::Result<(Parameters, Parameters)> {
    let (mut swept, mut constants) = (Vec::new(), Vec::new());
    for (name, value) in pairs.0 {
        let name = source.given(name);
        let value = source.given(value);
        let is_list = matches!(value.value, Value::Array(_));
        let values: Option<Vec<String>> = match &value.value {
            Value::Array(values) => values.iter().map(scalar).collect(),
            one => scalar(one).map(|one| vec![one]),
        };
        let values = values.ok_or_else(|| {
            value.wrong(format_args!(
                "the parameter '{}' is neither a value nor a list of values; write texts or numbers",
                printable(&name.value)
            ))
        })?;
        let parameter = name.with(Parameter { name: name.value.clone(), values });
        if is_list { swept.push(parameter) } else { constants.push(parameter) }
    }
    Ok((swept, constants))
}

/// `name = "REGEX"`, or `name = { regex = "…", higher-is-better = true }`, or with `json` in place of `regex`.
fn read_metrics(pairs: form::Pairs, source: &Source) -> anyhow::Result<Metrics> {
    let mut metrics = Metrics::default();
    for (name, value) in pairs.0 {
        let name = name.into_inner();
        let value = source.given(value);
        let mut higher = false;
        let added = match &value.value {
            Value::String(regex) => metrics.add_pattern(&name, regex),
            Value::Table(table) => {
                let mut how = None;
                for (key, setting) in table {
                    match (key.as_str(), setting) {
                        ("regex" | "json", Value::String(text)) if how.is_none() => how = Some((key.as_str(), text)),
                        ("higher-is-better", Value::Boolean(flag)) => higher = *flag,
                        _ => {
                            return Err(value.wrong(format_args!(
                                "the metric '{}' has no use for '{}' as it is; it can have regex = \"…\" or json = \"…\", and \
                                 higher-is-better = true",
                                printable(&name),
                                printable(key)
                            )));
                        }
                    }
                }
                match how {
                    Some(("json", path)) => metrics.add_json(&name, path),
                    Some((_, regex)) => metrics.add_pattern(&name, regex),
                    None => Err(format!("the metric '{}' says not where it is; add regex or json", printable(&name))),
                }
            }
            _ => Err(format!("the metric '{}' is no text; write a regular expression", printable(&name))),
        };
        added.map_err(|error| value.wrong(error))?;
        if higher {
            metrics.more_is_better(&name).map_err(|error| value.wrong(error))?;
        }
    }
    Ok(metrics)
}

fn read_need(need: Given<Value>) -> anyhow::Result<Given<Need>> {
    let text = |table: &toml::Table, key: &str| table.get(key)?.as_str().map(str::to_owned);
    let read = match &need.value {
        Value::String(program) => Some(Need { program: program.clone(), remedy: None }),
        Value::Table(table) if table.keys().all(|key| key == "program" || key == "remedy") => {
            text(table, "program").map(|program| Need { program, remedy: text(table, "remedy") })
        }
        _ => None,
    };
    let read = read.filter(|need| !need.program.is_empty());
    read.map(|read| need.with(read)).ok_or_else(|| {
        need.wrong("what is needed is a program's name, or { program = \"…\", remedy = \"…\" }; write one of them")
    })
}

fn read_server(server: form::Server, source: &Source) -> anyhow::Result<ServerDraft> {
    let mut ready = Vec::new();
    if let Some(port) = server.ready_port {
        let port = source.given(port);
        let text = scalar(&port.value).ok_or_else(|| port.wrong("ready-port is no number; write the port"))?;
        ready.push(port.with(ReadyDraft::Port(text)));
    }
    let texts =
        [(server.ready_log, ReadyDraft::Log as fn(String) -> ReadyDraft), (server.ready_cmd, ReadyDraft::Command)];
    for (text, how) in texts {
        if let Some(text) = text {
            let text = source.given(text);
            ready.push(Given { value: how(text.value), place: text.place });
        }
    }
    let phases = server.phases.into_iter().map(|phase| {
        let name = source.given(phase.name);
        name.with(Phase { name: name.value.clone(), command: phase.run.into_inner() })
    });
    Ok(ServerDraft {
        ready,
        ready_timeout: time(server.ready_timeout, source)?.map(|given| given.value),
        phases: phases.collect(),
        probe: server.probe.map(|probe| source.given(probe)),
        settle: time(server.settle, source)?.map(|given| given.value),
        stop_timeout: time(server.stop_timeout, source)?.map(|given| given.value),
    })
}

/// As on the command line: `"500ms"`, `"10s"`, or a number of seconds.
fn time(value: Option<Spanned<Value>>, source: &Source) -> anyhow::Result<Option<Given<Duration>>> {
    let Some(value) = value else { return Ok(None) };
    let value = source.given(value);
    let text =
        scalar(&value.value).ok_or_else(|| value.wrong("not a time; write a number and a unit, as in \"10s\""))?;
    let time = duration(&text).map_err(|error| value.wrong(error))?;
    Ok(Some(value.with(time)))
}

fn in_range(number: Given<u32>, most: u32) -> anyhow::Result<u32> {
    if (1..=most).contains(&number.value) {
        return Ok(number.value);
    }
    Err(number.wrong(format_args!("{} is not from 1 to {most}; take another number", number.value)))
}
