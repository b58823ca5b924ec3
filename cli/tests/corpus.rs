//! Real programs of Debian, each with the verdict that it must get from `check -- CMD` and `check --file`
//! (`corpus/programs.jsonl`): a wrong verdict is a failure, whichever way it is wrong. The verdicts were found without
//! `check`: with strace and a preloaded library that notes who asks it for a block.
//!
//! A program that is not installed is skipped, and named on standard error; with `CORPUS_COMPLETE=1` it is a
//! failure. `CORPUS=text` runs only the programs with that text in their name.
//!
//! Not in it, for want of a package that works without the network: flatpak and snap.

mod built;
mod program;
mod run;

use program::Program;
use std::collections::VecDeque;
use std::io::Write;
use std::sync::Mutex;

/// What came of one program.
enum Outcome {
    Right,
    /// Why it was not run.
    Skipped(String),
    /// What was expected, and what came.
    Wrong(Vec<String>),
}

/// Many of them wait, and for more than two at a time there are not enough processors.
const AT_A_TIME: usize = 2;

#[test]
fn every_program_of_the_corpus_gets_its_verdict() {
    let only = std::env::var("CORPUS").unwrap_or_default();
    let programs = Program::all().into_iter().filter(|program| program.name.contains(&only));
    let queue: Mutex<VecDeque<Program>> = Mutex::new(programs.collect());
    let outcomes = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().expect("no panic").pop_front();
                    let Some(program) = next else { return };
                    let outcome = run::outcome(&program);
                    outcomes.lock().expect("no panic").push((program, outcome));
                }
            });
        }
    });
    run::clean_up();
    let outcomes = outcomes.into_inner().expect("no panic");
    let mut wrong = Vec::new();
    let mut skipped = Vec::new();
    for (program, outcome) in &outcomes {
        match outcome {
            Outcome::Right => {}
            Outcome::Skipped(why) => skipped.push(format!("{}: {why}", program.name)),
            Outcome::Wrong(verdicts) => wrong.extend(verdicts.iter().map(|verdict| {
                format!("{}: {verdict}\n    because: {}\n    {}", program.name, program.why, program.run.join(" "))
            })),
        }
    }
    let right = outcomes.len() - skipped.len();
    // Past the test runner, which shows the output of failed tests only.
    let mut stderr = std::io::stderr();
    let _ = writeln!(stderr, "corpus: {right} programs run, {} skipped", skipped.len());
    for line in &skipped {
        let _ = writeln!(stderr, "corpus: skipped {line}");
    }
    assert!(wrong.is_empty(), "{} wrong verdicts:\n\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(
        skipped.is_empty() || std::env::var_os("CORPUS_COMPLETE").is_none(),
        "not all programs could be run:\n{}",
        skipped.join("\n")
    );
}
