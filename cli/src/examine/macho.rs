//! Mach-O: what dyld and the kernel of macOS will refuse, told from the file alone.

use super::Obstacle;
use crate::library::{Library, Target};
use object::read::ReadRef;
use std::path::Path;

/// For which processes a program is, what stands in the way of a library in it, and notes.
pub fn examine<'data, R: ReadRef<'data>>(
    path: &Path,
    data: R,
    library: Option<&Library>,
) -> (Option<Target>, Vec<Obstacle>, Vec<String>) {
    let _ = (path, data, library);
    (None, Vec::new(), Vec::new())
}
