//! Figures in JSON that a program prints.

use super::number;
use crate::compare::results::Unit;
use serde_json::Value;

/// `NAME=PATH`, or a path that is its own name.
pub(super) fn split(text: &str) -> (&str, &str) {
    text.split_once('=').unwrap_or((text, text))
}

/// The JSON in a text: all of it, or the last line that is an object or an array.
pub(super) fn value(text: &str) -> Option<Value> {
    let line = || {
        let lines = text.lines().rev().map(str::trim).filter(|line| line.starts_with(['{', '[']));
        lines.into_iter().find_map(|line| serde_json::from_str(line).ok())
    };
    serde_json::from_str(text).ok().or_else(line)
}

/// The number at a place. A name may have dots in it, as those of percentiles do (`clat_ns.percentile.99.000000`).
pub(super) fn number_at(value: &Value, path: &str, name: &str) -> Option<(f64, Unit)> {
    match at(value, path)? {
        Value::Number(number) => {
            let number = number.as_f64().filter(|number| number.is_finite())?;
            Some((number, number::unit_of(name)))
        }
        Value::String(text) => number::parse(text, name),
        _ => None,
    }
}

fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    let inside = |name: &str| match value {
        Value::Object(members) => members.get(name),
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        _ => None,
    };
    let ends = path.match_indices('.').map(|(dot, _)| dot);
    inside(path).or_else(|| {
        ends.into_iter().find_map(|dot| {
            let (name, rest) = path.split_at(dot);
            at(inside(name)?, rest.get(1..)?)
        })
    })
}
