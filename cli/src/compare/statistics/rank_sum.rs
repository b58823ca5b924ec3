//! Mann and Whitney's test (Wilcoxon's rank-sum test) of values that are not in pairs: in what share of all ways to deal
//! the values to the two sides their ranks come out as unevenly as they did.

use super::ranks::{doubled, normal_two_sided, two_sided};
use statrs::function::factorial::ln_binomial;

/// Up to so many values on both sides together the distribution is computed, beyond it is taken for normal.
const COMPUTED: usize = 60;

/// The two-sided probability of values like these when the sides do not differ. Exact up to 60 values, ties included.
pub fn probability(left: &[f64], right: &[f64]) -> f64 {
    let values: Vec<f64> = left.iter().chain(right).copied().collect();
    let ranks = doubled(&values);
    let seen: usize = ranks.iter().take(left.len()).sum();
    if left.is_empty() || right.is_empty() {
        return 1.0;
    }
    if values.len() > COMPUTED {
        let (all, own) = (values.len() as f64, left.len() as f64);
        let mean = all + 1.0;
        // Of a sum of ranks drawn without replacement. Computed from the ranks themselves, which has ties in it.
        let spread = ranks.iter().map(|rank| (*rank as f64 - mean).powi(2)).sum::<f64>();
        let variance = own * right.len() as f64 / (all * (all - 1.0)) * spread;
        return normal_two_sided(seen as f64 - own * mean, variance, 1.0);
    }
    let outcomes = sums(&ranks, left.len());
    let ways: f64 = outcomes.iter().sum();
    let at_most: f64 = outcomes.iter().take(seen.saturating_add(1)).sum();
    let at_least: f64 = outcomes.iter().skip(seen).sum();
    two_sided(at_most / ways, at_least / ways)
}

/// The least that [`probability`] can be for so many values: all of one side above all of the other.
pub fn least(left: usize, right: usize) -> f64 {
    let (left, all) = (left as u64, left.saturating_add(right) as u64);
    (2.0 * (-ln_binomial(all, left)).exp()).min(1.0)
}

/// In how many ways so many of the ranks add up to each sum.
fn sums(ranks: &[usize], taken: usize) -> Vec<f64> {
    let length = ranks.iter().sum::<usize>().saturating_add(1);
    // By how many are taken, then by their sum.
    let mut ways = vec![vec![0.0; length]; taken.saturating_add(1)];
    ways[0][0] = 1.0;
    for rank in ranks {
        for count in (1..ways.len()).rev() {
            let (fewer, these) = ways.split_at_mut(count);
            let (Some(fewer), Some(these)) = (fewer.last(), these.first_mut()) else { continue };
            for (sum, without) in these.iter_mut().skip(*rank).zip(fewer) {
                *sum += without;
            }
        }
    }
    ways.pop().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(seen: f64, expected: f64) {
        assert!((seen / expected - 1.0).abs() < 1e-9, "{seen} is not {expected}");
    }

    #[test]
    fn known_answers() {
        // Hollander and Wolfe (1973), permeability of membranes, also in R's manual: wilcox.test(x, y), there one-sided.
        let term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let weeks = [1.15, 0.88, 0.90, 0.74, 1.21];
        assert_close(probability(&term, &weeks), 0.254_412_254_412_254_4);
        // Age at which diabetes was diagnosed, as in scipy's manual: mannwhitneyu(males, females, method="exact").
        assert_close(probability(&[19., 22., 16., 29., 24.], &[20., 11., 17., 12.]), 1.0 / 9.0);
        // scipy 1.17.1 with ties: mannwhitneyu(x, y, method=PermutationMethod(n_resamples=10**9)), which tries all ways.
        let (left, right) = ([1., 2., 2., 3., 3., 5., 6.], [2., 3., 4., 4., 5., 7., 8., 8.]);
        assert_close(probability(&left, &right), 0.094_172_494_172_494_17);
        // Many: mannwhitneyu(x, y, method="asymptotic").
        let left: Vec<f64> = (0..70).map(|i| f64::from(i * 37 % 101) / 10.0).collect();
        let right: Vec<f64> = (0..50).map(|i| f64::from(i * 53 % 97) / 10.0 + 1.0).collect();
        assert_close(probability(&left, &right), 0.340_645_173_331_373_8);
    }

    #[test]
    fn the_least_is_that_of_sides_apart() {
        for (left, right) in [(1, 1), (5, 4), (9, 9), (3, 30), (30, 30)] {
            let low: Vec<f64> = (0..left).map(|i| i as f64).collect();
            let high: Vec<f64> = (0..right).map(|i| 100.0 + i as f64).collect();
            assert_close(probability(&low, &high), least(left, right));
        }
        assert_eq!(probability(&[], &[1.0]), 1.0);
        assert_eq!(probability(&[2.0; 40], &[2.0; 40]), 1.0);
    }
}
