//! Figures of the program itself: read from what it prints, by regular expressions ([`pattern`]) or as JSON ([`json`]).
//!
//! Each is looked for in standard output, and where that has none, in standard error; of several, the last one counts. What
//! is written there as a number, [`number`] tells.

mod json;
mod number;
mod pattern;
#[cfg(test)]
mod tests;

pub(super) use pattern::compile;

use super::results::{Figure, Unit};
use crate::arguments::Compare;
use crate::options::nearest;
use crate::terminal::printable;
use pattern::Pattern;
use std::collections::BTreeSet;

/// Which figures are looked for.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    metrics: Vec<Metric>,
    /// Metrics and figures of which more is better.
    higher: BTreeSet<String>,
    all_higher: bool,
}

#[derive(Debug, Clone)]
struct Metric {
    /// What it was called where it was asked for.
    name: String,
    how: How,
}

#[derive(Debug, Clone)]
enum How {
    Pattern(Pattern),
    Json(String),
}

/// A figure that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// What it is called.
    pub name: String,
    /// In bytes and seconds where the unit says so.
    pub value: f64,
    /// As its text or its name tells.
    pub unit: Unit,
    /// The metric that found it, as it was named by whoever asked: for [`Metrics::missing`].
    pub metric: String,
}

impl Metrics {
    /// These, and what was typed: `--metric`, `--metric-json` and `--higher-is-better`. What is typed replaces what has the
    /// same name.
    ///
    /// # Errors
    /// Cause and remedy.
    pub fn and(mut self, arguments: &Compare) -> anyhow::Result<Metrics> {
        let figures = &arguments.figures;
        let mut typed = Metrics::default();
        let told = |error: String| anyhow::anyhow!(error);
        for text in &figures.metrics {
            let (name, pattern) = pattern::split(text).map_err(told)?;
            typed.add_pattern(name, pattern).map_err(told)?;
        }
        for text in &figures.json {
            let (name, path) = json::split(text);
            typed.add_json(name, path).map_err(told)?;
        }
        self.metrics.retain(|old| typed.metrics.iter().all(|new| !new.clashes_with(old)));
        self.metrics.append(&mut typed.metrics);
        for name in &figures.higher_is_better {
            self.more_is_better(name).map_err(told)?;
        }
        Ok(self)
    }

    /// Whether nothing is looked for.
    pub fn is_empty(&self) -> bool {
        self.metrics.is_empty()
    }

    /// Looks for what a regular expression finds.
    ///
    /// # Errors
    /// Cause and remedy: not a regular expression, or one that is called so is there already.
    pub fn add_pattern(&mut self, name: &str, pattern: &str) -> Result<(), String> {
        let pattern = Pattern::new(name, pattern)?;
        self.add(name, How::Pattern(pattern))
    }

    /// Looks for what is at a place in JSON: names and indices, parted by dots.
    ///
    /// # Errors
    /// Cause and remedy: an empty path, or one that is called so is there already.
    pub fn add_json(&mut self, name: &str, path: &str) -> Result<(), String> {
        if path.split('.').any(str::is_empty) {
            return Err(format!(
                "'{}' is no way to a value in JSON; write names and indices with dots between, as in results.0.mean",
                printable(path)
            ));
        }
        self.add(name, How::Json(path.to_owned()))
    }

    fn add(&mut self, name: &str, how: How) -> Result<(), String> {
        let name = name.trim();
        if name.is_empty() || name.chars().any(char::is_control) {
            return Err("a metric has no name, or control characters in it; write NAME=REGEX".to_owned());
        }
        let added = Metric { name: name.to_owned(), how };
        if self.metrics.iter().any(|known| known.clashes_with(&added)) {
            return Err(format!("the metric '{}' is there twice; give each figure a name of its own", printable(name)));
        }
        self.metrics.push(added);
        Ok(())
    }

    /// Says that more is better of a metric's figures, of one figure, or, with `*`, of all.
    ///
    /// # Errors
    /// Cause and remedy: there is no such metric.
    pub fn more_is_better(&mut self, name: &str) -> Result<(), String> {
        if self.metrics.is_empty() {
            return Err("--higher-is-better is said of no figure; add --metric or --metric-json".to_owned());
        }
        if name == "*" {
            self.all_higher = true;
            return Ok(());
        }
        let known: Vec<String> = self.metrics.iter().flat_map(Metric::names).collect();
        // What pairs of names and values are called is known when the program has run.
        let may_come = self.metrics.iter().any(|metric| matches!(&metric.how, How::Pattern(Pattern::Pairs { .. })));
        if !may_come && !known.iter().any(|known| known == name) {
            let nearest = nearest(name, known.iter().map(String::as_str))
                .map(|nearest| format!("the nearest is '{nearest}'; "))
                .unwrap_or_default();
            return Err(format!(
                "more is better of '{}', which no metric is called; {nearest}there are {}",
                printable(name),
                printable(known.join(", "))
            ));
        }
        self.higher.insert(name.to_owned());
        Ok(())
    }

    /// Reads the figures from what a program has printed, in the order of the metrics.
    pub fn read(&self, output: &[u8], errors: &[u8]) -> Vec<Reading> {
        if self.metrics.is_empty() {
            return Vec::new();
        }
        let places = [Printed::new(output), Printed::new(errors)];
        let mut readings: Vec<Reading> = Vec::new();
        for metric in &self.metrics {
            let found = places.iter().map(|place| metric.read(place)).find(|found| !found.is_empty());
            for (name, value, unit) in found.unwrap_or_default() {
                // The first metric that has a figure of that name keeps it.
                if !readings.iter().any(|reading| reading.name == name) {
                    readings.push(Reading { name, value, unit, metric: metric.name.clone() });
                }
            }
        }
        readings
    }

    /// The metrics that are not among those that were found ([`Reading::metric`]).
    pub fn missing(&self, found: &BTreeSet<String>) -> Vec<String> {
        self.metrics.iter().filter(|metric| !found.contains(&metric.name)).map(|metric| metric.name.clone()).collect()
    }

    /// Why a metric was not found in what a program has printed: cause and remedy. `None` when it was, or is none of these.
    pub fn why_not(&self, metric: &str, output: &[u8], errors: &[u8]) -> Option<String> {
        let metric = self.metrics.iter().find(|known| known.name == metric)?;
        let places = [Printed::new(output), Printed::new(errors)];
        if places.iter().any(|place| !metric.read(place).is_empty()) {
            return None;
        }
        let printed = if places.iter().all(|place| place.text.trim().is_empty()) {
            ", for nothing was printed; is it written to a file, or printed only on a terminal?"
        } else {
            "; compare its pattern with what the program prints"
        };
        let what = match &metric.how {
            How::Pattern(pattern) => match places.iter().find_map(|place| pattern.not_a_number(&place.text)) {
                Some(text) => format!("matched '{}', which is no number; group the number alone", printable(text)),
                None => format!("matched nothing{printed}"),
            },
            How::Json(_) if places.iter().all(|place| json::value(&place.text).is_none()) => {
                "found no JSON; let the program print it whole, or as a line".to_owned()
            }
            How::Json(path) => {
                format!("found no number at {} in the JSON; compare the path with what is printed", printable(path))
            }
        };
        Some(format!("the metric '{}' {what}", printable(&metric.name)))
    }

    /// The row of a figure that was read, after a phase of a server where one is named.
    pub fn figure(&self, reading: &Reading, phase: Option<&str>) -> Figure {
        let (id, name) = match phase {
            Some(phase) => (format!("phase/{phase}/metric/{}", reading.name), format!("{phase}: {}", reading.name)),
            None => (format!("metric/{}", reading.name), reading.name.clone()),
        };
        let higher_is_better =
            self.all_higher || self.higher.contains(&reading.name) || self.higher.contains(&reading.metric);
        Figure { id, name, unit: reading.unit.clone(), higher_is_better, headline: true }
    }
}

impl Metric {
    /// The names of its figures, as far as they are known beforehand.
    fn figures(&self) -> Vec<String> {
        match &self.how {
            How::Pattern(pattern) => pattern.figures(&self.name),
            How::Json(_) => vec![self.name.clone()],
        }
    }

    fn clashes_with(&self, other: &Metric) -> bool {
        let figures = other.figures();
        self.name == other.name || self.figures().iter().any(|figure| figures.contains(figure))
    }

    fn names(&self) -> Vec<String> {
        let mut names = self.figures();
        if !names.contains(&self.name) {
            names.push(self.name.clone());
        }
        names
    }

    fn read(&self, printed: &Printed) -> Vec<(String, f64, Unit)> {
        match &self.how {
            How::Pattern(pattern) => pattern.read(&self.name, &printed.text),
            How::Json(path) => {
                let number = printed.json().and_then(|value| json::number_at(value, path, &self.name));
                number.map(|(value, unit)| (self.name.clone(), value, unit)).into_iter().collect()
            }
        }
    }
}

/// What was printed to one descriptor. Its JSON is looked for once, and only when somebody asks.
struct Printed<'a> {
    text: std::borrow::Cow<'a, str>,
    json: std::cell::OnceCell<Option<serde_json::Value>>,
}

impl<'a> Printed<'a> {
    fn new(bytes: &'a [u8]) -> Printed<'a> {
        Printed { text: String::from_utf8_lossy(bytes), json: std::cell::OnceCell::new() }
    }

    fn json(&self) -> Option<&serde_json::Value> {
        self.json.get_or_init(|| json::value(&self.text)).as_ref()
    }
}
