//! What has to hold whatever the values are.

use super::{bootstrap, describe, rank_sum, signed_rank};
use proptest::collection::vec;
use proptest::prelude::*;

/// Values with ties and zeros among them.
fn values() -> impl Strategy<Value = Vec<f64>> {
    vec(prop_oneof![3 => -10.0..10.0_f64, 1 => (-3..4_i32).prop_map(f64::from)], 1..40)
}

fn mapped(values: &[f64], change: impl Fn(f64) -> f64) -> Vec<f64> {
    values.iter().map(|value| change(*value)).collect()
}

fn close(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * (1.0 + left.abs())
}

/// Every other first: another order of the same.
fn reordered(values: &[f64]) -> Vec<f64> {
    values.iter().skip(1).step_by(2).chain(values.iter().step_by(2)).copied().collect()
}

proptest! {
    // Enough for what is wrong to be found, and quick without optimisation.
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn an_interval_contains_the_median_and_lies_within_the_range(values in values()) {
        let (low, high) = bootstrap::of_median(&values).unwrap();
        let median = describe::median(&values).unwrap();
        let (least, most) = describe::range(&values).unwrap();
        prop_assert!(least <= low && low <= median && median <= high && high <= most, "{low} {median} {high}");
        let (first, third) = describe::quartiles(&values).unwrap();
        prop_assert!(least <= first && first <= median && median <= third && third <= most, "{first} {third}");
    }

    #[test]
    fn an_interval_of_a_difference_contains_it(left in values(), right in values()) {
        let (low, high) = bootstrap::of_difference(&left, &right).unwrap();
        let difference = describe::median(&left).unwrap() - describe::median(&right).unwrap();
        prop_assert!(low <= difference + 1e-9 && difference <= high + 1e-9, "{low} {difference} {high}");
    }

    #[test]
    fn shifted_and_scaled_values_have_a_shifted_and_scaled_interval(values in values(), by in -5.0..5.0_f64) {
        let (low, high) = bootstrap::of_median(&values).unwrap();
        let (moved_low, moved_high) = bootstrap::of_median(&mapped(&values, |value| value * 3.0 + by)).unwrap();
        prop_assert!(close(moved_low, low * 3.0 + by) && close(moved_high, high * 3.0 + by));
    }

    #[test]
    fn mirrored_values_have_the_mirrored_interval(left in values(), right in values()) {
        let (low, high) = bootstrap::of_median(&left).unwrap();
        let (mirrored_low, mirrored_high) = bootstrap::of_median(&mapped(&left, |value| -value)).unwrap();
        prop_assert!(close(mirrored_low, -high) && close(mirrored_high, -low));
        let (low, high) = bootstrap::of_difference(&left, &right).unwrap();
        let (mirrored_low, mirrored_high) = bootstrap::of_difference(&right, &left).unwrap();
        prop_assert!(close(mirrored_low, -high) && close(mirrored_high, -low));
    }

    #[test]
    fn a_probability_is_one_and_the_same_for_either_side(left in values(), right in values()) {
        let pairs = signed_rank::probability(&left);
        prop_assert!(pairs >= signed_rank::least(left.len()) * 0.999_999 && pairs <= 1.0, "{pairs}");
        prop_assert!(close(pairs, signed_rank::probability(&mapped(&left, |value| -value))));
        prop_assert!(close(pairs, signed_rank::probability(&mapped(&left, |value| value * 4.0))));
        let sides = rank_sum::probability(&left, &right);
        prop_assert!(sides >= rank_sum::least(left.len(), right.len()) * 0.999_999 && sides <= 1.0, "{sides}");
        prop_assert!(close(sides, rank_sum::probability(&right, &left)));
        // Only the order counts.
        let cubed = |values: &[f64]| mapped(values, |value| value * value * value);
        prop_assert!(close(sides, rank_sum::probability(&cubed(&left), &cubed(&right))));
    }

    #[test]
    fn pairs_that_favour_a_side_more_are_not_more_probable(values in vec(0.1..10.0_f64, 2..40), turned in 0..40_usize) {
        // The pair that speaks against the others is turned round.
        let turned = turned % values.len();
        let mut against = values.clone();
        against[turned] = -against[turned];
        prop_assert!(signed_rank::probability(&values) < signed_rank::probability(&against));
    }

    #[test]
    fn sides_further_apart_are_not_more_probable(left in values(), right in values(), by in 0.1..30.0_f64) {
        // From where all of one side is above all of the other, on.
        let apart = mapped(&right, |value| value + 20.0 + by);
        prop_assert!(rank_sum::probability(&left, &apart) <= rank_sum::probability(&left, &right) + 1e-9);
    }

    #[test]
    fn equal_values_tell_of_no_difference(value in -10.0..10.0_f64, n in 1..60_usize) {
        let same = std::vec::from_elem(value, n);
        prop_assert_eq!(bootstrap::of_median(&same), Some((value, value)));
        prop_assert_eq!(rank_sum::probability(&same, &same), 1.0);
        prop_assert_eq!(signed_rank::probability(&mapped(&same, |value| value - same[0])), 1.0);
    }

    #[test]
    fn the_order_of_values_is_of_no_account(left in values(), right in values()) {
        let (other_left, other_right) = (reordered(&left), reordered(&right));
        prop_assert_eq!(describe::median(&left), describe::median(&other_left));
        prop_assert_eq!(bootstrap::of_median(&left), bootstrap::of_median(&other_left));
        prop_assert_eq!(bootstrap::of_difference(&left, &right), bootstrap::of_difference(&other_left, &other_right));
        prop_assert!(close(signed_rank::probability(&left), signed_rank::probability(&other_left)));
        prop_assert!(close(rank_sum::probability(&left, &right), rank_sum::probability(&other_left, &other_right)));
    }

    #[test]
    fn the_mean_of_ratios_turns_round_with_them(ratios in vec(0.01..100.0_f64, 1..20)) {
        let mean = describe::geometric_mean(&ratios).unwrap();
        prop_assert!(close(describe::geometric_mean(&mapped(&ratios, |ratio| 1.0 / ratio)).unwrap(), 1.0 / mean));
        let (low, high) = describe::range(&ratios).unwrap();
        prop_assert!(low <= mean * 1.000_001 && mean <= high * 1.000_001);
    }
}
