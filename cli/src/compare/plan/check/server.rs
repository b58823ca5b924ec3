//! How a server is driven.

use crate::compare::metrics;
use crate::compare::plan::draft::{Given, ReadyDraft, ServerDraft};
use crate::compare::plan::{Phase, Ready, Server, fill};
use crate::terminal::printable;
use std::time::Duration;

/// Moments at which memory is read besides the phases.
const RESERVED: [&str; 2] = ["ready", "settled"];

impl ServerDraft {
    /// Everything in it that may have parameters.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let ready = self.ready.iter().map(|ready| match &ready.value {
            ReadyDraft::Port(text) | ReadyDraft::Log(text) | ReadyDraft::Command(text) => text,
        });
        let phases = self.phases.iter().map(|phase| &phase.value.command);
        ready.chain(phases).chain(self.probe.as_ref().map(|probe| &probe.value)).map(String::as_str)
    }
}

pub(super) fn checked_server(
    given: &Given<ServerDraft>,
    constants: &[(String, String)],
    swept: &[&str],
) -> anyhow::Result<Server> {
    let server = &given.value;
    let dashes = if given.place.is_some() { "" } else { "--" };
    let ready = match server.ready.as_slice() {
        [one] => checked_ready(one, constants, swept)?,
        [] => {
            return Err(given.wrong(format_args!(
                "nothing says how the server is known to be ready; add {dashes}ready-port with a port, {dashes}ready-log \
                 with a regular expression, or {dashes}ready-cmd with a command that succeeds then"
            )));
        }
        [_, second, ..] => {
            return Err(second.wrong(format_args!(
                "there are two ways to know that the server is ready; leave one of {dashes}ready-port, {dashes}ready-log \
                 and {dashes}ready-cmd"
            )));
        }
    };
    let mut phases: Vec<Phase> = Vec::new();
    for phase in &server.phases {
        let Phase { name, command } = &phase.value;
        if name.trim().is_empty() || name.chars().any(char::is_control) {
            return Err(phase.wrong("a phase has no name, or control characters in it; give it a name"));
        }
        if RESERVED.contains(&name.as_str()) {
            return Err(
                phase.wrong(format_args!("'{name}' is what jeshim itself calls a moment; give the phase another name"))
            );
        }
        if phases.iter().any(|known| known.name == *name) {
            return Err(phase
                .wrong(format_args!("the phase '{}' is there twice; give each a name of its own", printable(name))));
        }
        if command.trim().is_empty() {
            return Err(
                phase.wrong(format_args!("the phase '{}' has no command; write what is to be run", printable(name)))
            );
        }
        phases.push(Phase { name: name.clone(), command: fill(command, constants) });
    }
    Ok(Server {
        ready,
        ready_timeout: server.ready_timeout.unwrap_or(Duration::from_secs(30)),
        phases,
        probe: server.probe.as_ref().map(|probe| fill(&probe.value, constants)),
        settle: server.settle,
        stop_timeout: server.stop_timeout.unwrap_or(Duration::from_secs(10)),
    })
}

fn checked_ready(ready: &Given<ReadyDraft>, constants: &[(String, String)], swept: &[&str]) -> anyhow::Result<Ready> {
    if let ReadyDraft::Port(text) | ReadyDraft::Log(text) = &ready.value
        && let Some(name) = swept.iter().find(|name| text.contains(&format!("{{{name}}}")))
    {
        return Err(ready.wrong(format_args!(
            "'{name}' has several values, and how the server is known to be ready takes one; ready-cmd takes them all"
        )));
    }
    Ok(match &ready.value {
        ReadyDraft::Port(text) => {
            let filled = fill(text, constants);
            let port = filled.parse().ok().filter(|port| *port != 0);
            Ready::Port(port.ok_or_else(|| {
                ready.wrong(format_args!("'{}' is no port; write a number from 1 to 65535", printable(&filled)))
            })?)
        }
        ReadyDraft::Log(text) => {
            let regex = metrics::compile("the pattern of ready-log", &fill(text, constants));
            Ready::Log(regex.map_err(|error| ready.wrong(error))?)
        }
        ReadyDraft::Command(text) => Ready::Command(fill(text, constants)),
    })
}
