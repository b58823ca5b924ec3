//! Wilcoxon's signed-rank test of pairs.
//!
//! Without a difference each pair might as well have come out the other way round. The test asks in what share of all such
//! outcomes the ranks of the pairs in favour of one side add up to a sum as far from the middle as the one that was seen.
//! It supposes nothing about the distribution, and a pair that is far out has no more weight than the highest rank.
//!
//! Pairs without a difference get ranks with the others, and are left out then (Pratt 1959): dropped before, as Wilcoxon
//! did, they would make the others look stronger the more of them there are.

use super::ranks::{doubled, normal_two_sided, two_sided};

/// Up to this sum of doubled ranks the distribution is computed: some 140 pairs. Beyond, the normal one is as good.
const COMPUTED: usize = 20_000;

/// The two-sided probability of differences like these when there is none. Exact up to some 140 pairs, ties included.
pub fn probability(differences: &[f64]) -> f64 {
    let distances: Vec<f64> = differences.iter().map(|difference| difference.abs()).collect();
    let ranked = doubled(&distances).into_iter().zip(differences).filter(|(_, difference)| **difference != 0.0);
    let signed: Vec<(usize, bool)> = ranked.map(|(rank, difference)| (rank, *difference > 0.0)).collect();
    let ranks = || signed.iter().map(|(rank, _)| *rank);
    let whole: usize = ranks().sum();
    let seen: usize = signed.iter().filter(|(_, positive)| *positive).map(|(rank, _)| *rank).sum();
    if whole > COMPUTED {
        // Ranks shared by ties have smaller squares: the usual correction is in this sum.
        let variance = ranks().map(|rank| (rank as f64).powi(2)).sum::<f64>() / 4.0;
        return normal_two_sided(seen as f64 - whole as f64 / 2.0, variance, 1.0);
    }
    let outcomes = sums(ranks(), whole);
    let at_most = outcomes.iter().take(seen.saturating_add(1)).sum();
    let at_least = outcomes.iter().skip(seen).sum();
    two_sided(at_most, at_least)
}

/// The least that [`probability`] can be for so many pairs: all of them in favour of one side.
pub fn least(pairs: usize) -> f64 {
    (2.0 * 0.5_f64.powi(i32::try_from(pairs).unwrap_or(i32::MAX))).min(1.0)
}

/// How probable each sum of those ranks is that are counted, when a coin decides for each.
fn sums(ranks: impl Iterator<Item = usize>, whole: usize) -> Vec<f64> {
    let mut outcomes = vec![0.0; whole.saturating_add(1)];
    outcomes[0] = 1.0;
    for rank in ranks {
        for sum in (0..outcomes.len()).rev() {
            let with = sum.checked_sub(rank).map_or(0.0, |rest| outcomes[rest]);
            outcomes[sum] = (outcomes[sum] + with) / 2.0;
        }
    }
    outcomes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(seen: f64, expected: f64) {
        assert!((seen / expected - 1.0).abs() < 1e-9, "{seen} is not {expected}");
    }

    #[test]
    #[allow(clippy::approx_constant, reason = "measurements")]
    fn known_answers() {
        // Hollander and Wolfe (1973), depression scale factor at two visits, also in R's manual: wilcox.test(x, y, paired = TRUE).
        let first = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
        let second = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
        let differences: Vec<f64> = first.iter().zip(second).map(|(first, second)| first - second).collect();
        assert_close(probability(&differences), 0.039_062_5);
        // Darwin's maize, as in scipy's manual: wilcoxon(d).
        let darwin = [6., 8., 14., 16., 23., 24., 28., 29., 41., -48., 49., 56., 60., -67., 75.];
        assert_close(probability(&darwin), 0.041_259_765_625);
        // scipy 1.17.1 with ties: wilcoxon(d, method=PermutationMethod(n_resamples=10**9)), which tries all outcomes.
        assert_close(probability(&[1., 1., 2., -2., 3., 3., 3., -1., 4., 5.]), 0.031_25);
        // The same with zeros: and zero_method="pratt".
        assert_close(probability(&[0., 0., 1., 2., -1., 3., 4., 4., 5., 0., 6.]), 0.023_437_5);
        // Many: wilcoxon(d, zero_method="pratt", correction=True, method="approx").
        let many: Vec<f64> = (0..200).map(|i| f64::from(i * 37 % 101 - 45) / 10.0).collect();
        assert_close(probability(&many), 0.020_228_476_497_987_14);
    }

    #[test]
    fn the_least_is_that_of_pairs_in_one_direction() {
        for pairs in 1..40 {
            let differences: Vec<f64> = (1..=pairs).map(f64::from).collect();
            assert_close(probability(&differences), least(differences.len()));
        }
        assert_eq!(probability(&[]), 1.0);
        assert_eq!(probability(&[0.0; 50]), 1.0);
        assert_eq!(probability(&vec![0.0; 5000]), 1.0);
    }
}
