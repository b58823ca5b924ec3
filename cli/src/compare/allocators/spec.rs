//! `LABEL=NAME,KEY=VALUE`, taken apart.

use super::catalogue;
use crate::terminal::printable;
use anyhow::bail;
use jeshim_host::preload;

/// One that is to take part, as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spec {
    /// What it is to be called.
    pub(super) label: Option<String>,
    /// A name, or a path of a library, which has a slash.
    pub(super) target: String,
    /// In their order.
    pub(super) settings: Vec<(String, String)>,
}

/// Variables that jeshim sets itself.
const OURS: [&str; 3] = ["JESHIM_REPORT", "LD_DEBUG", "LD_DEBUG_OUTPUT"];

impl Spec {
    /// Takes a text apart. A piece between commas that has no `=` belongs to the value before it.
    pub(super) fn parse(text: &str) -> anyhow::Result<Spec> {
        let mut pieces = text.split(',');
        let first = pieces.next().unwrap_or_default();
        let (label, target) = match first.split_once('=') {
            // A path that has an equals sign in it.
            Some((label, _)) if label.contains('/') => (None, first),
            Some((label, target)) => (Some(label.to_owned()), target),
            None => (None, first),
        };
        let shown = printable(text);
        if label.as_deref().is_some_and(|label| label.trim().is_empty()) {
            bail!("'{shown}' has an empty label; write LABEL=NAME");
        }
        if label.as_deref().is_some_and(|label| label.chars().any(char::is_control)) {
            bail!("'{shown}' has a control character in its label; write LABEL=NAME");
        }
        if target.is_empty() {
            bail!("'{shown}' names no allocator; write NAME, LABEL=NAME or LABEL=PATH");
        }
        let mut settings: Vec<(String, String)> = Vec::new();
        for piece in pieces {
            match (piece.split_once('='), settings.last_mut()) {
                (Some((key, value)), _) => {
                    check_key(key, piece, &shown)?;
                    if settings.iter().any(|(known, _)| known == key) {
                        bail!("'{shown}' sets {key} twice; keep one");
                    }
                    settings.push((key.to_owned(), value.to_owned()));
                }
                (None, Some((_, value))) => {
                    value.push(',');
                    value.push_str(piece);
                }
                (None, None) if catalogue::find(piece).is_some() => {
                    bail!(
                        "'{shown}' names two allocators, and only one can serve a program; compare them: --with {} --with {piece}",
                        printable(first)
                    );
                }
                (None, None) => {
                    bail!("'{}' in '{shown}' is no setting; write KEY=VALUE behind the comma", printable(piece));
                }
            }
        }
        Ok(Spec { label, target: target.to_owned(), settings })
    }

    /// The text again, for a label of its own to be put in front.
    pub(super) fn without_label(&self) -> String {
        let settings = self.settings.iter().map(|(key, value)| format!(",{key}={value}"));
        printable(format!("{}{}", self.target, settings.collect::<String>()))
    }

    /// The value of a setting.
    pub(super) fn setting(&self, key: &str) -> Option<&str> {
        self.settings.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }
}

fn check_key(key: &str, piece: &str, shown: &str) -> anyhow::Result<()> {
    if key == preload::VARIABLE {
        bail!("'{shown}' sets {key}, and only one allocator can serve a program; name the library itself: LABEL=PATH");
    }
    if OURS.contains(&key) {
        bail!("'{shown}' sets {key}, which the proof of who serves needs itself; leave it out");
    }
    let mut characters = key.chars();
    let is_name = characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|other| other.is_ascii_alphanumeric() || other == '_');
    if !is_name {
        bail!("'{}' in '{shown}' does not begin with a variable's name; write KEY=VALUE", printable(piece));
    }
    Ok(())
}
