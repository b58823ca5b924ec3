//! Where the values of a swept parameter are on the axis, and which points are on one plot.

use super::canvas::{fitting, width_of};
use crate::compare::results::Point;
use crate::terminal::printable;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;

/// Values that reach over more than this many times are drawn on a logarithmic axis.
const WIDE: f64 = 32.0;

/// Where the values of the parameter are.
pub(super) struct Places {
    pub(super) name: String,
    /// As typed, with the place of each.
    pub(super) values: Vec<(String, f64)>,
    pub(super) is_numeric: bool,
}

/// Points that differ in the parameter only, with the index of each.
pub(super) struct Group<'a> {
    pub(super) name: String,
    pub(super) points: Vec<(usize, &'a Point)>,
}

/// The index of the first parameter with several values.
pub(super) fn swept(points: &[Point]) -> Option<usize> {
    let first = points.first()?;
    (0..first.parameters.len()).find(|index| {
        let value = |point: &Point| point.parameters.get(*index).map(|(_, value)| value.clone());
        points.iter().any(|point| value(point) != value(first))
    })
}

pub(super) fn groups(points: &[Point], swept: usize) -> Vec<Group<'_>> {
    let mut groups: Vec<Group> = Vec::new();
    for (index, point) in points.iter().enumerate() {
        let mut rest = point.clone();
        if swept < rest.parameters.len() {
            rest.parameters.remove(swept);
        }
        let name = printable(rest.name());
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.points.push((index, point)),
            None => groups.push(Group { name, points: vec![(index, point)] }),
        }
    }
    groups
}

/// Numbers have their place on an axis of numbers; other values are side by side.
pub(super) fn places(group: &Group, swept: usize) -> Places {
    let parameters = group.points.iter().filter_map(|(_, point)| point.parameters.get(swept));
    let name = parameters.clone().next().map(|(name, _)| printable(name)).unwrap_or_default();
    let mut values: Vec<String> = Vec::new();
    for (_, value) in parameters {
        if !values.contains(value) {
            values.push(value.clone());
        }
    }
    let numbers: Option<Vec<f64>> =
        values.iter().map(|value| value.parse().ok().filter(|number: &f64| number.is_finite())).collect();
    let is_numeric = numbers.is_some();
    let numbers = numbers.unwrap_or_else(|| (0_u32..).map(f64::from).take(values.len()).collect());
    let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let most = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let is_wide = is_numeric && least > 0.0 && most / least > WIDE;
    let place = |number: f64| if is_wide { number.log2() } else { number };
    Places { name, values: values.into_iter().zip(numbers.into_iter().map(place)).collect(), is_numeric }
}

/// The axis: its lines are at the values, and nowhere else.
pub(super) struct Ticks {
    pub(super) range: (f64, f64),
    pub(super) ticks: Vec<f64>,
}

impl Ranged for Ticks {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let share = (value - self.range.0) / (self.range.1 - self.range.0);
        limit.0.saturating_add((share * f64::from(limit.1.saturating_sub(limit.0))).round() as i32)
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.range.0..self.range.1
    }
}

impl ValueFormatter<f64> for Ticks {}

/// The values that are written at the axis: those that have room.
pub(super) fn written(places: &Places, (first, last): (f64, f64), width: f64) -> Vec<(String, f64)> {
    let unit = width / (last - first).max(1e-12);
    let mut sorted = places.values.clone();
    sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut taken = f64::NEG_INFINITY;
    let most = if places.is_numeric { 120.0 } else { width / sorted.len().max(1) as f64 };
    sorted.retain_mut(|(text, place)| {
        *text = fitting(&printable(&*text), most);
        let (middle, half) = ((*place - first) * unit, width_of(text) / 2.0 + 2.0);
        let has_room = middle - half > taken;
        if has_room {
            taken = middle + half;
        }
        has_room
    });
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: &[&str], others: &[&str]) -> Vec<Point> {
        let point = |value: &str, other: &str| Point {
            parameters: vec![("threads".to_owned(), value.to_owned()), ("size".to_owned(), other.to_owned())],
            ..Point::default()
        };
        others.iter().flat_map(|other| values.iter().map(|value| point(value, other))).collect()
    }

    #[test]
    fn points_that_differ_in_one_parameter_are_a_group() {
        let points = points(&["1", "2", "8"], &["small", "large"]);
        assert_eq!(swept(&points), Some(0));
        let groups = groups(&points, 0);
        let names: Vec<_> = groups.iter().map(|group| (group.name.as_str(), group.points.len())).collect();
        assert_eq!(names, [("size=small", 3), ("size=large", 3)]);
        assert_eq!(swept(&points[..1]), None);
    }

    #[test]
    fn numbers_have_their_place_and_words_are_side_by_side() {
        let of = |values: &[&str]| {
            let points = points(values, &["x"]);
            let groups = groups(&points, 0);
            let places = places(&groups[0], 0);
            (places.is_numeric, places.values.iter().map(|(_, place)| *place).collect::<Vec<_>>())
        };
        assert_eq!(of(&["1", "2", "15"]), (true, vec![1.0, 2.0, 15.0]));
        assert_eq!(of(&["1", "4", "256"]), (true, vec![0.0, 2.0, 8.0]));
        assert_eq!(of(&["small", "2", "inf"]), (false, vec![0.0, 1.0, 2.0]));
    }

    #[test]
    fn values_without_room_are_not_written() {
        let value = |number: i32| (number.to_string(), f64::from(number));
        let places = Places { name: String::new(), values: [1, 2, 3, 1000].map(value).to_vec(), is_numeric: true };
        let written: Vec<String> = written(&places, (0.0, 1001.0), 320.0).into_iter().map(|(text, _)| text).collect();
        assert_eq!(written, ["1", "1000"]);
    }
}
