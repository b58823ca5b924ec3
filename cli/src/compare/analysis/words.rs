//! Ratios in words. A per cent is always a share of the baseline's figure: "faster by 8%" is 8% of the baseline's time
//! saved, not 8% more done in the same time.

use super::{NEEDED, Ratio, Verdict};
use crate::compare::results::{Figure, Unit};

impl Ratio {
    /// "faster by 8.1% (5.0 to 11.2)", "no difference seen (±2.0%)", "perhaps slower by 3.1% (0.4 to 5.2): …", "too noisy to
    /// tell (-12% to +9%): …". In the last one
    /// plus is for the better, as in [`Ratio::change`].
    pub fn words(&self, figure: &Figure) -> String {
        match self.verdict {
            Verdict::Better | Verdict::Worse => self.difference(figure),
            Verdict::NoDifference => {
                let reach = 100.0 * self.reach();
                if reach == 0.0 {
                    "no difference".to_owned()
                } else {
                    format!("no difference seen (±{})", percent(reach))
                }
            }
            // The interval leaves no difference out, the test does not: it has to be right more often.
            Verdict::Perhaps => format!("perhaps {}: more --rounds would tell", self.difference(figure)),
            Verdict::TooNoisy => {
                let (from, to) = self.change_interval(figure);
                let decimals = if from.abs().max(to.abs()) < 10.0 { 1 } else { 0 };
                let interval = format!("{from:+.decimals$}% to {to:+.decimals$}%");
                format!("too noisy to tell ({interval}): quiet the machine, or more --rounds")
            }
            Verdict::TooFew => format!("too few rounds to tell: {NEEDED} at least"),
        }
    }

    /// The change in per cent, plus for the better: 100 to 92 is +8 where less is better, and -8 where more is.
    pub fn change(&self, figure: &Figure) -> f64 {
        change(self.median, figure)
    }

    /// The interval of [`Ratio::change`], the lower end first.
    pub fn change_interval(&self, figure: &Figure) -> (f64, f64) {
        let (one, other) = (change(self.interval.0, figure), change(self.interval.1, figure));
        (one.min(other), one.max(other))
    }

    fn difference(&self, figure: &Figure) -> String {
        let less = self.median < 1.0;
        let word = match (&figure.unit, figure.higher_is_better, less) {
            (Unit::Seconds, false, true) => "faster",
            (Unit::Seconds, false, false) => "slower",
            (Unit::Bytes, false, true) => "less memory",
            (Unit::Bytes, false, false) => "more memory",
            (Unit::Count, false, true) => "lower",
            (Unit::Count, false, false) => "higher",
            _ if less != figure.higher_is_better => "better",
            _ => "worse",
        };
        let share = |ratio: f64| 100.0 * if less { 1.0 - ratio } else { ratio - 1.0 };
        let (one, other) = (share(self.interval.0), share(self.interval.1));
        let (from, to) = (one.min(other), one.max(other));
        let size = share(self.median);
        let decimals = decimals(if size < 1.0 { from } else { size });
        format!("{word} by {size:.decimals$}% ({from:.decimals$} to {to:.decimals$})")
    }
}

fn change(ratio: f64, figure: &Figure) -> f64 {
    100.0 * if figure.higher_is_better { ratio - 1.0 } else { 1.0 - ratio }
}

/// "8.1%", "0.04%", "390%".
fn percent(value: f64) -> String {
    format!("{value:.decimals$}%", decimals = decimals(value))
}

/// One; two for what would be 0.0 otherwise, none where it would pretend too much.
fn decimals(value: f64) -> usize {
    match value.abs() {
        small if small < 0.1 => 2,
        large if large >= 100.0 => 0,
        _ => 1,
    }
}
