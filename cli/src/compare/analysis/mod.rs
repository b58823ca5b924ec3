//! What follows from the measurements: for each point and figure the median of every participant, and its ratio to the
//! baseline with an interval and a verdict.
//!
//! A ratio is made of two runs of the same round at the same point, which are neighbours in time: what the machine does to
//! both is not in it. A pair of which one has failed gives none; two zeros are equal. Where one side alone has 0 in any
//! round there is no ratio at all, and a finding says so: what would be left of the rounds is no sample of them. Of the ratios there are the median, its bootstrap interval of 95 per cent, and the probability (Wilcoxon's signed
//! ranks) of such pairs without a difference.
//!
//! # The verdict
//! A difference is seen when the interval leaves out 1 and the probability is [`ALARM`] (0.005) at most. The interval alone
//! is not enough: it raises a false alarm in one figure of twenty or so, and a comparison has several. Otherwise there
//! is none as far as one can see, when the interval reaches no further from 1 than five times the precision asked for, or
//! than 5% when that is more; and it is too noisy when it does. Fewer than [`FEWEST`] (6) rounds say nothing unless all
//! are equal. With 6 to 8 a difference cannot be that improbable: they can say only that there is no large one.
//!
//! Simulated (`simulation.rs`: 1000 comparisons each) with the order of runs that is really used. The noise of a run has
//! the deviation that is given; drift is a state of the machine with a deviation of 10%, nine tenths of which last to the
//! next run; outliers are one run in twenty that takes twice as much. The share of comparisons of two identical
//! participants with a false alarm in any of three headline figures, which 5% would be too many:
//!
//! | noise | 9 rounds | 10 | 12 | 15 | 20 | 30 | 40 | until precise |
//! |---|---|---|---|---|---|---|---|---|
//! | 3% or 10% | 0.7% | 1.3% | 1.8% | 1.6% | 2.1% | 1.1% | 0.9% | 1.8% |
//! | 3%, outliers | 1.1% | 1.5% | 1.8% | 1.8% | 1.4% | 1.1% | 0.7% | 1.5% |
//! | 10%, drift, outliers | 1.1% | 1.3% | 1.3% | 1.5% | 1.4% | 1.2% | 1.1% | 1.3% |
//! | whole pages, most of them equal | 0.0% | 0.0% | 0.0% | 0.0% | 0.1% | 0.0% | 0.0% | 0.0% |
//!
//! The interval covers the true ratio in 93 to 96% of them; in 92% where the rounds end as soon as it is narrow, because
//! that is sooner when it is narrow by chance. How often a planted difference is found:
//!
//! | difference | noise of a run | 10 rounds | 20 | 40 |
//! |---|---|---|---|---|
//! | 3% slower | 1% | 96% | 100% | 100% |
//! | 3% slower | 1%, drift of 3%, outliers | 45% | 74% | 98% |
//! | 3% slower | 3% | 12% | 46% | 88% |
//! | 5% more memory | 1% | 100% | 100% | 100% |
//! | 5% more memory | 3% | 41% | 96% | 100% |
//! | 10% slower | 10% | 11% | 42% | 86% |
//!
//! Each figure of each participant at each point can raise a false alarm, less than once in 100 times: a sweep with a hundred
//! of them will have one every other time.

mod judge;
pub mod noise;
mod words;

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

pub use judge::{ALARM, FEWEST, NEEDED};

use super::results::{Comparison, Figure};
use super::statistics::describe;
use serde::Serialize;

/// All rows, in the order of points, then figures.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Analysis {
    /// A row for each point and figure for which there is any value.
    pub rows: Vec<Row>,
}

/// One figure at one point.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Index of the point.
    pub point: usize,
    /// Index of the figure.
    pub figure: usize,
    /// One for each participant; `None`: no run of it counts, or has the figure.
    pub cells: Vec<Option<Cell>>,
}

/// One figure of one participant at one point.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// How many runs have it.
    pub runs: usize,
    /// Median.
    pub median: f64,
    /// First and third quartile.
    pub quartiles: (f64, f64),
    /// Smallest and largest.
    pub range: (f64, f64),
    /// Against the baseline; `None` for the baseline itself, and when no round has both.
    pub ratio: Option<Ratio>,
}

/// A participant's figure as a share of the baseline's, pair by pair of the same round.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ratio {
    /// How many rounds have both. Without pairs (against an older result): how many runs the side with fewer has.
    pub rounds: usize,
    /// Median of the ratios: 0.92 is 8 per cent less than the baseline.
    pub median: f64,
    /// Bootstrap interval of 95 per cent.
    pub interval: (f64, f64),
    /// Two-sided probability of the signed-rank test (without pairs: the rank-sum test) that there is no difference.
    pub p: f64,
    /// What it comes to.
    pub verdict: Verdict,
    /// The ratios, in the order of the rounds; none without pairs.
    #[serde(skip)]
    pub ratios: Vec<f64>,
}

/// What a ratio comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A difference was seen, and it is for the better.
    Better,
    /// A difference was seen, and it is for the worse.
    Worse,
    /// The interval leaves out that there is none, and the test does not: more rounds would tell.
    Perhaps,
    /// None was seen, and a large one would have been.
    NoDifference,
    /// None was seen, and the interval is so wide that one may be there.
    TooNoisy,
    /// Too few rounds to say anything.
    TooFew,
}

/// Judges what was measured so far.
pub fn analyse(comparison: &Comparison) -> Analysis {
    let figures = || comparison.figures.iter().enumerate();
    let rows = (0..comparison.points.len()).flat_map(|point| {
        figures().filter_map(move |(index, figure)| {
            let participants = 0..comparison.participants.len();
            let cells: Vec<Option<Cell>> =
                participants.map(|participant| cell(comparison, figure, participant, point)).collect();
            cells.iter().any(Option::is_some).then_some(Row { point, figure: index, cells })
        })
    });
    Analysis { rows: rows.collect() }
}

impl Analysis {
    /// The row of a figure at a point, by their indices.
    pub fn row(&self, point: usize, figure: usize) -> Option<&Row> {
        self.rows.iter().find(|row| row.point == point && row.figure == figure)
    }
}

/// `None`: no value.
fn cell(comparison: &Comparison, figure: &Figure, participant: usize, point: usize) -> Option<Cell> {
    let values: Vec<f64> = values(comparison, figure, participant, point).into_iter().map(|(_, value)| value).collect();
    Some(Cell {
        runs: values.len(),
        median: describe::median(&values)?,
        quartiles: describe::quartiles(&values)?,
        range: describe::range(&values)?,
        ratio: ratio(comparison, figure, participant, point),
    })
}

/// A participant's figure against the baseline's. `None`: it is the baseline, or no round has both.
pub fn ratio(comparison: &Comparison, figure: &Figure, participant: usize, point: usize) -> Option<Ratio> {
    (participant != comparison.baseline).then_some(())?;
    Ratio::of_pairs(&pairs(comparison, figure, participant, point), figure, comparison.precision)
}

/// The values of a participant and the baseline in the rounds that have both.
fn pairs(comparison: &Comparison, figure: &Figure, participant: usize, point: usize) -> Vec<(f64, f64)> {
    let baseline: std::collections::BTreeMap<u32, f64> =
        values(comparison, figure, comparison.baseline, point).into_iter().collect();
    let own = values(comparison, figure, participant, point).into_iter();
    let mut rounds: Vec<(u32, f64, f64)> =
        own.filter_map(|(round, value)| Some((round, value, *baseline.get(&round)?))).collect();
    rounds.sort_by_key(|(round, ..)| *round);
    rounds.into_iter().map(|(_, own, other)| (own, other)).collect()
}

/// The values that are numbers, with their round.
fn values(comparison: &Comparison, figure: &Figure, participant: usize, point: usize) -> Vec<(u32, f64)> {
    let mut values = comparison.values(&figure.id, participant, point);
    values.retain(|(_, value)| value.is_finite());
    values
}
