//! From values to a ratio and its verdict.

use super::{Ratio, Verdict};
use crate::compare::results::Figure;
use crate::compare::statistics::{bootstrap, describe, rank_sum, signed_rank};

/// A difference is one when it is less probable than this without any (see [`super`]).
pub const ALARM: f64 = 0.005;

/// Fewer rounds say nothing.
pub const FEWEST: usize = 6;

/// Rounds from which on a difference can be seen at all: if all of them agree, that is as rare as [`ALARM`].
pub const NEEDED: usize = 9;

/// An interval that reaches no further from 1 than this share is narrow enough to say that there is no large difference,
/// whatever the precision.
const LARGE: f64 = 0.05;

impl Ratio {
    /// Of pairs: a participant's value and the baseline's, in the order of the rounds. `None`: there are none, or one has no
    /// ratio.
    pub fn of_pairs(pairs: &[(f64, f64)], figure: &Figure, precision: f64) -> Option<Ratio> {
        // What would be left of the rounds without those that have no ratio is no sample of them.
        if !pairs.iter().all(|(own, other)| comparable(*own, *other)) {
            return None;
        }
        let pairs = || pairs.iter().copied();
        // Exact to the last bit in both directions, as the logarithm of a quotient is not.
        let differences: Vec<f64> = pairs().map(|(own, other)| logarithm(own) - logarithm(other)).collect();
        let median = describe::median(&differences)?;
        let interval = bootstrap::of_median(&differences)?;
        let p = signed_rank::probability(&differences);
        let least = signed_rank::least(differences.len());
        let equal = differences.iter().all(|difference| *difference == 0.0);
        let ratios = pairs().map(|(own, other)| if own == other { 1.0 } else { own / other }).collect();
        let rounds = differences.len();
        Some(Ratio::judged(Judged { rounds, median, interval, p, least, equal }, figure, precision, ratios))
    }

    /// Of values that are not in pairs, such as those of two results. Those that are not above 0 are left out, unless all
    /// are equal. `None`: a side has none.
    pub fn of_sides(own: &[f64], other: &[f64], figure: &Figure, precision: f64) -> Option<Ratio> {
        let equal = !own.is_empty() && own.iter().chain(other).all(|value| Some(value) == other.first());
        let logarithms = |values: &[f64]| -> Vec<f64> {
            values.iter().filter(|value| equal || comparable(**value, 1.0)).map(|value| logarithm(*value)).collect()
        };
        let (own, other) = (logarithms(own), logarithms(other));
        let judged = Judged {
            rounds: own.len().min(other.len()),
            median: describe::median(&own)? - describe::median(&other)?,
            interval: bootstrap::of_difference(&own, &other)?,
            p: rank_sum::probability(&own, &other),
            least: rank_sum::least(own.len(), other.len()),
            equal,
        };
        Some(Ratio::judged(judged, figure, precision, Vec::new()))
    }

    fn judged(judged: Judged, figure: &Figure, precision: f64, ratios: Vec<f64>) -> Ratio {
        let (low, high) = judged.interval;
        Ratio {
            rounds: judged.rounds,
            median: judged.median.exp(),
            interval: (low.exp(), high.exp()),
            p: judged.p,
            verdict: judged.verdict(figure.higher_is_better, precision),
            ratios,
        }
    }

    /// How far the interval's ends are from the median, the further one, as a share: 0.01 is one per cent to each side.
    pub fn spread(&self) -> f64 {
        let (low, high) = self.interval;
        (high / self.median).max(self.median / low) - 1.0
    }

    /// How far the interval reaches from 1, as a share.
    pub(super) fn reach(&self) -> f64 {
        let (low, high) = self.interval;
        (high - 1.0).max(1.0 - low).max(0.0)
    }
}

/// Beyond which share an interval without a difference is too wide to say that there is none.
pub(super) fn narrow(precision: f64) -> f64 {
    (5.0 * precision).max(LARGE)
}

/// Whether a pair has a ratio.
pub(super) fn comparable(own: f64, other: f64) -> bool {
    let positive = own > 0.0 && other > 0.0;
    own.is_finite() && other.is_finite() && (positive || (own == 0.0 && other == 0.0))
}

/// Of a value that is [`comparable`]; what stands for 0 is never set against anything but 0.
fn logarithm(value: f64) -> f64 {
    if value > 0.0 { value.ln() } else { 0.0 }
}

/// Everything in logarithms.
struct Judged {
    rounds: usize,
    median: f64,
    interval: (f64, f64),
    p: f64,
    /// The least that `p` could be.
    least: f64,
    /// Whether all values were.
    equal: bool,
}

impl Judged {
    fn verdict(&self, higher_is_better: bool, precision: f64) -> Verdict {
        let (low, high) = self.interval;
        let apart = low > 0.0 || high < 0.0;
        let narrow = high.exp_m1().max(-low.exp_m1()) <= narrow(precision);
        if self.equal {
            Verdict::NoDifference
        } else if self.rounds < FEWEST {
            Verdict::TooFew
        } else if apart && self.p <= ALARM {
            if (low > 0.0) == higher_is_better { Verdict::Better } else { Verdict::Worse }
        } else if self.least > ALARM && (apart || !narrow) {
            Verdict::TooFew
        } else if apart {
            Verdict::Perhaps
        } else if narrow {
            Verdict::NoDifference
        } else {
            Verdict::TooNoisy
        }
    }
}
