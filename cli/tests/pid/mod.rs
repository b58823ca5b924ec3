//! `jeshim check --pid`: live processes from outside.

mod memory;
mod refusals;
mod verdicts;

use crate::harness::{jeshim, library, plain};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A process that is ended with the test, and its standard output, which it may write on.
struct Live(Child, #[allow(dead_code)] BufReader<ChildStdout>);

impl Live {
    /// Starts a program and waits until it has written a line.
    fn start(command: &mut Command) -> Live {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("a process");
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let read = output.read_line(&mut line);
        assert!(read.is_ok_and(|length| length > 0), "{command:?} ended at once: {:?}", child.try_wait());
        Live(child, output)
    }

    fn check(&self) -> (i32, Value) {
        check(self.0.id())
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A program with the library under it.
fn preloaded(program: impl AsRef<std::ffi::OsStr>) -> Command {
    preloaded_with(&library(), program)
}

fn preloaded_with(library: &Path, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = plain(program);
    command.env("LD_PRELOAD", library);
    command
}

/// Exit status and facts about a process.
fn check(pid: u32) -> (i32, Value) {
    facts(jeshim().args(["check", "--json", "--pid", &pid.to_string()]))
}

fn facts(command: &mut Command) -> (i32, Value) {
    let begun = Instant::now();
    let output = command.output().expect("the command");
    assert!(begun.elapsed() < Duration::from_secs(8), "it waited for the process");
    let facts = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    (output.status.code().expect("a status"), facts)
}

/// The text for people.
fn text(pid: u32) -> String {
    let output = jeshim().args(["check", "--pid", &pid.to_string()]).output().expect("the command");
    String::from_utf8(output.stdout).expect("text")
}

/// Of the object whose path ends so: from where it takes a function.
fn taken(facts: &Value, object: &str, function: &str) -> Value {
    let is_it = |found: &&Value| found["path"].as_str().is_some_and(|path| path.ends_with(object));
    let objects = facts["objects"].as_array().expect("objects");
    let object = objects.iter().find(is_it).unwrap_or_else(|| panic!("no {object} in {facts:#}"));
    let functions = object["takes"].as_array().expect("functions");
    functions
        .iter()
        .find(|found| found["name"] == function)
        .unwrap_or_else(|| panic!("no {function} in {object:#}"))
        .clone()
}

/// The bytes of an owner of private memory.
fn owned(facts: &Value, owner: &str) -> u64 {
    let owners = facts["memory"]["owners"].as_array().expect("owners");
    owners.iter().find(|found| found["owner"] == owner).map_or(0, |found| found["bytes"].as_u64().expect("bytes"))
}

/// Whether the tests are run by root; others cannot change users.
fn is_root() -> bool {
    // SAFETY: geteuid has no preconditions.
    unsafe { libc::geteuid() == 0 }
}

/// A C program that allocates, says so and waits. `MORE` is put into `main`.
fn waits(more: &str) -> String {
    format!(
        "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
         #include <string.h>\n#include <unistd.h>\n\
         int main(int argc, char **argv) {{\n\
         for (int i = 0; i < 1000; i++) memset(malloc(1000), 1, 1000);\n\
         {more}\nputs(\"ready\"); fflush(stdout); alarm(120); for (;;) pause(); }}\n"
    )
}
