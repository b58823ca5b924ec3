//! What stands in the way of a program before it starts, as far as its files tell.

use crate::examine::{self, Depth, Effect, Obstacle};
use crate::library::Library;
use crate::settings::Settings;
use std::ffi::{OsStr, OsString};

/// What makes it pointless to start the program on the library. What takes away a part, or is not sure, is not in it; and
/// neither is a program that cannot be started at all: the system says that better.
pub(super) fn obstacles(
    program: &OsStr,
    arguments: &[OsString],
    settings: &Settings,
    library: &Library,
) -> Vec<Obstacle> {
    let mut variables: Vec<(OsString, OsString)> =
        std::env::vars_os().filter(|(name, _)| settings.variables.iter().all(|(ours, _)| name != ours)).collect();
    variables.extend(settings.variables.iter().map(|(name, value)| ((*name).into(), value.clone())));
    let around = examine::Surroundings { library: Some(library), variables };
    let Ok(examination) = examine::command(program, arguments, &around, Depth::Tables) else {
        return Vec::new();
    };
    let is_fatal = |obstacle: &Obstacle| matches!(obstacle.effect, Effect::Breaks | Effect::Prevents);
    examination.obstacles.into_iter().filter(is_fatal).collect()
}
