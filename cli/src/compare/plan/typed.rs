//! From what was typed to a plan. Options that are given here win over those of a scenario.

use super::draft::{Draft, Given, ReadyDraft, ServerDraft};
use super::{CommandLine, Parameter, Phase, Plan};
use crate::arguments::Compare;
use crate::compare::allocators::Allocator;
use crate::compare::scenario::Scenario;
use crate::compare::workloads;
use crate::terminal::printable;
use anyhow::bail;

/// Who is to take part, as it was typed, or as the scenario says; empty for the usual two.
pub fn participants(arguments: &Compare, scenario: Option<&Scenario>) -> Vec<String> {
    match scenario {
        Some(scenario) if arguments.participants.is_empty() => scenario.participants(),
        _ => arguments.participants.clone(),
    }
}

/// Makes the plan: of what was typed, on top of the scenario where there is one.
///
/// # Errors
/// Whatever is wrong with it, before the first run: cause and remedy; the place in the scenario where it is in that.
pub fn plan(arguments: &Compare, scenario: Option<Scenario>, participants: Vec<Allocator>) -> anyhow::Result<Plan> {
    let mut draft = scenario.map(Scenario::into_draft).unwrap_or_default();
    lay(arguments, &mut draft)?;
    draft.check(participants)
}

/// Puts what was typed into a draft.
fn lay(arguments: &Compare, draft: &mut Draft) -> anyhow::Result<()> {
    if let Some(baseline) = &arguments.baseline {
        draft.baseline = Some(Given::typed(baseline.clone()));
    }
    if !arguments.command.is_empty() {
        let command = CommandLine { name: String::new(), words: arguments.command.clone() };
        draft.commands = vec![Given::typed(command)];
    }
    lay_parameters(&arguments.parameters, draft)?;
    lay_effort(arguments, draft);
    lay_server(arguments, draft)?;
    if draft.commands.is_empty() {
        if let Some(server) = &draft.server {
            return Err(server.wrong("no program is named as the server; write it behind --"));
        }
        draft.commands = workloads::find()?.into_iter().map(Given::typed).collect();
        draft.metrics = workloads::metrics()?;
    }
    draft.metrics = std::mem::take(&mut draft.metrics).and(arguments)?;
    Ok(())
}

fn lay_parameters(typed: &[String], draft: &mut Draft) -> anyhow::Result<()> {
    let mut seen: Vec<String> = Vec::new();
    for text in typed {
        let Some((name, values)) = text.split_once('=') else {
            bail!("'{}' is no parameter; write -P NAME=VALUE,VALUE, and {{NAME}} in CMD", printable(text));
        };
        let values: Vec<String> = values.split(',').map(str::to_owned).collect();
        let parameter = Given::typed(Parameter { name: name.to_owned(), values });
        if seen.iter().any(|seen| seen == name) {
            bail!("the parameter '{}' is there twice; put all its values in one -P, parted by commas", printable(name));
        }
        seen.push(name.to_owned());
        let same = |known: &Given<Parameter>| known.value.name == name;
        // A constant of the scenario stays one as long as it has one value.
        if let Some(constant) = draft.constants.iter().position(same) {
            if parameter.value.values.len() > 1 {
                draft.constants.remove(constant);
            } else if let Some(constant) = draft.constants.get_mut(constant) {
                *constant = parameter;
                continue;
            }
        }
        match draft.parameters.iter_mut().find(|known| known.value.name == name) {
            Some(known) => *known = parameter,
            None => draft.parameters.push(parameter),
        }
    }
    Ok(())
}

fn lay_effort(arguments: &Compare, draft: &mut Draft) {
    let typed = &arguments.effort;
    let effort = &mut draft.effort;
    effort.rounds = typed.rounds.or(effort.rounds);
    effort.warmup = typed.warmup.or(effort.warmup);
    effort.precision = typed.precision.map(Given::typed).or(effort.precision.take());
    effort.budget = typed.budget.or(effort.budget);
    effort.timeout = typed.timeout.map(Given::typed).or(effort.timeout.take());
    effort.sample = typed.sample.or(effort.sample);
    effort.ignore_failure |= typed.ignore_failure;
    effort.no_requested |= typed.no_requested;
    effort.in_part |= typed.in_part;
}

fn lay_server(arguments: &Compare, draft: &mut Draft) -> anyhow::Result<()> {
    let typed = &arguments.server;
    if !typed.server && draft.server.is_none() {
        if let Some(option) = typed.first_given() {
            bail!("{option} is for a server; add --server, or leave it out");
        }
        return Ok(());
    }
    let server = &mut draft.server.get_or_insert_with(|| Given::typed(ServerDraft::default())).value;
    let ready: Vec<Given<ReadyDraft>> = [
        typed.ready_port.map(|port| ReadyDraft::Port(port.to_string())),
        typed.ready_log.clone().map(ReadyDraft::Log),
        typed.ready_cmd.clone().map(ReadyDraft::Command),
    ]
    .into_iter()
    .flatten()
    .map(Given::typed)
    .collect();
    if !ready.is_empty() {
        server.ready = ready;
    }
    let mut seen: Vec<String> = Vec::new();
    for text in &typed.phases {
        let Some((name, command)) = text.split_once('=').filter(|(name, _)| !name.trim().is_empty()) else {
            bail!("the phase '{}' has no name; write --phase NAME=CMD", printable(text));
        };
        if seen.iter().any(|seen| seen == name) {
            bail!("the phase '{}' is there twice; give each a name of its own", printable(name));
        }
        seen.push(name.to_owned());
        let phase = Given::typed(Phase { name: name.to_owned(), command: command.to_owned() });
        match server.phases.iter_mut().find(|known| known.value.name == name) {
            Some(known) => *known = phase,
            None => server.phases.push(phase),
        }
    }
    server.probe = typed.probe.clone().map(Given::typed).or(server.probe.take());
    server.settle = typed.settle.or(server.settle);
    server.ready_timeout = typed.ready_timeout.or(server.ready_timeout);
    server.stop_timeout = typed.stop_timeout.or(server.stop_timeout);
    Ok(())
}
