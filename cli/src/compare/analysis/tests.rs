//! Verdicts and their words.

use super::{ALARM, NEEDED, Ratio, Verdict, analyse, noise};
use crate::compare::results::{Comparison, Figure, Machine, Participant, Point, Run, Unit};
use crate::compare::statistics::signed_rank;
use proptest::collection::vec;
use proptest::prelude::*;

fn figure(unit: Unit, higher_is_better: bool) -> Figure {
    Figure { id: "x".into(), name: "x".into(), unit, higher_is_better, headline: true }
}

/// The verdict and the rest about pairs with these ratios, time.
fn of(ratios: &[f64]) -> Ratio {
    let pairs: Vec<(f64, f64)> =
        ratios.iter().enumerate().map(|(at, ratio)| (ratio * at as f64 + ratio, at as f64 + 1.0)).collect();
    Ratio::of_pairs(&pairs, &figure(Unit::Seconds, false), 0.01).unwrap()
}

/// So many ratios around one, evenly to both sides within a share.
fn around(middle: f64, within: f64, n: usize) -> Vec<f64> {
    let place = |at: usize| 2.0 * at as f64 / (n - 1) as f64 - 1.0;
    (0..n).map(|at| middle * (1.0 + within * place(at))).collect()
}

#[test]
fn a_verdict_needs_a_difference_that_chance_does_not_make() {
    assert_eq!(of(&around(0.9, 0.02, 10)).verdict, Verdict::Better);
    assert_eq!(of(&around(1.1, 0.02, 10)).verdict, Verdict::Worse);
    assert_eq!(of(&around(1.0, 0.02, 10)).verdict, Verdict::NoDifference);
    assert_eq!(of(&around(1.0, 0.3, 10)).verdict, Verdict::TooNoisy);
    // Even a tiny one, when it is always there.
    assert_eq!(of(&around(1.001, 0.0001, 10)).verdict, Verdict::Worse);
    // Eight pairs cannot show a difference, however large, and do not hide it behind another verdict.
    assert_eq!(of(&around(2.0, 0.01, 9)).verdict, Verdict::Worse);
    assert_eq!(of(&around(2.0, 0.01, 8)).verdict, Verdict::TooFew);
    assert_eq!(of(&around(1.02, 0.001, 8)).verdict, Verdict::TooFew);
    assert_eq!(of(&around(1.0, 0.02, 8)).verdict, Verdict::NoDifference);
    assert_eq!(of(&around(1.0, 0.3, 8)).verdict, Verdict::TooFew);
    assert_eq!(of(&around(1.0, 0.02, 5)).verdict, Verdict::TooFew);
    assert_eq!(of(&[1.0]).verdict, Verdict::NoDifference);
}

#[test]
fn a_wide_interval_says_nothing_unless_the_precision_allows_it() {
    let ratio = |precision: f64| {
        let pairs: Vec<(f64, f64)> = around(1.0, 0.15, 12).into_iter().map(|ratio| (ratio, 1.0)).collect();
        Ratio::of_pairs(&pairs, &figure(Unit::Plain, true), precision).unwrap()
    };
    assert!((0.05..0.12).contains(&ratio(0.01).reach()), "{:?}", ratio(0.01));
    assert_eq!(ratio(0.01).verdict, Verdict::TooNoisy);
    assert_eq!(ratio(0.03).verdict, Verdict::NoDifference);
}

#[test]
fn where_a_pair_has_no_ratio_there_is_none_and_two_zeros_are_equal() {
    let counts = figure(Unit::Count, false);
    let of = |pairs: &[(f64, f64)]| Ratio::of_pairs(pairs, &counts, 0.01);
    let zeros = of(&[(0.0, 0.0); 9]).unwrap();
    assert_eq!((zeros.median, zeros.interval, zeros.p), (1.0, (1.0, 1.0), 1.0));
    assert_eq!((zeros.verdict, zeros.words(&counts).as_str()), (Verdict::NoDifference, "no difference"));
    assert_eq!(of(&[(2.0, 1.0), (0.0, 0.0)]).map(|ratio| ratio.ratios), Some(vec![2.0, 1.0]));
    for odd in [(0.0, 3.0), (3.0, 0.0), (f64::NAN, 1.0), (1.0, f64::INFINITY), (-1.0, -1.0)] {
        assert_eq!(of(&[(2.0, 1.0), odd, (2.0, 1.0)]), None, "{odd:?}");
    }
    assert_eq!(
        Ratio::of_sides(&[0.0; 9], &[0.0; 3], &counts, 0.01).map(|ratio| ratio.verdict),
        Some(Verdict::NoDifference)
    );
    assert_eq!(Ratio::of_sides(&[0.0; 9], &[1.0; 3], &counts, 0.01), None);
}

fn words(ratio: (f64, f64, f64), verdict: Verdict, unit: Unit, higher_is_better: bool) -> String {
    let (low, median, high) = ratio;
    let ratio = Ratio { rounds: 12, median, interval: (low, high), p: 0.001, verdict, ratios: Vec::new() };
    ratio.words(&figure(unit, higher_is_better))
}

#[test]
fn ratios_are_put_in_words() {
    use Verdict::{Better, NoDifference, TooFew, TooNoisy, Worse};
    let less = (0.888, 0.919, 0.95);
    let more = (1.05, 1.081, 1.112);
    for (ratio, verdict, unit, higher, expected) in [
        (less, Better, Unit::Seconds, false, "faster by 8.1% (5.0 to 11.2)"),
        (more, Worse, Unit::Seconds, false, "slower by 8.1% (5.0 to 11.2)"),
        (less, Better, Unit::Bytes, false, "less memory by 8.1% (5.0 to 11.2)"),
        (more, Worse, Unit::Bytes, false, "more memory by 8.1% (5.0 to 11.2)"),
        (less, Better, Unit::Count, false, "lower by 8.1% (5.0 to 11.2)"),
        (more, Worse, Unit::Count, false, "higher by 8.1% (5.0 to 11.2)"),
        (less, Better, Unit::Plain, false, "better by 8.1% (5.0 to 11.2)"),
        (more, Worse, Unit::Plain, false, "worse by 8.1% (5.0 to 11.2)"),
        (more, Better, Unit::Plain, true, "better by 8.1% (5.0 to 11.2)"),
        (less, Worse, Unit::Plain, true, "worse by 8.1% (5.0 to 11.2)"),
        (more, Better, Unit::Count, true, "better by 8.1% (5.0 to 11.2)"),
        ((4.8, 4.9, 5.0), Worse, Unit::Seconds, false, "slower by 390% (380 to 400)"),
        ((0.9993, 0.9996, 0.9999), Better, Unit::Bytes, false, "less memory by 0.04% (0.01 to 0.07)"),
        ((0.9905, 0.995, 0.9995), Better, Unit::Bytes, false, "less memory by 0.50% (0.05 to 0.95)"),
        ((0.98, 0.995, 1.01), NoDifference, Unit::Seconds, false, "no difference seen (±2.0%)"),
        ((1.0, 1.0, 1.0004), NoDifference, Unit::Seconds, false, "no difference seen (±0.04%)"),
        ((1.0, 1.0, 1.0), NoDifference, Unit::Seconds, false, "no difference"),
        ((1.0, 1.0, 1.0), TooFew, Unit::Seconds, false, "too few rounds to tell: 9 at least"),
    ] {
        assert_eq!(words(ratio, verdict, unit, higher), expected);
    }
    // Plus is for the better in both directions.
    let rest = "quiet the machine, or more --rounds";
    let noisy = (0.91, 1.0, 1.12);
    assert_eq!(words(noisy, TooNoisy, Unit::Seconds, false), format!("too noisy to tell (-12% to +9%): {rest}"));
    assert_eq!(words(noisy, TooNoisy, Unit::Plain, true), format!("too noisy to tell (-9% to +12%): {rest}"));
    let noisy = (0.98, 1.0, 1.062);
    assert_eq!(words(noisy, TooNoisy, Unit::Bytes, false), format!("too noisy to tell (-6.2% to +2.0%): {rest}"));
}

/// The changes of a published comparison of a Bitcoin node's benchmarks, in ns/op, and one of more is better.
#[test]
fn changes_are_those_of_published_tables() {
    let change = |own: f64, other: f64, higher_is_better: bool| {
        let figure = figure(Unit::Plain, higher_is_better);
        format!("{:+.2}%", Ratio::of_pairs(&[(own, other)], &figure, 0.01).unwrap().change(&figure))
    };
    assert_eq!(change(605_815.89, 636_476.43, false), "+4.82%");
    assert_eq!(change(42_366_423.95, 36_673_658.35, false), "-15.52%");
    assert_eq!(change(469_013.92, 558_989.43, false), "+16.10%");
    assert_eq!(change(41_278.0, 29_052.0, true), "+42.08%");
}

/// Three participants at two points; the third has nothing at the second.
fn comparison(rounds: u32) -> Comparison {
    let mut runs = Vec::new();
    for round in 0..rounds {
        for (participant, point) in [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1)] {
            let wall = (1.0 + f64::from(round * 3 % 7) / 100.0) * [1.0, 0.5, 1.0][participant];
            // The third one's memory is anything.
            let rss = 1000.0 * if participant == 2 { [0.5, 1.0, 2.0][round as usize % 3] } else { 1.0 };
            let figures = [("wall".to_owned(), wall), ("peak_rss".to_owned(), rss)].into();
            runs.push(Run { round, participant, point, figures, ..Run::default() });
        }
    }
    let participant = |label: &str| Participant { label: label.into(), ..Participant::default() };
    let figure = |id: &str, name: &str, unit: Unit| Figure { id: id.into(), name: name.into(), ..figure(unit, false) };
    let point = |threads: &str| Point { parameters: vec![("threads".into(), threads.into())], ..Point::default() };
    Comparison {
        participants: vec![participant("system"), participant("a"), participant("b")],
        points: vec![point("1"), point("2")],
        figures: vec![
            figure("wall", "wall time", Unit::Seconds),
            figure("never", "never", Unit::Count),
            figure("peak_rss", "peak memory", Unit::Bytes),
        ],
        runs,
        precision: 0.01,
        ..Comparison::default()
    }
}

#[test]
fn rows_are_in_order_and_cells_are_described() {
    let analysis = analyse(&comparison(12));
    let rows: Vec<(usize, usize)> = analysis.rows.iter().map(|row| (row.point, row.figure)).collect();
    assert_eq!(rows, [(0, 0), (0, 2), (1, 0), (1, 2)]);
    let row = analysis.row(0, 0).unwrap();
    let (system, a) = (row.cells[0].as_ref().unwrap(), row.cells[1].as_ref().unwrap());
    assert_eq!((system.runs, system.ratio.as_ref(), system.range), (12, None, (1.0, 1.06)));
    assert!((system.median - 1.03).abs() < 1e-9 && (a.median - 0.515).abs() < 1e-9);
    let ratio = a.ratio.as_ref().unwrap();
    assert!((ratio.median - 0.5).abs() < 1e-9, "{ratio:?}");
    assert_eq!((ratio.rounds, ratio.verdict, ratio.ratios.len()), (12, Verdict::Better, 12));
    assert!(analysis.row(1, 0).unwrap().cells[2].is_none());
    assert!(analysis.row(1, 1).is_none());
}

#[test]
fn only_rounds_with_both_make_ratios_and_failures_do_not_count() {
    let mut measured = comparison(12);
    // Out of order, one of the baseline has failed, one of the other is missing, one figure is not a number.
    measured.runs.reverse();
    measured.runs.retain(|run| (run.round, run.participant, run.point) != (3, 1, 0));
    for run in &mut measured.runs {
        match (run.round, run.participant, run.point) {
            (5, 0, 0) => run.failure = Some("exit status 1".into()),
            (7, 1, 0) => drop(run.figures.insert("wall".into(), f64::NAN)),
            (2, 1, 0) => drop(run.figures.insert("wall".into(), 50.0)),
            _ => {}
        }
    }
    let analysis = analyse(&measured);
    let cells = &analysis.row(0, 0).unwrap().cells;
    assert_eq!((cells[0].as_ref().unwrap().runs, cells[1].as_ref().unwrap().runs), (11, 10));
    let ratio = cells[1].as_ref().unwrap().ratio.as_ref().unwrap();
    assert_eq!(ratio.rounds, 9);
    assert!(ratio.ratios[2] > 40.0 && ratio.ratios[3] < 1.0, "{:?}", ratio.ratios);
}

#[test]
fn what_to_do_about_noise_is_said() {
    let mut measured = comparison(12);
    let analysis = analyse(&measured);
    let rest = "peak memory: too noisy to tell";
    let findings = noise::findings(&measured, &analysis);
    let [finding] = findings.as_slice() else { panic!("{findings:?}") };
    assert_eq!((finding.id.as_str(), finding.participant, finding.point), ("too_noisy", Some(2), Some(0)));
    let rounds = finding.text.strip_prefix(&format!("{rest}; give it about --rounds ")).unwrap();
    assert!(rounds.parse::<u32>().unwrap() > 12, "{rounds}");
    measured.machine =
        Machine { processors: 2, load: Some((1.6, 2.0)), governor: Some("powersave".into()), ..Machine::default() };
    let findings = noise::findings(&measured, &analysis);
    let expected = format!(
        "{rest}: the load average was 1.6 before it began, with 2 processors, the frequency governor is powersave; end what \
         else runs, or set the governor to performance (cpupower frequency-set -g performance), or give it about --rounds {rounds}"
    );
    assert_eq!(findings[0].text, expected);
    // One that is not among the headlines is nobody's concern.
    measured.figures[2].headline = false;
    assert_eq!(noise::findings(&measured, &analysis), []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn swapped_sides_give_the_inverse(pairs in vec((0.5..2.0_f64, 0.5..2.0_f64), 1..40)) {
        let swapped: Vec<(f64, f64)> = pairs.iter().map(|(own, other)| (*other, *own)).collect();
        let figure = figure(Unit::Seconds, false);
        let one = Ratio::of_pairs(&pairs, &figure, 0.01).unwrap();
        let other = Ratio::of_pairs(&swapped, &figure, 0.01).unwrap();
        prop_assert!((one.median * other.median - 1.0).abs() < 1e-9);
        prop_assert!((one.interval.0 * other.interval.1 - 1.0).abs() < 1e-9);
        prop_assert!((one.p - other.p).abs() < 1e-12);
        let turned = match one.verdict {
            Verdict::Better => Verdict::Worse,
            Verdict::Worse => Verdict::Better,
            same => same,
        };
        // How far an interval reaches from 1 is not the same share in both directions.
        prop_assert!(other.verdict == turned || (other.reach() - one.reach()).abs() > 1e-6);
        prop_assert!(one.interval.0 <= one.median && one.median <= one.interval.1);
    }

    #[test]
    fn the_order_of_rounds_and_the_scale_of_figures_are_of_no_account(
        pairs in vec((0.5..2.0_f64, 0.5..2.0_f64), 1..40), scale in 0.001..1000.0_f64
    ) {
        let figure = figure(Unit::Seconds, false);
        let one = Ratio::of_pairs(&pairs, &figure, 0.01).unwrap();
        let mut other: Vec<(f64, f64)> = pairs.iter().map(|(own, base)| (own * scale, base * scale)).collect();
        other.reverse();
        let other = Ratio::of_pairs(&other, &figure, 0.01).unwrap();
        prop_assert!((one.median / other.median - 1.0).abs() < 1e-9);
        prop_assert!((one.interval.0 / other.interval.0 - 1.0).abs() < 1e-9);
        prop_assert!((one.interval.1 / other.interval.1 - 1.0).abs() < 1e-9);
        prop_assert_eq!(one.rounds, other.rounds);
    }
}

#[test]
fn so_many_rounds_are_needed_and_no_more() {
    let all_agree =
        |rounds: usize| signed_rank::probability(&(1..=rounds).map(|value| value as f64).collect::<Vec<_>>());
    assert!(all_agree(NEEDED) <= ALARM && all_agree(NEEDED - 1) > ALARM);
}
