//! Figures that a regular expression finds.

use super::number;
use crate::compare::results::Unit;
use crate::terminal::printable;
use regex::{Captures, Regex, RegexBuilder};

/// A regular expression, and how its matches are read.
#[derive(Debug, Clone)]
pub(super) enum Pattern {
    /// Groups called `name` and `value`: every match is a figure.
    Pairs { regex: Regex },
    /// Other named groups: each is a figure.
    Groups { regex: Regex, names: Vec<String> },
    /// The first group that took part, or the whole match where there are none.
    One { regex: Regex },
}

/// Parts `NAME=REGEX`.
pub(super) fn split(text: &str) -> Result<(&str, &str), String> {
    let parted = text.split_once('=').filter(|(name, _)| !name.trim().is_empty() && !name.contains(['(', '\\', '[']));
    parted.ok_or_else(|| {
        format!("the metric '{}' has no name; write NAME=REGEX, as in 'rate=(\\d+) requests/s'", printable(text))
    })
}

/// Compiles a regular expression: `^` and `$` are the ends of a line, also of one that ends with CR LF.
///
/// # Errors
/// Cause and remedy in a line, then the place in the pattern.
pub(in crate::compare) fn compile(what: &str, pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern).multi_line(true).crlf(true).build().map_err(|error| {
        let text = error.to_string();
        let cause = text.lines().find_map(|line| line.strip_prefix("error: "));
        // Two lines: the pattern, and what points into it.
        let place: Vec<&str> = text.lines().filter(|line| line.starts_with("    ")).collect();
        let place = if cause.is_some() { place.join("\n") } else { String::new() };
        let cause = cause.unwrap_or_else(|| text.lines().next().unwrap_or_default());
        format!(
            "{what} is not a regular expression: {cause}; what can be in one: https://docs.rs/regex/#syntax\n{place}"
        )
        .trim_end()
        .to_owned()
    })
}

impl Pattern {
    pub(super) fn new(name: &str, pattern: &str) -> Result<Pattern, String> {
        let regex = compile(&format!("the pattern of the metric '{}'", printable(name)), pattern)?;
        let names: Vec<String> = regex.capture_names().flatten().map(str::to_owned).collect();
        let has = |group: &str| names.iter().any(|name| name == group);
        Ok(match (has("name"), has("value")) {
            (true, true) => Pattern::Pairs { regex },
            _ if !names.is_empty() => Pattern::Groups { regex, names },
            _ => Pattern::One { regex },
        })
    }

    /// The names of the figures, where they are known beforehand.
    pub(super) fn figures(&self, metric: &str) -> Vec<String> {
        match self {
            Pattern::Pairs { .. } => Vec::new(),
            Pattern::Groups { names, .. } => names.clone(),
            Pattern::One { .. } => vec![metric.to_owned()],
        }
    }

    /// The figures in a text: of several of one name, the last that is a number, at the place of the first.
    pub(super) fn read(&self, metric: &str, text: &str) -> Vec<(String, f64, Unit)> {
        let mut found: Vec<(String, f64, Unit)> = Vec::new();
        self.each(metric, text, &mut |name, written| {
            let Some((value, unit)) = number::parse(written, name) else { return };
            match found.iter_mut().find(|(known, ..)| known == name) {
                Some(known) => (known.1, known.2) = (value, unit),
                None => found.push((name.to_owned(), value, unit)),
            }
        });
        found
    }

    /// Something that matched in place of a number.
    pub(super) fn not_a_number(&self, text: &str) -> Option<String> {
        let mut last = None;
        self.each("", text, &mut |_, written| last = Some(written.to_owned()));
        last.filter(|written| number::parse(written, "").is_none())
    }

    fn each(&self, metric: &str, text: &str, take: &mut dyn FnMut(&str, &str)) {
        let (Pattern::Pairs { regex } | Pattern::Groups { regex, .. } | Pattern::One { regex }) = self;
        for captures in regex.captures_iter(text) {
            match self {
                Pattern::Pairs { .. } => {
                    let name = group(&captures, "name").trim();
                    if !name.is_empty() {
                        take(name, group(&captures, "value"));
                    }
                }
                Pattern::Groups { names, .. } => {
                    for name in names.iter().filter(|name| captures.name(name).is_some()) {
                        take(name, group(&captures, name));
                    }
                }
                Pattern::One { .. } => {
                    let groups = (1..captures.len()).find_map(|group| captures.get(group));
                    let written = if captures.len() > 1 { groups } else { captures.get(0) };
                    take(metric, written.map_or("", |written| written.as_str()));
                }
            }
        }
    }
}

fn group<'a>(captures: &Captures<'a>, name: &str) -> &'a str {
    captures.name(name).map_or("", |group| group.as_str())
}
