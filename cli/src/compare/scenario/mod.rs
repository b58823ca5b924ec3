//! A comparison that is written down in a file, in TOML (`docs/scenarios.md`): [`form`] is what can be in it, [`read`] what
//! it means; an error names file, line and column, and shows the line.

mod form;
mod read;
#[cfg(test)]
mod tests;

use super::plan::draft::{Draft, Given, Place, wrong};
use crate::doctor::machine::cause;
use crate::options::nearest;
use crate::terminal::printable;
use anyhow::bail;
use std::path::Path;

/// A scenario that was read, and whose form is right.
#[derive(Debug)]
pub struct Scenario {
    with: Vec<Given<String>>,
    draft: Draft,
}

/// No scenario is longer, in bytes.
const LONGEST: u64 = 1 << 20;

impl Scenario {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, or something in it is not what it has to be.
    pub fn read(path: &Path) -> anyhow::Result<Scenario> {
        let shown = printable(path);
        let about = std::fs::metadata(path)
            .map_err(|error| anyhow::anyhow!("{shown} cannot be read: {}; name another scenario", cause(&error)))?;
        // A FIFO would wait.
        if !about.is_file() || about.len() > LONGEST {
            bail!("{shown} is no scenario: it is no regular file, or larger than a megabyte; name another one");
        }
        let bytes = std::fs::read(path)
            .map_err(|error| anyhow::anyhow!("{shown} cannot be read: {}; name another scenario", cause(&error)))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            anyhow::anyhow!("{shown} is not UTF-8 from byte {} on; save it as such", error.utf8_error().valid_up_to())
        })?;
        Scenario::parse(&text, path)
    }

    /// Reads a file's text; `path` is what it is called in messages, and where its folder is.
    ///
    /// # Errors
    /// When something in it is not what it has to be.
    pub fn parse(text: &str, path: &Path) -> anyhow::Result<Scenario> {
        let source = Source { file: path.to_string_lossy().into_owned(), text };
        let file: form::File = toml::from_str(text).map_err(|error| source.wrong_form(&error))?;
        read::scenario(file, &source, path)
    }

    /// Who takes part, as for `--with`; empty when the scenario does not say.
    pub fn participants(&self) -> Vec<String> {
        self.with.iter().map(|given| given.value.clone()).collect()
    }

    /// An error about who takes part, with its place: that of the one whose allocator the error names, or of the first.
    pub fn wrong_participant(&self, error: &anyhow::Error) -> anyhow::Error {
        let text = error.to_string();
        let named = self.with.iter().filter(|given| text.contains(&printable(allocator_of(&given.value))));
        // Of "jemalloc" and "libjemalloc.so", the longer name is the one that is meant.
        let named = named.max_by_key(|given| allocator_of(&given.value).len());
        let place = named.or(self.with.first()).and_then(|given| given.place.as_ref());
        wrong(place, text)
    }

    /// What is then checked, with what was typed on top of it.
    pub(super) fn into_draft(self) -> Draft {
        self.draft
    }
}

/// NAME in `LABEL=NAME,KEY=VALUE`.
fn allocator_of(participant: &str) -> &str {
    let named = participant.split(',').next().unwrap_or_default();
    named.split_once('=').map_or(named, |(_, allocator)| allocator)
}

/// A file's text, to say where in it something is.
struct Source<'a> {
    file: String,
    text: &'a str,
}

impl Source<'_> {
    fn place(&self, offset: usize) -> Place {
        Place::new(&self.file, self.text, offset)
    }

    fn given<T>(&self, spanned: toml::Spanned<T>) -> Given<T> {
        let place = Some(self.place(spanned.span().start));
        Given { value: spanned.into_inner(), place }
    }

    /// What the parser says, with the nearest of the keys that there are.
    fn wrong_form(&self, error: &toml::de::Error) -> anyhow::Error {
        let message = error.message();
        // "unknown field `phase`, expected one of `name`, `run`", "… expected `a` or `b`"
        let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
        let said = match quoted.as_slice() {
            [unknown, known @ ..] if message.starts_with("unknown field") => {
                let nearest = nearest(unknown, known.iter().copied())
                    .map(|nearest| format!("the nearest is '{nearest}'; "))
                    .unwrap_or_default();
                format!("unknown key '{}'; {nearest}there are {}", printable(unknown), known.join(", "))
            }
            [missing] if message.starts_with("missing field") => format!("the key '{missing}' is missing here; add it"),
            // The parser's own messages may have several lines.
            _ => {
                let lines: Vec<String> = message.lines().map(|line| printable(line.trim())).collect();
                format!("{}; what can be in a scenario: docs/scenarios.md", lines.join(", "))
            }
        };
        let place = error.span().map(|span| self.place(span.start));
        match &place {
            Some(_) => wrong(place.as_ref(), said),
            None => anyhow::anyhow!("{}: {said}", printable(&self.file)),
        }
    }
}
