//! The commands that drive a server: phases, the probe, the question whether it is ready.

use super::running::Running;
use super::{INTERVAL, Step};
use crate::compare::execute::program::{self, Failure, Order, take};
use crate::compare::execute::words::{ended, last_line};
use crate::compare::plan::{Ready, fill};
use jeshim_host::launch::Ended;
use jeshim_host::starter::Finished;
use std::time::{Duration, Instant};

/// What a command printed.
#[derive(Default)]
pub(super) struct Printed {
    pub(super) output: Vec<u8>,
    pub(super) errors: Vec<u8>,
    pub(super) took: Duration,
}

impl Running<'_, '_> {
    /// Runs a shell command to its end; `option` is the one that gives it longer. Whatever it leaves running is ended.
    pub(super) fn shell(&mut self, command: &str, what: &str, timeout: Duration, option: &str) -> Step<Printed> {
        let mut parameters = self.driver.parameters.to_vec();
        parameters.push(("pid".to_owned(), self.pid.to_string()));
        if let Ready::Port(port) = self.driver.server.ready {
            parameters.push(("port".to_owned(), port.to_string()));
        }
        let words = ["/bin/sh".into(), "-c".into(), fill(command, &parameters).into()];
        let order =
            Order { words: &words, variables: self.driver.environment, folder: self.driver.folder, input: None };
        let (output, errors) = (self.driver.place.join("phase.out"), self.driver.place.join("phase.err"));
        program::start(self.helper, &order.printing_to(&output, &errors))?;
        let waited = self.wait(what, timeout, option);
        self.helper.end_all().map_err(Failure::Broken)?;
        let finished = match waited? {
            Ok(finished) => finished,
            Err(failure) => return Ok(Err(failure)),
        };
        let output = take(&output).map_err(Failure::Broken)?;
        let errors = take(&errors).map_err(Failure::Broken)?;
        if finished.ended == Ended::Exited(0) {
            return Ok(Ok(Printed { output, errors, took: finished.wall }));
        }
        let said = last_line(&errors).or_else(|| last_line(&output));
        let said = said.map(|line| format!(": {line}")).unwrap_or_default();
        Ok(Err(format!("{what} {}{said}; mend the command", ended(finished.ended))))
    }

    /// Waits for the end of the command, or of the server.
    fn wait(&mut self, what: &str, timeout: Duration, option: &str) -> Step<Finished> {
        let began = Instant::now();
        loop {
            if let Some(finished) = self.helper.wait(Some(INTERVAL)).map_err(Failure::Broken)? {
                return Ok(Ok(finished));
            }
            if began.elapsed() > timeout {
                return Ok(Err(format!("{what} took longer than {timeout:?}; give it longer with {option}")));
            }
            if let Err(failure) = self.is_there(&format!("during {what}"), Duration::ZERO)? {
                return Ok(Err(failure));
            }
        }
    }
}
