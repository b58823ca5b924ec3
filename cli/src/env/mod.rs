//! `jeshim env`: the settings as text to paste. Each format is a module, tested with its real parser.

mod container;
mod launchd;
pub mod sh;
mod supervisord;
mod systemd;

use crate::arguments::{Env, Format};
use crate::library::{Library, System};
use crate::presets;
use crate::settings::{self, Surroundings};
use crate::terminal::{NOTE, printable, say};
use anyhow::{Context, bail};
use jeshim_host::preload;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Name and value.
type Variable = (&'static str, OsString);

/// Runs the command.
///
/// # Errors
/// When it cannot do its work: exit status 125.
pub fn main(arguments: &Env) -> anyhow::Result<ExitCode> {
    if arguments.settings.preset.as_deref() == Some("help") {
        return presets::show();
    }
    let library = Library::find(arguments.settings.lib.as_deref())?;
    let format = arguments.format;
    // A service or a container begins with its own environment, not with this shell's.
    let around = match format {
        Format::Sh | Format::Fish => Surroundings::of_this_process(),
        _ => Surroundings::default(),
    };
    let report = arguments.settings.report.as_deref();
    if is_elsewhere(format) && report.is_some_and(|path| !path.is_absolute()) {
        bail!("--report: the program will run elsewhere; name an absolute path of that place");
    }
    let settings = settings::compose_upon(&arguments.settings, &library, &around)?;
    for warning in &settings.warnings {
        say(NOTE, "jeshim:", warning);
    }
    print(&text(format, &library, settings.variables)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes text that is to be pasted, or read by a shell: less than all of it is worth nothing.
pub(crate) fn print(text: &[u8]) -> anyhow::Result<()> {
    std::io::stdout()
        .write_all(text)
        .context("standard output cannot be written; send it to a file with room, or to a program that reads all of it")
}

/// Whether the library will have another path there than here.
fn is_elsewhere(format: Format) -> bool {
    matches!(format, Format::Docker | Format::Compose | Format::K8s | Format::Launchd)
}

fn text(format: Format, library: &Library, mut variables: Vec<Variable>) -> anyhow::Result<Vec<u8>> {
    let there = match format {
        Format::Docker | Format::Compose => Some(container::PATH),
        Format::K8s => Some(container::POD_PATH),
        Format::Launchd if library.target.system != System::MacOs => Some(launchd::PATH),
        _ => None,
    };
    for (name, value) in &mut variables {
        if let Some(there) = there
            && *name == preload::VARIABLE
        {
            *value = there.into();
        }
        if format == Format::Launchd && *name == preload::VARIABLE {
            *name = "DYLD_INSERT_LIBRARIES";
        }
    }
    let path = &library.path;
    Ok(match format {
        Format::Sh => sh::exports(&variables),
        Format::Fish => sh::fish(&variables),
        Format::Systemd => systemd::drop_in(&variables)?.into_bytes(),
        Format::Docker => container::dockerfile(path, &variables)?.into_bytes(),
        Format::Compose => container::compose(path, &variables)?.into_bytes(),
        Format::K8s => container::kubernetes(path, &variables)?.into_bytes(),
        Format::Supervisord => supervisord::line_of(&variables)?.into_bytes(),
        Format::Launchd => launchd::keys(&variables)?.into_bytes(),
    })
}

/// A value that a line of a file can hold.
fn line<'a>(name: &str, value: &'a OsStr) -> anyhow::Result<&'a str> {
    let Some(text) = value.to_str() else {
        bail!("{name}: {} is not UTF-8, which this format asks for; choose another path", printable(value));
    };
    if text.chars().any(char::is_control) {
        bail!("{name}: a line break or another control character in '{}'; choose another path", printable(value));
    }
    Ok(text)
}

/// The path as it is shown in a comment.
fn comment(path: &Path) -> String {
    printable(path)
}
