//! The variables that the settings of a participant come to.

use super::Kind;
use super::spec::Spec;
use crate::library::Library;
use crate::terminal::printable;
use crate::{options, presets};
use anyhow::bail;
use std::ffi::OsString;

/// jemalloc's variable.
const MALLOC_CONF: &str = "MALLOC_CONF";

/// `conf=` and `preset=` as jemalloc reads them, the preset first, as `jeshim run` has it; everything else as it is.
///
/// # Errors
/// Options that jemalloc does not have, as far as the library tells; options for another allocator than jemalloc.
pub(super) fn variables(spec: &Spec, kind: &Kind) -> anyhow::Result<Vec<(OsString, OsString)>> {
    let (conf, preset) = (spec.setting("conf"), spec.setting("preset"));
    let whole = spec.without_label();
    match kind {
        Kind::Jeshim(_) => {}
        Kind::Jemalloc(_) if preset.is_none() => {}
        Kind::Jemalloc(_) => bail!("{whole}: presets are jeshim's; write the options: conf=NAME:VALUE,NAME:VALUE"),
        _ if conf.is_some() || preset.is_some() => {
            let key = if conf.is_some() { "conf" } else { "preset" };
            bail!("{whole}: {key}= is for jemalloc and jeshim; settings of other allocators are variables: KEY=VALUE");
        }
        _ => {}
    }
    let typed = spec.setting(MALLOC_CONF);
    if typed.is_some() && (conf.is_some() || preset.is_some()) {
        bail!("{whole}: {MALLOC_CONF} and conf= or preset= are one thing; keep one");
    }
    if let Kind::Jeshim(path) = kind {
        let library = Library::read(path)?;
        for (key, options) in [("conf", conf), (MALLOC_CONF, typed)] {
            if let Err(mistake) = options.map_or(Ok(()), |options| options::check(options, &library)) {
                bail!("{}: {key}=: {mistake}", printable(&spec.target));
            }
        }
    }
    let preset = preset.map(presets::find).transpose()?.map_or("", |preset| preset.conf);
    let parts: Vec<&str> = [preset, conf.unwrap_or("")].into_iter().filter(|part| !part.is_empty()).collect();
    let mut variables = Vec::new();
    if !parts.is_empty() {
        variables.push((MALLOC_CONF.into(), parts.join(",").into()));
    }
    let others = spec.settings.iter().filter(|(key, _)| !matches!(key.as_str(), "conf" | "preset"));
    variables.extend(others.map(|(key, value)| (key.into(), value.into())));
    Ok(variables)
}
