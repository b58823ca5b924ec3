//! The commands that drive a server: phases, the probe, the question whether it is ready.

use super::Step;
use super::running::Running;
use crate::compare::execute::program::Failure;
use crate::compare::execute::words::last_line;
use crate::compare::plan::{Ready, fill};
use jeshim_host::launch;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How often it is asked whether a command has ended, whose time is taken.
const SHORT: Duration = Duration::from_millis(2);

/// What a command printed.
pub(super) struct Printed {
    pub(super) output: Vec<u8>,
    pub(super) errors: Vec<u8>,
    pub(super) took: Duration,
}

impl Running<'_, '_> {
    /// Runs a shell command to its end.
    pub(super) fn shell(&mut self, command: &str, what: &str, timeout: Duration) -> Step<Printed> {
        let mut parameters = self.driver.parameters.to_vec();
        parameters.push(("pid".to_owned(), self.pid.to_string()));
        if let Ready::Port(port) = self.driver.server.ready {
            parameters.push(("port".to_owned(), port.to_string()));
        }
        let files = [self.driver.place.join("phase.out"), self.driver.place.join("phase.err")];
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &fill(command, &parameters)]);
        shell.env_clear().envs(self.driver.environment.iter().map(|(name, value)| (name, value)));
        if let Some(folder) = self.driver.folder {
            shell.current_dir(folder);
        }
        let began = Instant::now();
        let mut child = match spawn(&mut shell, &files) {
            Ok(child) => child,
            Err(error) => return Err(Failure::Broken(error)),
        };
        let mut wait = || -> Step<ExitStatus> {
            loop {
                if let Some(status) = child.try_wait().map_err(Failure::Broken)? {
                    return Ok(Ok(status));
                }
                if began.elapsed() > timeout {
                    return Ok(Err(format!("{what} took longer than {timeout:?}; give it longer with --timeout")));
                }
                if let Err(failure) = self.is_there(&format!("during {what}"), SHORT)? {
                    return Ok(Err(failure));
                }
            }
        };
        let status = wait();
        let took = began.elapsed();
        // What it has left, or the command itself.
        launch::end_group(child.id());
        let _ = child.wait();
        let read = |file: &PathBuf| std::fs::read(file).unwrap_or_default();
        let printed = Printed { output: read(&files[0]), errors: read(&files[1]), took };
        Ok(match status? {
            Err(failure) => Err(failure),
            Ok(status) if status.success() => Ok(printed),
            Ok(status) => {
                let said = last_line(&printed.errors).or_else(|| last_line(&printed.output));
                let said = said.map(|line| format!(": {line}")).unwrap_or_default();
                Err(format!("{what} failed ({status}){said}"))
            }
        })
    }
}

fn spawn(shell: &mut Command, files: &[PathBuf; 2]) -> io::Result<Child> {
    shell
        .stdin(Stdio::null())
        .stdout(File::create(&files[0])?)
        .stderr(File::create(&files[1])?)
        .process_group(0)
        .spawn()
}
