//! Names beside lines: as near to their line as the others allow.

use super::canvas::width_of;
use crate::compare::report::numbers::number;

/// Heights for labels that would like to be at these, at least `apart` from each other, and between `top` and `bottom` as
/// far as there is room. In the order in which they were given.
pub(super) fn apart(wanted: &[f64], apart: f64, (top, bottom): (f64, f64)) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    let height = |index: &usize| wanted.get(*index).copied().unwrap_or(0.0);
    order.sort_by(|a, b| height(a).total_cmp(&height(b)));
    let mut placed: Vec<(usize, f64)> = Vec::new();
    let mut free = top;
    for index in order {
        let y = height(&index).max(free);
        placed.push((index, y));
        free = y + apart;
    }
    // Those that are below the bottom push the others up.
    let mut free = bottom;
    for (_, y) in placed.iter_mut().rev() {
        *y = y.min(free);
        free = *y - apart;
    }
    placed.sort_by_key(|(index, _)| *index);
    placed.into_iter().map(|(_, y)| y).collect()
}

/// Room beside a plot for the names of lines: as wide as the widest, within limits.
pub(super) fn room<'a>(names: impl Iterator<Item = &'a String>) -> f64 {
    names.map(|name| width_of(name)).fold(0.0, f64::max).clamp(30.0, 124.0) + 26.0
}

/// Room for the numbers at an upright axis that reaches to this.
pub(super) fn room_for_numbers(most: f64) -> f64 {
    // Those between may have a digit behind the point.
    width_of(&number(most, if most < 10.0 { 1 } else { 0 })).max(22.0) + 18.0
}

/// A number at an axis.
pub(super) fn short(value: f64) -> String {
    let digits = if value.fract().abs() < 1e-6 || value.abs() >= 100.0 {
        0
    } else if value.abs() < 1.0 {
        2
    } else {
        1
    };
    number(value, digits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn labels_stay_where_there_is_room() {
        assert_eq!(apart(&[10.0, 50.0, 30.0], 10.0, (0.0, 100.0)), [10.0, 50.0, 30.0]);
        assert_eq!(apart(&[50.0, 50.0, 99.0], 10.0, (0.0, 100.0)), [50.0, 60.0, 99.0]);
        assert_eq!(apart(&[99.0, 100.0], 10.0, (0.0, 100.0)), [90.0, 100.0]);
    }

    proptest! {
        #[test]
        fn no_two_are_on_each_other(wanted in proptest::collection::vec(0.0..200.0_f64, 0..9)) {
            let mut placed = apart(&wanted, 16.0, (0.0, 200.0));
            placed.sort_by(f64::total_cmp);
            prop_assert!(placed.windows(2).all(|pair| pair[1] - pair[0] > 15.999));
            prop_assert!(placed.iter().all(|y| (-0.001..=200.001).contains(y)));
        }
    }
}
