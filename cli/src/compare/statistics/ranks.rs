//! Ranks of values with ties.

/// Twice the rank of each value, counted from 1; equal values share the mean of theirs, which twice over is a whole number.
pub(super) fn doubled(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    let at = |index: usize| values.get(index).copied().unwrap_or_default();
    order.sort_by(|left, right| at(*left).total_cmp(&at(*right)));
    let mut ranks = vec![0; values.len()];
    let mut before = 0_usize;
    for equal in order.chunk_by(|left, right| at(*left) == at(*right)) {
        // The first of them has the rank before + 1, the last before + their number.
        let shared = before.saturating_mul(2).saturating_add(equal.len()).saturating_add(1);
        for index in equal {
            if let Some(rank) = ranks.get_mut(*index) {
                *rank = shared;
            }
        }
        before = before.saturating_add(equal.len());
    }
    ranks
}

/// Both tails: twice the smaller, but never more than certain.
pub(super) fn two_sided(at_most: f64, at_least: f64) -> f64 {
    (2.0 * at_most.min(at_least)).min(1.0)
}

/// The probability that a normal variable is as far from its mean, to either side. `correction`: half a step of a
/// variable that is a whole number of steps.
pub(super) fn normal_two_sided(distance: f64, variance: f64, correction: f64) -> f64 {
    if variance <= 0.0 {
        return 1.0;
    }
    let z = (distance.abs() - correction).max(0.0) / variance.sqrt();
    statrs::function::erf::erfc(z / std::f64::consts::SQRT_2).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::doubled;

    #[test]
    fn equal_values_share_their_ranks() {
        assert_eq!(doubled(&[30.0, 10.0, 20.0]), [6, 2, 4]);
        assert_eq!(doubled(&[5.0, 1.0, 5.0, 5.0, 9.0]), [6, 2, 6, 6, 10]);
        assert_eq!(doubled(&[0.0, -0.0]), [3, 3]);
        assert!(doubled(&[]).is_empty());
    }
}
