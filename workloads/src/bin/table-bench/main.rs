//! A stand-in for a Bitcoin node's own benchmark program, `bench_bitcoin`: it prints the same table with the same ten
//! names, and each of its benchmarks allocates as the one of that name does. Its times are its own and say nothing of a
//! node's.
//!
//! Modelled on the write-up in which ten benchmarks of a node were run with and without jemalloc. A benchmark is
//! repeated in epochs; the median epoch counts, as in nanobench, whose form of table this is.

mod benchmarks;
mod table;

use clap::Parser;
use fastrand::Rng;
use jeshim_workloads::{Checksum, Size, node};
use std::time::{Duration, Instant};

/// Ten benchmarks with the names, the kind of work and the table of a Bitcoin node's own: a stand-in, not a node
#[derive(Parser)]
#[command(version)]
struct Options {
    #[command(flatten)]
    size: Size,

    /// How long each benchmark is measured, in milliseconds, at least
    #[arg(long, default_value_t = 100, value_name = "MILLISECONDS", value_parser = clap::value_parser!(u64).range(1..=60_000))]
    min_time: u64,

    /// Only benchmarks with this in their name
    #[arg(long, default_value = "", value_name = "TEXT")]
    filter: String,
}

/// As many as nanobench has.
const EPOCHS: u32 = 11;

/// Time of one call in nanoseconds: the median of the epochs, and how far epochs are from it in the median, as a share.
struct Measured {
    nanoseconds: f64,
    error: f64,
    total: Duration,
}

/// Calls `work` in epochs that together last `least` at the shortest.
fn measure(least: Duration, work: &mut dyn FnMut()) -> Measured {
    let start = Instant::now();
    work();
    // The first call also says how many fit into an epoch.
    let once = start.elapsed().max(Duration::from_nanos(1));
    let calls = ((least / EPOCHS).as_nanos() / once.as_nanos()).clamp(1, 1 << 30) as u32;
    let mut epochs: Vec<f64> = (0..EPOCHS)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..calls {
                work();
            }
            start.elapsed().as_nanos() as f64 / f64::from(calls)
        })
        .collect();
    let nanoseconds = median(&mut epochs);
    let mut errors: Vec<f64> = epochs.iter().map(|epoch| (epoch / nanoseconds - 1.0).abs()).collect();
    Measured { nanoseconds, error: median(&mut errors), total: start.elapsed() }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let options = Options::parse();
    let mut rng = Rng::with_seed(options.size.seed);
    let transactions = options.size.scaled(400);
    let block = node::block(&mut rng, transactions);
    let least = Duration::from_millis(options.min_time);

    eprintln!("table-bench: a stand-in for bench_bitcoin, with benchmarks of the same names and kind");
    let mut checksum = Checksum::default();
    table::print_head();
    for (name, benchmark) in benchmarks::ALL {
        if !name.contains(&options.filter) {
            continue;
        }
        // What is set up is the same whichever benchmarks are run.
        let mut work = benchmark(&block, &mut Rng::with_seed(options.size.seed));
        checksum.number(work());
        let measured = measure(least, &mut || {
            std::hint::black_box(work());
        });
        table::print_row(name, &measured);
    }
    eprintln!("checksum: {:016x} fnv1a", checksum.value());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_measured_as_long_as_it_takes() {
        let mut calls = 0_u32;
        let measured = measure(Duration::from_millis(20), &mut || {
            calls += 1;
            std::thread::sleep(Duration::from_millis(1));
        });
        assert!(measured.nanoseconds >= 1e6, "{}", measured.nanoseconds);
        assert!(calls > EPOCHS, "{calls}");
        assert!(measured.total >= Duration::from_millis(11));
    }

    #[test]
    fn the_median_is_the_middle_one() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
    }
}
