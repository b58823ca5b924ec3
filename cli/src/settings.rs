//! What a program is run with: the variables that [`crate::arguments::Settings`] come to.

use crate::arguments;
use crate::library::Library;
use std::ffi::OsString;

/// The variables to set, in the order in which they are printed; whatever else is in the environment stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// LD_PRELOAD (DYLD_INSERT_LIBRARIES): the library, then what was there.
    pub variables: Vec<(&'static str, OsString)>,
}

/// Composes and checks the settings.
///
/// # Errors
/// An unknown preset or option, with the nearest name; a value that the option does not take; a path that the loader
/// cannot be given.
pub fn compose(asked: &arguments::Settings, library: &Library) -> anyhow::Result<Settings> {
    let _ = (asked, library);
    todo!()
}
