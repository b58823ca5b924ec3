//! `jeshim run`.

pub mod failure;
mod preflight;
mod stats;
mod summary;

use crate::arguments::Run;
use crate::library::Library;
use crate::terminal::{BAD, NOTE, say};
use crate::verdict::UNUSABLE;
use crate::{env, presets, settings};
use jeshim_host::launch;
use std::process::{Command, ExitCode};

/// Runs the command.
///
/// # Errors
/// When it cannot do its work: exit status 125.
pub fn main(arguments: &Run) -> anyhow::Result<ExitCode> {
    if arguments.settings.preset.as_deref() == Some("help") {
        return presets::show();
    }
    let library = Library::find(arguments.settings.lib.as_deref())?;
    let settings = settings::compose(&arguments.settings, &library)?;
    for warning in &settings.warnings {
        say(NOTE, "jeshim:", warning);
    }
    if arguments.print_env {
        env::print(&env::sh::assignments(&settings.variables))?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some((program, rest)) = arguments.command.split_first() else {
        anyhow::bail!("there is no program to run; write it behind --, as in 'jeshim run -- redis-server'");
    };
    let mut obstacles = Vec::new();
    if !arguments.force || arguments.stats {
        obstacles = preflight::obstacles(program, rest, &settings, &library);
    }
    if !arguments.force && !obstacles.is_empty() {
        for obstacle in obstacles {
            say(BAD, "jeshim:", format_args!("{}; {}", obstacle.cause, obstacle.remedy));
        }
        say(NOTE, "jeshim:", "nothing was started; --force starts it all the same");
        return Ok(ExitCode::from(UNUSABLE));
    }
    let mut command = Command::new(program);
    command.args(rest).envs(settings.variables.iter().map(|(name, value)| (name, value)));
    if arguments.stats {
        return stats::run(&mut command, &settings, obstacles.into_iter().next());
    }
    let error = launch::replace(&mut command);
    Ok(failure::report(program, &error))
}
