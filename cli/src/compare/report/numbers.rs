//! How figures are written: in one unit for a row, and with no more digits than the runs support.

use crate::compare::analysis::{Cell, Ratio};
use crate::compare::results::{Figure, Unit};

/// The unit that a row or a table is written in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    divisor: f64,
    /// "", "ms", "MiB".
    pub(super) name: &'static str,
    /// Digits behind the point at most.
    most: i32,
}

const BYTES: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

impl Scale {
    /// The one that suits numbers of this size.
    pub(super) fn of(unit: &Unit, size: f64) -> Scale {
        let size = size.abs();
        let scale = |divisor, name, most| Scale { divisor, name, most };
        match unit {
            Unit::Seconds if size >= 1.0 => scale(1.0, "s", 3),
            Unit::Seconds if size >= 1e-3 => scale(1e-3, "ms", 3),
            Unit::Seconds if size >= 1e-6 => scale(1e-6, "µs", 3),
            Unit::Seconds if size > 0.0 => scale(1e-9, "ns", 3),
            Unit::Seconds => scale(1.0, "s", 3),
            Unit::Bytes => {
                let larger = |(divisor, _): &(f64, &str)| *divisor <= size;
                let divisors = (0..6).map(|power| 1024_f64.powi(power)).zip(BYTES);
                let (divisor, name) = divisors.take_while(larger).last().unwrap_or((1.0, "B"));
                scale(divisor, name, if divisor > 1.0 { 2 } else { 0 })
            }
            Unit::Count => scale(1.0, "", 0),
            Unit::Plain => scale(1.0, "", 6),
        }
    }

    /// The one that suits all of these.
    pub(super) fn of_all(unit: &Unit, values: impl IntoIterator<Item = f64>) -> Scale {
        let largest = values.into_iter().filter(|value| value.is_finite()).map(f64::abs).fold(0.0, f64::max);
        Scale::of(unit, largest)
    }

    /// A value in this unit, as a number.
    pub(super) fn down(&self, value: f64) -> f64 {
        value / self.divisor
    }

    /// "12.34 ms". `spread` tells which digits mean something.
    pub(super) fn write(&self, value: f64, spread: Option<f64>) -> String {
        let digits = self.digits(value, spread);
        self.with_name(number(self.down(value), digits))
    }

    /// "12.34 ± 0.05 ms"; without the second when there are no two runs.
    pub(super) fn cell(&self, cell: &Cell) -> String {
        match spread(cell) {
            Some(spread) => {
                let digits = self.digits(cell.median, Some(spread));
                let both =
                    format!("{} ± {}", number(self.down(cell.median), digits), number(self.down(spread), digits));
                self.with_name(both)
            }
            None => self.write(cell.median, None),
        }
    }

    fn with_name(&self, number: String) -> String {
        if self.name.is_empty() { number } else { format!("{number} {}", self.name) }
    }

    /// Digits behind the point; negative: zeros before it. Two digits of the spread say something.
    fn digits(&self, value: f64, spread: Option<f64>) -> i32 {
        let value = self.down(value).abs();
        let supported = match spread.map(|spread| self.down(spread)) {
            Some(spread) if spread > 0.0 && spread.is_finite() => 1_i32.saturating_sub(power_of_ten(spread)),
            // Nothing is known of the spread: as programs print such numbers.
            _ if value.fract() == 0.0 => 0,
            _ if value >= 100.0 => 2,
            _ if value > 0.0 => 3_i32.saturating_sub(power_of_ten(value)),
            _ => 0,
        };
        supported.min(self.most)
    }
}

/// Half the distance between the quartiles; `None` when there are no two runs.
pub(super) fn spread(cell: &Cell) -> Option<f64> {
    let (first, third) = cell.quartiles;
    let spread = (third - first).abs() / 2.0;
    (cell.runs > 1 && spread.is_finite()).then_some(spread)
}

/// How much better than the baseline, in per cent: plus is better, whichever direction that is.
pub(super) fn better_by(ratio: f64, figure: &Figure) -> f64 {
    let better = if figure.higher_is_better { ratio - 1.0 } else { 1.0 - ratio };
    better * 100.0
}

/// "+4.82%": plus is better.
pub(super) fn change(ratio: &Ratio, figure: &Figure) -> String {
    let better = better_by(ratio.median, figure);
    if !better.is_finite() {
        return "-".to_owned();
    }
    let (low, high) = ratio.interval;
    let half = (high - low).abs() * 50.0;
    let digits = match half {
        half if !half.is_finite() || ratio.rounds < 2 => 1,
        // As many as the words of a verdict have; more where they say something.
        half if half >= 10.0 => 0,
        half if half >= 0.1 => 1,
        _ => 2,
    };
    signed(better, digits)
}

/// With a plus or a minus, unless it is zero as written: "+4.8%".
pub(super) fn signed(per_cent: f64, digits: i32) -> String {
    let size = number(per_cent.abs(), digits);
    let nothing = !size.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
    let sign = if nothing {
        ""
    } else if per_cent < 0.0 {
        "-"
    } else {
        "+"
    };
    format!("{sign}{size}%")
}

/// "45%", "0.4%", "0%".
pub(super) fn share(part: u64, whole: u64) -> String {
    let share = part as f64 * 100.0 / whole.max(1) as f64;
    let digits = i32::from(share > 0.0 && share < 10.0);
    format!("{}%", number(share, digits))
}

/// "12.34 MiB".
pub(super) fn bytes(number: u64) -> String {
    crate::terminal::bytes(number)
}

/// "1,234.50"; with negative digits "1,200".
pub(super) fn number(value: f64, digits: i32) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    let rounded = if digits < 0 {
        let step = 10_f64.powi(digits.saturating_neg());
        (value / step).round() * step
    } else {
        value
    };
    let behind = usize::try_from(digits).unwrap_or(0);
    let text = format!("{:.behind$}", rounded.abs());
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && whole.len().saturating_sub(index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let negative = rounded < 0.0 && text.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
    format!("{}{grouped}{rest}", if negative { "-" } else { "" })
}

/// The power of ten that a number above zero begins with: 2 for 250.
fn power_of_ten(value: f64) -> i32 {
    // Within what an i32 holds: 308 at most.
    value.log10().floor() as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::analysis::Verdict;

    fn cell(runs: usize, median: f64, quartiles: (f64, f64)) -> Cell {
        Cell { runs, median, quartiles, range: quartiles, ratio: None }
    }

    #[test]
    fn numbers_have_separators_and_the_digits_that_are_asked_for() {
        for (value, digits, text) in [
            (1_413_593_628.0, 2, "1,413,593,628.00"),
            (915.62, 2, "915.62"),
            (636_476.43, -2, "636,500"),
            (999.96, 1, "1,000.0"),
            (-1234.5, 0, "-1,234"),
            (-0.001, 2, "0.00"),
            (0.0, 0, "0"),
            (f64::NAN, 2, "-"),
            (f64::INFINITY, 0, "-"),
        ] {
            assert_eq!(number(value, digits), text, "{value} {digits}");
        }
    }

    #[test]
    fn no_more_digits_than_the_runs_support() {
        let plain = Scale::of(&Unit::Plain, 636_476.43);
        assert_eq!(plain.cell(&cell(1, 636_476.43, (636_476.43, 636_476.43))), "636,476.43");
        assert_eq!(plain.cell(&cell(9, 636_476.43, (635_300.0, 637_700.0))), "636,500 ± 1,200");
        assert_eq!(plain.cell(&cell(9, 636_476.43, (636_476.0, 636_476.5))), "636,476.43 ± 0.25");
        // No difference between runs at all: as it was printed.
        assert_eq!(plain.cell(&cell(9, 29_052.0, (29_052.0, 29_052.0))), "29,052 ± 0");
        assert_eq!(Scale::of(&Unit::Count, 12.5).cell(&cell(9, 12.5, (12.0, 13.0))), "12 ± 0");
    }

    #[test]
    fn times_and_bytes_have_a_unit_that_suits_them() {
        for (unit, value, spread, text) in [
            (Unit::Seconds, 2.5, Some(0.011), "2.500 s"),
            (Unit::Seconds, 0.0423, Some(0.000_31), "42.30 ms"),
            (Unit::Seconds, 0.000_012_5, None, "12.50 µs"),
            (Unit::Seconds, 0.0, None, "0 s"),
            (Unit::Bytes, 116_960_460.0, None, "111.54 MiB"),
            (Unit::Bytes, 116_960_460.0, Some(1_200_000.0), "111.5 MiB"),
            (Unit::Bytes, 1023.0, None, "1,023 B"),
            (Unit::Bytes, 0.0, None, "0 B"),
            (Unit::Plain, 1.0934, None, "1.093"),
        ] {
            assert_eq!(Scale::of(&unit, value).write(value, spread), text);
        }
        assert_eq!(Scale::of_all(&Unit::Bytes, [5.0, 3e6, f64::NAN]).name, "MiB");
    }

    #[test]
    fn plus_is_better_in_either_direction() {
        let figure = |higher_is_better| Figure { higher_is_better, ..Figure::default() };
        let ratio = |rounds, median, interval| Ratio {
            rounds,
            median,
            interval,
            p: 0.01,
            verdict: Verdict::Better,
            ratios: Vec::new(),
        };
        assert_eq!(change(&ratio(9, 0.9518, (0.9515, 0.9521)), &figure(false)), "+4.82%");
        assert_eq!(change(&ratio(9, 1.1552, (1.154, 1.158)), &figure(false)), "-15.5%");
        assert_eq!(change(&ratio(9, 1.0049, (0.99, 1.02)), &figure(true)), "+0.5%");
        assert_eq!(change(&ratio(9, 1.42, (1.2, 1.6)), &figure(true)), "+42%");
        assert_eq!(change(&ratio(1, 1.4208, (1.4208, 1.4208)), &figure(true)), "+42.1%");
        assert_eq!(change(&ratio(9, 0.999_99, (0.9, 1.1)), &figure(true)), "0%");
        assert_eq!(change(&ratio(9, f64::NAN, (0.9, 1.1)), &figure(true)), "-");
    }

    #[test]
    fn shares_of_nothing_are_nothing() {
        assert_eq!(share(0, 0), "0%");
        assert_eq!(share(4, 1000), "0.4%");
        assert_eq!(share(450, 1000), "45%");
    }
}
