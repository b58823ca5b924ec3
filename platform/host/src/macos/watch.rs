//! On macOS nothing tells an unprivileged program of a tree's processes: they are known by their records. Not run on a
//! Mac.

use crate::watch::Event;
use std::path::Path;

/// Watches nothing.
pub struct Watch;

impl Watch {
    /// Begins.
    pub fn begin(_library: &Path) -> Watch {
        Watch
    }

    /// Nothing.
    pub fn events(&mut self, _root: u32) -> Vec<Event> {
        Vec::new()
    }

    /// There is no record of the kernel that could be refused.
    pub fn refusal(&self) -> Option<&std::io::Error> {
        None
    }

    /// Never.
    pub fn is_exact(&self) -> bool {
        false
    }

    /// Always: what is not seen.
    pub fn missed(&self) -> Option<String> {
        Some("on macOS only those processes are seen that write a record, which takes the library".to_owned())
    }

    /// Never.
    pub fn waits(&self) -> bool {
        false
    }

    /// None.
    pub fn dark(&self) -> Vec<String> {
        Vec::new()
    }
}
