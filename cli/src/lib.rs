//! The command `jeshim`: puts jemalloc under a program that is already built, and proves that it took.
//!
//! | module | what it does |
//! |---|---|
//! | [`arguments`] | what can be typed |
//! | [`run`], [`env`], [`check`], [`live`] (`check --pid`), [`compare`], [`doctor`] | one command each |
//! | [`library`] | where the library is, and what its file says about itself |
//! | [`presets`], [`options`] | jemalloc's options: sets for a purpose, and the check of what was typed
//! | [`record`], [`records`] | what a process on the library wrote about itself, and where
//! | [`elf`] | what an ELF file says about itself |
//! | [`settings`] | the variables that a program is run with |
//! | [`examine`] | what the file of a program tells before it runs |
//! | [`verdict`] | the answer, and its exit status |
//! | [`terminal`] | how facts look on a terminal |
//! | [`packaging`] | completions and manual pages |

pub mod arguments;
pub mod check;
pub mod compare;
pub mod doctor;
pub mod elf;
pub mod env;
pub mod examine;
pub mod library;
pub mod live;
pub mod options;
pub mod packaging;
pub mod presets;
pub mod record;
pub mod records;
pub mod run;
pub mod settings;
pub mod terminal;
pub mod verdict;

use arguments::{Arguments, Command};
use clap::Parser;
use std::process::ExitCode;
use verdict::UNUSABLE;

/// The whole command: from the process's arguments to its exit status.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            // Help and version are asked for; everything else is wrong usage.
            return if error.use_stderr() { ExitCode::from(UNUSABLE) } else { ExitCode::SUCCESS };
        }
    };
    let result = match &arguments.command {
        Command::Run(arguments) => run::main(arguments),
        Command::Env(arguments) => env::main(arguments),
        Command::Check(arguments) => check::main(arguments),
        Command::Compare(arguments) => compare::main(arguments),
        Command::Doctor(arguments) => doctor::main(arguments),
        Command::Completions(arguments) => packaging::completions(arguments),
        Command::Man(arguments) => packaging::man(arguments),
    };
    result.unwrap_or_else(|error| {
        terminal::say(terminal::BAD, "jeshim:", format_args!("{error:#}"));
        ExitCode::from(UNUSABLE)
    })
}
