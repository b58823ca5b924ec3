//! Bootstrap intervals of medians: 95 per cent, by percentiles.
//!
//! The bootstrap asks what medians come out when as many values as there are are drawn from them, with replacement, again
//! and again. For a median no drawing is needed: which of the sorted values it falls on depends on their number only, and
//! how probable each is is a formula (Maritz and Jarrett 1978). So this is what infinitely many resamples would give.

use statrs::function::beta::beta_reg;
use statrs::function::factorial::ln_binomial;

/// What may lie outside on each side.
const TAIL: f64 = 0.025;

/// More outcomes of a median than these are put together before they are set against those of another.
const OUTCOMES: usize = 400;

/// A value, and how probable it is.
type Outcome = (f64, f64);

/// The interval of the median. `None`: no value.
pub fn of_median(values: &[f64]) -> Option<(f64, f64)> {
    percentiles(medians(values))
}

/// The interval of the first's median less the second's, which are not in pairs. `None`: one of them has no value.
pub fn of_difference(left: &[f64], right: &[f64]) -> Option<(f64, f64)> {
    let (left, right) = (condensed(medians(left)), condensed(medians(right)));
    let all = left.iter().flat_map(|(value, weight)| {
        right.iter().map(move |(other, other_weight)| (value - other, weight * other_weight))
    });
    percentiles(all.collect())
}

/// The medians that resamples can have.
fn medians(values: &[f64]) -> Vec<Outcome> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |rank: usize| sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default();
    let outcomes = middles(sorted.len()).into_iter();
    outcomes.map(|(low, high, weight)| ((at(low) + at(high)) / 2.0, weight)).collect()
}

/// On which of `n` sorted values the two in the middle of a resample fall, and how probable that is. Ranks from 1; the
/// same one twice where `n` is odd.
fn middles(n: usize) -> Vec<(usize, usize, f64)> {
    let half = n / 2;
    // The rank of the middle has a standard deviation of half the root of n: nothing worth counting is beyond this.
    let reach = (4.0 * (n as f64).sqrt()) as usize + 4;
    let first = half.saturating_sub(reach).max(1);
    let last = half.saturating_add(reach).min(n);
    // That the value of this place in a resample is one of the first `rank`.
    let within = |place: usize, rank: usize| match rank {
        0 => 0.0,
        rank if rank >= n => 1.0,
        rank => beta_reg(place as f64, (n - place + 1) as f64, rank as f64 / n as f64),
    };
    let exactly = |place: usize, rank: usize| within(place, rank) - within(place, rank.saturating_sub(1));
    if n % 2 == 1 {
        return (first..=last).map(|rank| (rank, rank, exactly(half + 1, rank))).collect();
    }
    let mut outcomes = Vec::new();
    let (ways, power) = (ln_binomial(n as u64, half as u64), half as f64);
    for low in first..=last {
        let (low_share, mut rest) = (low as f64 / n as f64, exactly(half, low));
        let low_at = 1.0 - ((low as f64 - 1.0) / low as f64).powf(power);
        for high in low.saturating_add(1)..=n {
            // Half of the draws within the first `low` with one on it, and half from `high` on with one on that.
            let left = n.saturating_sub(high).saturating_add(1) as f64;
            let both = (ways + power * (low_share.ln() + (left / n as f64).ln())).exp();
            let weight = both * low_at * (1.0 - ((left - 1.0) / left).powf(power));
            if weight < 1e-6 {
                break;
            }
            rest -= weight;
            outcomes.push((low, high, weight));
        }
        // What was too improbable to be told apart counts as falling on one value twice.
        outcomes.push((low, low, rest.max(0.0)));
    }
    outcomes.retain(|(_, _, weight)| *weight > 1e-9);
    outcomes
}

/// At most about [`OUTCOMES`]: neighbours are put together where there are more.
fn condensed(mut outcomes: Vec<Outcome>) -> Vec<Outcome> {
    if outcomes.len() <= OUTCOMES {
        return outcomes;
    }
    outcomes.sort_by(|(left, _), (right, _)| left.total_cmp(right));
    let mut few = Vec::new();
    let (mut sum, mut together) = (0.0, 0.0);
    for (value, weight) in outcomes {
        sum += value * weight;
        together += weight;
        if together * OUTCOMES as f64 >= 1.0 {
            few.push((sum / together, together));
            (sum, together) = (0.0, 0.0);
        }
    }
    if together > 0.0 {
        few.push((sum / together, together));
    }
    few
}

/// The smallest and largest value with not less than [`TAIL`] at or beyond them.
fn percentiles(mut outcomes: Vec<Outcome>) -> Option<(f64, f64)> {
    outcomes.sort_by(|(left, _), (right, _)| left.total_cmp(right));
    fn reaching<'a>(mut outcomes: impl Iterator<Item = &'a Outcome>) -> Option<f64> {
        let mut sum = 0.0;
        let reached = outcomes.find(|(_, weight)| {
            sum += weight;
            sum >= TAIL
        });
        reached.map(|(value, _)| *value)
    }
    Some((reaching(outcomes.iter())?, reaching(outcomes.iter().rev())?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::statistics::describe::median;

    #[test]
    fn the_middle_of_a_resample_falls_somewhere() {
        for n in [1, 2, 3, 4, 9, 10, 99, 100, 1000, 1001, 30_000] {
            let all = middles(n);
            let sum: f64 = all.iter().map(|(_, _, weight)| weight).sum();
            assert!((sum - 1.0).abs() < 1e-6, "{n}: {sum}");
            assert!(all.iter().all(|(low, high, weight)| 1 <= *low && low <= high && *high <= n && *weight >= 0.0));
        }
    }

    /// The formula against what it replaces.
    #[test]
    fn intervals_are_those_of_drawn_resamples() {
        let mut random = fastrand::Rng::with_seed(7);
        for n in [5_usize, 6, 15, 24] {
            let values: Vec<f64> = (0..n).map(|_| random.f64()).collect();
            let other: Vec<f64> = (0..n + 3).map(|_| random.f64()).collect();
            let mut draw = |values: &[f64]| {
                let drawn: Vec<f64> = values.iter().map(|_| values[random.usize(..values.len())]).collect();
                median(&drawn).unwrap()
            };
            let mut one = Vec::new();
            let mut two = Vec::new();
            for _ in 0..20_000 {
                one.push(draw(&values));
                two.push(draw(&values) - draw(&other));
            }
            for (mut drawn, (low, high)) in
                [(one, of_median(&values).unwrap()), (two, of_difference(&values, &other).unwrap())]
            {
                drawn.sort_by(f64::total_cmp);
                // The percentiles of the drawn ones are no more than a few ranks off: chance has a deviation of 22.
                assert!(drawn[400] <= low && low <= drawn[600], "{n}: {low} of {} to {}", drawn[400], drawn[600]);
                assert!(drawn[19_399] <= high && high <= drawn[19_599], "{n}: {high}");
            }
        }
    }

    #[test]
    fn intervals_of_very_many_values_are_found_quickly() {
        let values: Vec<f64> = (0..100_000).map(f64::from).collect();
        // The median's standard error, in ranks, is half the root of n: 1.96 times 158.
        let (low, high) = of_median(&values).unwrap();
        assert!((49_670.0..49_710.0).contains(&low) && (50_289.0..50_329.0).contains(&high), "{low} {high}");
        let (low, high) = of_difference(&values, &values).unwrap();
        assert!((-460.0..-410.0).contains(&low) && (410.0..460.0).contains(&high), "{low} {high}");
    }

    #[test]
    fn nothing_has_no_interval() {
        assert_eq!(of_median(&[]), None);
        assert_eq!(of_difference(&[1.0], &[]), None);
        assert_eq!(of_median(&[2.0]), Some((2.0, 2.0)));
    }
}
