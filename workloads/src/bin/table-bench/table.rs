//! The table, in the form of nanobench (github.com/martinus/nanobench), which `bench_bitcoin` prints.

use crate::Measured;

pub(crate) fn print_head() {
    println!();
    println!("|               ns/op |                op/s |    err% |     total | benchmark");
    println!("|--------------------:|--------------------:|--------:|----------:|:----------");
}

pub(crate) fn print_row(name: &str, measured: &Measured) {
    println!("{}", row(name, measured));
}

fn row(name: &str, measured: &Measured) -> String {
    // nanobench marks what an epoch more or less would change.
    let unstable = if measured.error > 0.05 { ":wavy_dash: " } else { "" };
    format!(
        "| {:>19} | {:>19} | {:>6.1}% | {:>9.2} | {unstable}`{name}`",
        grouped(measured.nanoseconds),
        grouped(1e9 / measured.nanoseconds.max(1e-3)),
        measured.error * 100.0,
        measured.total.as_secs_f64(),
    )
}

/// `1,413,593,628.00`
fn grouped(number: f64) -> String {
    let text = format!("{number:.2}");
    let (whole, part) = text.split_once('.').unwrap_or((&text, "00"));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{grouped}.{part}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn numbers_have_their_thousands_apart() {
        for (number, text) in
            [(0.71, "0.71"), (915.62, "915.62"), (1e3, "1,000.00"), (1_413_593_628.0, "1,413,593,628.00")]
        {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn a_row_is_nanobenchs() {
        let measured = Measured { nanoseconds: 636_476.43, error: 0.004, total: Duration::from_millis(1100) };
        assert_eq!(
            row("AssembleBlock", &measured),
            "|          636,476.43 |            1,571.15 |    0.4% |      1.10 | `AssembleBlock`"
        );
        let unstable = Measured { error: 0.079, ..measured };
        assert!(row("MempoolCheck", &unstable).ends_with("|    7.9% |      1.10 | :wavy_dash: `MempoolCheck`"));
    }
}
