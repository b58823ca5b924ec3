//! How often a comparison is wrong: measurements with known differences, made up, go through the schedule and the analysis
//! as real ones do. The seeds are fixed: what comes out is the same every time. For the tables of the documentation:
//! `cargo test -p jeshim-cli --lib simulation -- --ignored --nocapture`.

use super::{Verdict, analyse};
use crate::compare::plan::Effort;
use crate::compare::results::{Comparison, Figure, Participant, Point, Run, Unit};
use crate::compare::schedule::{self, Executor, Job, Stop};
use std::time::Duration;

const FIGURES: [&str; 3] = ["wall", "peak_rss", "metric/rate"];

/// A machine on which each figure is noisy in the same way, on its own.
#[derive(Debug, Clone, Copy)]
struct Noise {
    /// Standard deviation of a run's logarithm.
    run: f64,
    /// The same of the machine's state, which changes slowly: nine tenths are as they were one run before.
    drift: f64,
    /// How often a run takes twice as much.
    outliers: f64,
    /// Values are whole multiples of this share, as resident pages are; 0 for none.
    step: f64,
}

struct Machine {
    random: fastrand::Rng,
    noise: Noise,
    /// What the second participant's figures are multiplied by.
    planted: f64,
    state: [f64; 3],
    time: Duration,
}

impl Machine {
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.random.f64()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.random.f64()).cos()
    }
}

impl Executor for Machine {
    fn run(&mut self, job: Job) -> Result<Run, Stop> {
        self.time += Duration::from_millis(100);
        let mut run = Run { ..Run::default() };
        for (at, id) in FIGURES.iter().enumerate() {
            let change = self.normal();
            self.state[at] = 0.9 * self.state[at] + self.noise.drift * (1.0_f64 - 0.81).sqrt() * change;
            let mut value = (self.state[at] + self.noise.run * self.normal()).exp();
            if self.random.f64() < self.noise.outliers {
                value *= 2.0;
            }
            if job.participant == 1 {
                value *= self.planted;
            }
            if self.noise.step > 0.0 {
                value = (value / self.noise.step).round() * self.noise.step;
            }
            run.figures.insert((*id).to_owned(), value);
        }
        Ok(run)
    }

    fn elapsed(&self) -> Duration {
        self.time
    }
}

/// What became of so many comparisons, in shares of them; of the first figure unless it says otherwise.
#[derive(Debug, Default)]
struct Rates {
    /// A difference was seen in any figure.
    any: f64,
    worse: f64,
    no_difference: f64,
    too_noisy: f64,
    /// The true ratio is in the interval.
    covered: f64,
    rounds: f64,
}

fn rates(noise: Noise, planted: f64, effort: &Effort, comparisons: u64) -> Rates {
    let mut rates = Rates::default();
    let share = 1.0 / comparisons as f64;
    for seed in 0..comparisons {
        let random = fastrand::Rng::with_seed(seed.wrapping_mul(0x9e37_79b9) ^ 0x5eed);
        let mut machine = Machine { random, noise, planted, state: [0.0; 3], time: Duration::ZERO };
        for at in 0..3 {
            machine.state[at] = noise.drift * machine.normal();
        }
        let mut comparison = Comparison {
            participants: vec![Participant::default(); 2],
            points: vec![Point::default()],
            figures: FIGURES
                .iter()
                .map(|id| Figure {
                    id: (*id).to_owned(),
                    name: (*id).to_owned(),
                    unit: Unit::Plain,
                    higher_is_better: false,
                    headline: true,
                })
                .collect(),
            precision: effort.precision,
            ..Comparison::default()
        };
        schedule::run(&mut machine, effort, &mut comparison, &|_, _| false, &mut |_| {}).unwrap();
        let analysis = analyse(&comparison);
        let ratios: Vec<_> = analysis.rows.iter().filter_map(|row| row.cells[1].as_ref()?.ratio.as_ref()).collect();
        let seen = |verdict| matches!(verdict, Verdict::Better | Verdict::Worse);
        let first = ratios[0];
        for (rate, yes) in [
            (&mut rates.any, ratios.iter().any(|ratio| seen(ratio.verdict))),
            (&mut rates.worse, first.verdict == Verdict::Worse),
            (&mut rates.no_difference, first.verdict == Verdict::NoDifference),
            (&mut rates.too_noisy, first.verdict == Verdict::TooNoisy),
            (&mut rates.covered, first.interval.0 <= planted && planted <= first.interval.1),
        ] {
            *rate += share * f64::from(u8::from(yes));
        }
        rates.rounds += share * first.rounds as f64;
    }
    rates
}

fn rounds(rounds: u32) -> Effort {
    Effort { rounds: Some(rounds), ..Effort::default() }
}

const fn noise(run: f64, drift: f64, outliers: f64, step: f64) -> Noise {
    Noise { run, drift, outliers, step }
}

#[test]
fn identical_participants_are_seldom_told_apart_and_a_planted_difference_is_found() {
    for noise in [noise(0.03, 0.0, 0.0, 0.0), noise(0.10, 0.10, 0.05, 0.0), noise(0.0005, 0.0, 0.0, 0.001)] {
        let rates = rates(noise, 1.0, &rounds(15), 150);
        assert!(rates.any < 0.05, "{noise:?}: {rates:?}");
    }
    let slowdown = rates(noise(0.01, 0.03, 0.02, 0.0), 1.03, &rounds(20), 50);
    assert!(slowdown.worse > 0.9, "{slowdown:?}");
    let memory = rates(noise(0.01, 0.0, 0.0, 0.001), 1.05, &rounds(12), 50);
    assert!(memory.worse > 0.9, "{memory:?}");
}

#[test]
#[ignore = "prints tables, and takes minutes"]
fn tables() {
    const NOISES: [(&str, Noise); 6] = [
        ("3%", noise(0.03, 0.0, 0.0, 0.0)),
        ("10%", noise(0.10, 0.0, 0.0, 0.0)),
        ("3%, drift 10%", noise(0.03, 0.10, 0.0, 0.0)),
        ("3%, outliers 5%", noise(0.03, 0.0, 0.05, 0.0)),
        ("10%, drift, outliers", noise(0.10, 0.10, 0.05, 0.0)),
        ("pages: 0.05% in steps of 0.1%", noise(0.0005, 0.0, 0.0, 0.001)),
    ];
    let mut efforts: Vec<(String, Effort)> =
        [9, 10, 12, 15, 20, 30, 40].iter().map(|n| (n.to_string(), rounds(*n))).collect();
    let budget = Duration::from_secs(10);
    efforts.push(("1%, 50".into(), Effort { budget, precision: 0.01, ..Effort::default() }));
    efforts.push(("3%, 50".into(), Effort { budget, precision: 0.03, ..Effort::default() }));
    println!("identical: false alarm in any of three; coverage of one interval; verdicts of one figure");
    for (name, noise) in NOISES {
        for (effort_name, effort) in &efforts {
            let r = rates(noise, 1.0, effort, 1000);
            println!(
                "{name:32} n={effort_name:8} any {:5.1}%  covered {:5.1}%  none {:5.1}%  noisy {:5.1}%  rounds {:.0}",
                100.0 * r.any,
                100.0 * r.covered,
                100.0 * r.no_difference,
                100.0 * r.too_noisy,
                r.rounds
            );
        }
    }
    println!("planted");
    for (planted, name, noise) in [
        (1.03, "3% slower, 1% noise", noise(0.01, 0.0, 0.0, 0.0)),
        (1.03, "3% slower, 1% noise, drift, outliers", noise(0.01, 0.03, 0.05, 0.0)),
        (1.03, "3% slower, 3% noise", noise(0.03, 0.0, 0.0, 0.0)),
        (1.03, "3% slower, 3% noise, drift, outliers", noise(0.03, 0.10, 0.05, 0.0)),
        (1.05, "5% more RSS, 1% noise in pages", noise(0.01, 0.0, 0.0, 0.001)),
        (1.05, "5% more RSS, 3% noise in pages", noise(0.03, 0.0, 0.0, 0.001)),
        (1.10, "10% slower, 10% noise", noise(0.10, 0.0, 0.0, 0.0)),
    ] {
        for n in [10, 20, 40] {
            let r = rates(noise, planted, &rounds(n), 1000);
            println!(
                "{name:38} n={n:3} found {:5.1}%  covered {:5.1}%  none {:5.1}%  noisy {:5.1}%",
                100.0 * r.worse,
                100.0 * r.covered,
                100.0 * r.no_difference,
                100.0 * r.too_noisy
            );
        }
    }
}
