//! Where the processes of a program put their proof records: a folder of ours ([`Folder`]), or what the user's
//! JESHIM_REPORT stands for ([`read`]).

use crate::record::Record;
use crate::terminal::printable;
use anyhow::Context;
use jeshim_host::process;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A folder for records that nobody else reads; gone when it is dropped. Processes that have become other users' can
/// write to it.
#[derive(Debug)]
pub struct Folder(TempDir);

impl Folder {
    /// Makes one, where temporary files go.
    ///
    /// # Errors
    /// When nothing can be written there.
    pub fn new() -> anyhow::Result<Folder> {
        let whole = tempfile::Builder::new().prefix("jeshim-").tempdir();
        let folder = Folder(whole.with_context(|| {
            let place = printable(std::env::temp_dir());
            format!("no folder for the records in {place}; set TMPDIR to one that this user may write")
        })?);
        process::make_drop_box(folder.0.path(), &folder.path()).with_context(|| {
            let place = printable(folder.0.path());
            format!("no folder for the records in {place}; set TMPDIR to one that this user may write")
        })?;
        Ok(folder)
    }

    /// In which the records are.
    pub fn path(&self) -> PathBuf {
        self.0.path().join("records")
    }

    /// The value for JESHIM_REPORT: the file of a process has its pid for a name.
    pub fn template(&self) -> PathBuf {
        PathBuf::from(literally(&self.path())).join("%p")
    }

    /// Leaves the folder to processes that still run. Tells where the records are.
    pub fn keep(self) -> PathBuf {
        let records = self.path();
        let _ = self.0.keep();
        records
    }
}

/// A path as it is written in a JESHIM_REPORT, where a percent sign that is just that is doubled.
pub fn literally(path: &Path) -> OsString {
    let parts: Vec<&[u8]> = path.as_os_str().as_bytes().split(|byte| *byte == b'%').collect();
    OsString::from_vec(parts.join(&b"%%"[..]))
}

/// Reads the records that processes with this JESHIM_REPORT have left, and whatever else bears such a name: who asks
/// has to look at the pid and the time. In the order of [`Record::read_all`].
pub fn read(report: &OsStr) -> Vec<Record> {
    let bytes = report.as_bytes();
    let (folder, name) = match bytes.iter().rposition(|byte| *byte == b'/').and_then(|at| bytes.split_at_checked(at)) {
        Some((folder, name)) => (folder, name.strip_prefix(b"/").unwrap_or(name)),
        None => (&b"."[..], bytes),
    };
    let mut folders = vec![PathBuf::from(if bytes.starts_with(b"/") { "/" } else { "." })];
    for component in folder.split(|byte| *byte == b'/').filter(|component| !component.is_empty()) {
        let pattern = Pattern::of(component);
        folders = match pattern.as_text() {
            Some(text) => folders.iter().map(|folder| folder.join(OsStr::from_bytes(&text))).collect(),
            None => folders.iter().flat_map(|folder| pattern.folders_in(folder)).collect(),
        };
    }
    let pattern = Pattern::of(name);
    // The library appends to a name that is taken.
    let is_one = |name: &OsStr| pattern.fits(name.as_bytes(), true);
    Record::read_some(&folders, is_one)
}

/// A part of a JESHIM_REPORT between slashes.
struct Pattern(Vec<Piece>);

enum Piece {
    Text(Vec<u8>),
    /// `%p`
    Pid,
    /// `%e`
    Program,
}

impl Pattern {
    fn of(component: &[u8]) -> Pattern {
        let mut pieces = Vec::new();
        let mut text = Vec::new();
        let mut rest = component.iter();
        while let Some(byte) = rest.next() {
            let piece = match if *byte == b'%' { rest.next() } else { None } {
                Some(b'p') => Piece::Pid,
                Some(b'e') => Piece::Program,
                Some(b'%') | None => {
                    text.push(*byte);
                    continue;
                }
                Some(other) => {
                    text.extend_from_slice(&[b'%', *other]);
                    continue;
                }
            };
            pieces.push(Piece::Text(std::mem::take(&mut text)));
            pieces.push(piece);
        }
        pieces.push(Piece::Text(text));
        Pattern(pieces)
    }

    /// What it stands for, when that is one name only.
    fn as_text(&self) -> Option<Vec<u8>> {
        match self.0.as_slice() {
            [Piece::Text(text)] => Some(text.clone()),
            _ => None,
        }
    }

    /// Whether a name is one of those that it stands for, or, when it may go on, begins like one.
    fn fits(&self, name: &[u8], may_go_on: bool) -> bool {
        // How far into the name the pieces can reach.
        let mut ends = BTreeSet::from([0]);
        for piece in &self.0 {
            let after = |end: usize| name.get(end..).unwrap_or_default();
            ends = match piece {
                Piece::Text(text) => {
                    let reached = ends.into_iter().filter(|end| after(*end).starts_with(text));
                    reached.map(|end| end.saturating_add(text.len())).collect()
                }
                Piece::Pid => {
                    let digits = |end: usize| after(end).iter().take_while(|byte| byte.is_ascii_digit()).count();
                    let reached = |end: usize| (1..=digits(end)).map(move |digits| end.saturating_add(digits));
                    ends.into_iter().flat_map(reached).collect()
                }
                Piece::Program => {
                    ends.first().map_or_else(BTreeSet::new, |end| (end.saturating_add(1)..=name.len()).collect())
                }
            };
        }
        ends.contains(&name.len()) || (may_go_on && !ends.is_empty())
    }

    /// The folders of such a name.
    fn folders_in(&self, folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let fitting = entries.filter(|entry| self.fits(entry.file_name().as_bytes(), false));
        fitting.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percent_sign_of_a_path_is_doubled_and_other_bytes_stay() {
        let path = literally(Path::new(OsStr::from_bytes(b"/a%p/\xff%")));
        assert_eq!(path.as_bytes(), b"/a%%p/\xff%%");
    }

    #[test]
    fn names_fit_a_part_of_a_report() {
        let fits = |part: &str, name: &str| Pattern::of(part.as_bytes()).fits(name.as_bytes(), false);
        for (part, name) in [
            ("r-%p.json", "r-17.json"),
            ("%e", "ls"),
            ("%e-%p", "a-1-2"),
            ("%p%p", "12"),
            ("100%%", "100%"),
            ("%%p", "%p"),
            ("%x", "%x"),
            ("a%", "a%"),
            ("", ""),
        ] {
            assert!(fits(part, name), "{part} {name}");
        }
        for (part, name) in [
            ("r-%p.json", "r-.json"),
            ("r-%p.json", "r-1x.json"),
            ("r-%p", "r-1.1"),
            ("%e", ""),
            ("%p%p", "1"),
            ("%%p", "%1"),
            ("a", "ab"),
        ] {
            assert!(!fits(part, name), "{part} {name}");
        }
        assert!(Pattern::of(b"r-%p").fits(b"r-1.1.2", true));
        assert!(!Pattern::of(b"r-%p").fits(b"r-", true));
        // No time is lost on what is meant to take it.
        assert!(!Pattern::of("%e%p".repeat(500).as_bytes()).fits("1".repeat(255).as_bytes(), false));
    }
}
