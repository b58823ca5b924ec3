//! What a program is run with: the variables that [`crate::arguments::Settings`] come to.

use crate::library::Library;
use crate::terminal::printable;
use crate::{arguments, options, presets, records};
use anyhow::{Context, bail};
use jeshim_host::preload;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The variables to set, in the order in which they are printed; whatever else is in the environment stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// LD_PRELOAD (DYLD_INSERT_LIBRARIES): the library, then what was there. MALLOC_CONF, JESHIM_REPORT and
    /// JESHIM_CHILDREN, each when it is asked for.
    pub variables: Vec<(&'static str, OsString)>,
    /// What is wrong with variables that the caller's environment has, one line each: the program starts all the same.
    pub warnings: Vec<String>,
}

/// What the settings are put on top of.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// What is preloaded already.
    pub preload: Option<OsString>,
    /// jemalloc's options that are set already.
    pub malloc_conf: Option<OsString>,
}

impl Surroundings {
    /// Those of this process.
    pub fn of_this_process() -> Surroundings {
        Surroundings {
            preload: std::env::var_os(preload::VARIABLE),
            malloc_conf: std::env::var_os("MALLOC_CONF").filter(|conf| !conf.is_empty()),
        }
    }
}

/// Composes and checks the settings for a program that this process starts.
///
/// # Errors
/// An unknown preset or option, with the nearest name; a value that the option does not take; a path that the loader
/// cannot be given.
pub fn compose(asked: &arguments::Settings, library: &Library) -> anyhow::Result<Settings> {
    compose_upon(asked, library, &Surroundings::of_this_process())
}

/// Composes and checks the settings for a program that somebody else starts.
///
/// # Errors
/// As [`compose`].
pub fn compose_upon(asked: &arguments::Settings, library: &Library, around: &Surroundings) -> anyhow::Result<Settings> {
    let mut settings = Settings { variables: Vec::new(), warnings: Vec::new() };
    if !preload::can_name(&library.path) {
        bail!(
            "{} cannot be preloaded: {}; copy it to another folder, such as /usr/local/lib, and name it with --lib",
            printable(&library.path),
            preload::CANNOT_NAME
        );
    }
    let preloaded = preload::put_first(&library.path, around.preload.as_deref());
    settings.variables.push((preload::VARIABLE, preloaded));
    if let Some(conf) = malloc_conf(asked, library, around, &mut settings.warnings)? {
        settings.variables.push(("MALLOC_CONF", conf));
    }
    if let Some(path) = &asked.report {
        settings.variables.push(("JESHIM_REPORT", report(path)?));
    }
    if asked.no_children {
        settings.variables.push(("JESHIM_CHILDREN", "strip".into()));
    }
    Ok(settings)
}

/// The preset's options, then those that are set already, then those of `--conf`: jemalloc lets later ones win. A
/// preset comes first, although it is typed last: it is where one starts from, and who sets a single option means it.
fn malloc_conf(
    asked: &arguments::Settings,
    library: &Library,
    around: &Surroundings,
    warnings: &mut Vec<String>,
) -> anyhow::Result<Option<OsString>> {
    let preset = asked.preset.as_deref().map(presets::find).transpose()?.map_or("", |preset| preset.conf);
    for conf in &asked.conf {
        options::check(conf, library).map_err(|mistake| anyhow::anyhow!("--conf: {mistake}"))?;
    }
    // A preset is ours, but the library may be another version's.
    options::check(preset, library).context("--preset is not for this library; take the one that came with jeshim")?;
    let mut before = around.malloc_conf.as_deref();
    if let Some(conf) = before
        && let Err(mistake) = options::check(&conf.to_string_lossy(), library)
    {
        warnings.push(format!("MALLOC_CONF in the environment: {mistake}"));
        let goes_on = matches!(mistake, options::Mistake::Value { .. } | options::Mistake::Unknown { .. });
        let is_alone = preset.is_empty() && asked.conf.iter().all(String::is_empty);
        if !goes_on && !is_alone {
            before = None;
            warnings.push("MALLOC_CONF is left out: jemalloc would read nothing behind that mistake".to_owned());
        }
    }
    let parts = [OsStr::new(preset)].into_iter().chain(before).chain(asked.conf.iter().map(OsStr::new));
    let parts: Vec<&OsStr> = parts.filter(|part| !part.is_empty()).collect();
    let is_as_before = parts.as_slice() == around.malloc_conf.as_deref().as_slice();
    Ok((!is_as_before).then(|| parts.join(OsStr::new(","))))
}

/// A path for JESHIM_REPORT: absolute, since programs change their folder, and one that the library takes.
fn report(path: &Path) -> anyhow::Result<OsString> {
    let bytes = path.as_os_str().as_bytes();
    let mut rest = bytes.iter();
    while let Some(byte) = rest.next() {
        if *byte == b'%' && !matches!(rest.next(), Some(b'p' | b'e' | b'%')) {
            bail!("--report {}: a '%' that is none of %p, %e and %%; write %% for a percent sign", printable(path));
        }
    }
    if bytes.is_empty() || bytes.ends_with(b"/") || path.is_dir() {
        bail!("--report {}: that is a folder; name a file in it, such as record-%p.json", printable(path));
    }
    if path.is_absolute() {
        return Ok(path.as_os_str().to_owned());
    }
    let folder = std::env::current_dir().context("--report: this folder is gone; name an absolute path")?;
    // A percent sign in the folder's name is no sign of the path's.
    Ok(Path::new(&records::literally(&folder)).join(path).into_os_string())
}
