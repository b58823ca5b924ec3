//! The schedule with a clock that stands still between runs, and programs that are numbers.

use super::{ENOUGH, Executor, Job, MOST, Progress, Stop, Why, run};
use crate::compare::analysis::analyse;
use crate::compare::plan::Effort;
use crate::compare::results::{Comparison, Figure, Finding, Participant, Point, Run};
use std::time::Duration;

type Value = Box<dyn Fn(Job) -> Result<f64, String>>;

/// A run takes a second. Its wall time is what `value` says, its peak memory always the same.
struct Mock {
    value: Value,
    /// After so many runs there is no other.
    stop: Option<(usize, fn() -> Stop)>,
    jobs: Vec<Job>,
}

impl Mock {
    fn new(value: impl Fn(Job) -> Result<f64, String> + 'static) -> Mock {
        Mock { value: Box::new(value), stop: None, jobs: Vec::new() }
    }
}

impl Executor for Mock {
    fn run(&mut self, job: Job) -> Result<Run, Stop> {
        if let Some((after, stop)) = self.stop
            && self.jobs.len() == after
        {
            return Err(stop());
        }
        self.jobs.push(job);
        let mut run = Run::default();
        match (self.value)(job) {
            Ok(value) => {
                run.figures.insert("wall".into(), value);
                run.figures.insert("peak_rss".into(), 1000.0);
                run.figures.insert("metric/rate".into(), 1.0 + f64::from(job.round % 7));
            }
            Err(failure) => run.failure = Some(failure),
        }
        Ok(run)
    }

    fn elapsed(&self) -> Duration {
        Duration::from_secs(self.jobs.len() as u64)
    }
}

fn comparison(participants: usize, points: usize) -> Comparison {
    let figure = |id: &str| Figure { id: id.into(), name: id.into(), headline: true, ..Figure::default() };
    let participants = ["system", "jeshim", "mimalloc"].iter().take(participants);
    let point = |number: usize| Point { parameters: vec![("n".into(), number.to_string())], ..Point::default() };
    Comparison {
        participants: participants
            .map(|label| Participant { label: (*label).into(), ..Participant::default() })
            .collect(),
        points: (0..points).map(point).collect(),
        figures: ["wall", "peak_rss", "metric/rate"].map(figure).into(),
        precision: 0.01,
        ..Comparison::default()
    }
}

fn rounds(rounds: u32) -> Effort {
    Effort { rounds: Some(rounds), ..Effort::default() }
}

fn budget(seconds: u64) -> Effort {
    Effort { budget: Duration::from_secs(seconds), ..Effort::default() }
}

/// Runs, and returns why it ended and the findings.
fn went(mock: &mut Mock, effort: &Effort, comparison: &mut Comparison) -> (Why, Vec<String>) {
    let why = run(mock, effort, comparison, &|_, _| false, &mut |_| {}).unwrap();
    assert_eq!(comparison.runs.len(), mock.jobs.len());
    let about = |finding: &Finding| match (finding.participant, finding.point) {
        (Some(participant), Some(point)) => format!("{} of {participant} at {point}: {}", finding.id, finding.text),
        _ => format!("{}: {}", finding.id, finding.text),
    };
    (why, comparison.findings.iter().map(about).collect())
}

/// Who was run, round by round and point by point.
fn order(mock: &Mock) -> Vec<(u32, usize, Vec<usize>)> {
    let places = mock.jobs.chunk_by(|one, next| (one.round, one.point) == (next.round, next.point));
    places.map(|jobs| (jobs[0].round, jobs[0].point, jobs.iter().map(|job| job.participant).collect())).collect()
}

#[test]
fn rounds_go_through_all_points_and_participants_take_turns() {
    let mut mock = Mock::new(|_| Ok(1.0));
    let mut two = comparison(2, 2);
    assert_eq!(went(&mut mock, &rounds(3), &mut two), (Why::Rounds, Vec::new()));
    let (ab, ba) = (vec![0, 1], vec![1, 0]);
    let expected = [(0, 0, &ab), (0, 1, &ab), (1, 0, &ba), (1, 1, &ba), (2, 0, &ba), (2, 1, &ba)]
        .map(|(r, p, o)| (r, p, o.clone()));
    assert_eq!(order(&mock), expected);
    let made: Vec<Job> =
        two.runs.iter().map(|run| Job { round: run.round, participant: run.participant, point: run.point }).collect();
    assert_eq!(made, mock.jobs);

    let mut mock = Mock::new(|_| Ok(1.0));
    went(&mut mock, &rounds(7), &mut comparison(3, 1));
    let orders: Vec<Vec<usize>> = order(&mock).into_iter().map(|(.., order)| order).collect();
    assert_eq!(orders, [[0, 1, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0], [0, 2, 1], [1, 0, 2], [0, 1, 2]]);
}

#[test]
fn who_is_skipped_is_not_run_and_the_others_take_turns_without_it() {
    let mut mock = Mock::new(|_| Ok(1.0));
    let mut three = comparison(3, 2);
    let skip = |participant, point| participant == 1 && point == 1;
    run(&mut mock, &rounds(2), &mut three, &skip, &mut |_| {}).unwrap();
    let expected = [(0, 0, vec![0, 1, 2]), (0, 1, vec![0, 2]), (1, 0, vec![1, 2, 0]), (1, 1, vec![2, 0])];
    assert_eq!(order(&mock), expected);
    // Nobody at all.
    let mut mock = Mock::new(|_| Ok(1.0));
    assert_eq!(run(&mut mock, &rounds(2), &mut three, &|_, _| true, &mut |_| {}).unwrap(), Why::Nothing);
    assert_eq!(mock.jobs, []);
    // Nobody to compare with at a point: nobody is run there.
    run(&mut mock, &rounds(15), &mut three, &|who, point| who == 0 && point == 1, &mut |_| {}).unwrap();
    assert_eq!((mock.jobs.len(), mock.jobs.iter().filter(|job| job.point == 1).count()), (45, 0));
    // The baseline alone: enough for medians.
    let mut mock = Mock::new(|_| Ok(1.0));
    assert_eq!(run(&mut mock, &budget(1000), &mut three, &|who, _| who != 0, &mut |_| {}).unwrap(), Why::Nothing);
    assert_eq!(mock.jobs.len(), 2 * ENOUGH as usize);
}

#[test]
fn it_ends_when_every_interval_is_narrow_and_not_before_ten_rounds() {
    let mut mock = Mock::new(|_| Ok(1.0));
    assert_eq!(went(&mut mock, &budget(1000), &mut comparison(2, 2)).0, Why::Precise);
    assert_eq!(mock.jobs.len(), 40);
    // Noisy at the second point only.
    let noisy = |job: Job| {
        let noise =
            if job.point == 1 && job.participant == 1 { f64::from(job.round * 7 % 10 + 1) / 100.0 } else { 0.0 };
        Ok(1.0 + noise)
    };
    let mut mock = Mock::new(noisy);
    let mut two = comparison(2, 2);
    assert_eq!(went(&mut mock, &budget(4000), &mut two).0, Why::Precise);
    let analysis = analyse(&two);
    let ratio = analysis.row(1, 0).unwrap().cells[1].as_ref().unwrap().ratio.clone().unwrap();
    assert!(ratio.rounds > 10 && ratio.spread() <= 0.01 && ratio.spread() > 0.005, "{ratio:?}");
    // A figure of the program is not waited for unless it is a server's.
    assert!(analysis.row(1, 2).unwrap().cells[1].as_ref().unwrap().ratio.as_ref().unwrap().spread() == 0.0);
    let rate = |round: u32, participant: usize| 1.0 + 0.5 * f64::from(round * 7 % 10) * participant as f64;
    struct Rates<F: Fn(u32, usize) -> f64>(Mock, F);
    impl<F: Fn(u32, usize) -> f64> Executor for Rates<F> {
        fn run(&mut self, job: Job) -> Result<Run, Stop> {
            let mut run = self.0.run(job)?;
            run.figures.insert("metric/rate".into(), (self.1)(job.round, job.participant));
            Ok(run)
        }
        fn elapsed(&self) -> Duration {
            self.0.elapsed()
        }
    }
    for (server, expected) in [(false, Why::Precise), (true, Why::Budget)] {
        let mut mock = Rates(Mock::new(|_| Ok(1.0)), rate);
        let mut two = Comparison { server, ..comparison(2, 1) };
        assert_eq!(run(&mut mock, &budget(60), &mut two, &|_, _| false, &mut |_| {}).unwrap(), expected);
        assert_eq!(mock.0.jobs.len(), if server { 60 } else { 20 });
    }
}

/// Wall times of the second participant that never come to rest.
fn restless(job: Job) -> Result<f64, String> {
    Ok(if job.participant == 1 && job.round % 2 == 1 { 2.0 } else { 1.0 })
}

#[test]
fn it_ends_within_the_budget_but_not_before_three_rounds() {
    let mut mock = Mock::new(restless);
    let (why, findings) = went(&mut mock, &budget(41), &mut comparison(2, 1));
    // A round takes two seconds: a twenty-first would be over after 42.
    assert_eq!((why, mock.jobs.len()), (Why::Budget, 40));
    let [finding] = findings.as_slice() else { panic!("{findings:?}") };
    assert!(finding.starts_with("too_noisy of 1 at 0: wall: too noisy to tell; give it about --rounds "), "{finding}");
    let mut mock = Mock::new(restless);
    let (why, findings) = went(&mut mock, &budget(1), &mut comparison(2, 1));
    assert_eq!((why, mock.jobs.len()), (Why::Budget, 6));
    assert_eq!(
        findings,
        ["short_budget: the budget of 1 second was enough for 3 rounds, and a difference is seen in 9 at the least; \
          give more --budget, or --rounds 10"]
    );
    // Precise after ten rounds, had they been made.
    let mut mock = Mock::new(|_| Ok(1.0));
    assert_eq!(went(&mut mock, &budget(18), &mut comparison(2, 1)), (Why::Budget, Vec::new()));
    assert_eq!(mock.jobs.len(), 18);
}

#[test]
fn a_number_of_rounds_is_made_whatever_the_budget_and_without_one_there_is_an_end() {
    let mut mock = Mock::new(|_| Ok(1.0));
    let effort = Effort { budget: Duration::from_secs(1), ..rounds(25) };
    assert_eq!(went(&mut mock, &effort, &mut comparison(2, 1)).0, Why::Rounds);
    assert_eq!(mock.jobs.len(), 50);
    let mut mock = Mock::new(restless);
    assert_eq!(went(&mut mock, &budget(1_000_000), &mut comparison(2, 1)).0, Why::Rounds);
    assert_eq!(mock.jobs.len(), 2 * MOST as usize);
}

#[test]
fn who_never_succeeds_is_left_out_and_who_fails_sometimes_is_not() {
    let mut mock = Mock::new(|job| match (job.participant, job.point) {
        (1, 0) => Err("exit status 1\u{1b}".into()),
        (2, _) if job.round < 2 || job.round > 4 => Err("SIGSEGV".into()),
        _ => Ok(1.0),
    });
    let (why, findings) = went(&mut mock, &rounds(8), &mut comparison(3, 2));
    assert_eq!(why, Why::Rounds);
    let runs = |participant, point| {
        mock.jobs.iter().filter(|job| job.participant == participant && job.point == point).count()
    };
    assert_eq!([runs(0, 0), runs(1, 0), runs(2, 0), runs(0, 1), runs(1, 1), runs(2, 1)], [8, 3, 8, 8, 8, 8]);
    // Two take turns at the first point then.
    assert_eq!(order(&mock)[6..8], [(3, 0, vec![0, 2]), (3, 1, vec![2, 1, 0])]);
    let again = "run it by itself to see why";
    assert_eq!(
        findings,
        [
            format!("failed of 1 at 0: failed in each of its 3 rounds (exit status 1?), it was left out then; {again}"),
            format!("failed of 2 at 0: failed in 5 of 8 rounds (SIGSEGV), which are not compared; {again}"),
            format!("failed of 2 at 1: failed in 5 of 8 rounds (SIGSEGV), which are not compared; {again}"),
        ]
    );
}

#[test]
fn where_the_baseline_never_succeeds_nothing_is_compared() {
    let mut mock = Mock::new(|job| if job.participant == 0 && job.point == 1 { Err("no".into()) } else { Ok(1.0) });
    let (why, findings) = went(&mut mock, &budget(1000), &mut comparison(2, 2));
    assert_eq!(why, Why::Precise);
    assert_eq!(mock.jobs.iter().filter(|job| job.point == 1).count(), 6);
    let expected =
        "failed of 0 at 1: failed in each of its 3 rounds (no), it is the baseline, and nothing is compared there";
    assert_eq!(findings, [format!("{expected}; run it by itself to see why")]);
    // Everybody fails.
    let mut mock = Mock::new(|_| Err("no".into()));
    assert_eq!(went(&mut mock, &budget(1000), &mut comparison(2, 1)).0, Why::Nothing);
    assert_eq!(mock.jobs.len(), 6);
}

#[test]
fn after_a_signal_the_complete_runs_are_kept_and_half_a_round_makes_half_the_ratios() {
    let mut mock = Mock::new(|_| Ok(1.0));
    mock.stop = Some((9, || Stop::Interrupted));
    let mut three = comparison(3, 1);
    assert_eq!(went(&mut mock, &rounds(100), &mut three).0, Why::Interrupted);
    assert!(three.interrupted);
    // A fourth round is 2 1 0: the next would have been its first.
    mock = Mock::new(|_| Ok(1.0));
    mock.stop = Some((11, || Stop::Interrupted));
    let mut three = comparison(3, 1);
    went(&mut mock, &rounds(100), &mut three);
    let analysis = analyse(&three);
    let cells = &analysis.row(0, 0).unwrap().cells;
    let runs = |who: usize| cells[who].as_ref().map(|cell| (cell.runs, cell.ratio.as_ref().map(|ratio| ratio.rounds)));
    assert_eq!([runs(0), runs(1), runs(2)], [Some((3, None)), Some((4, Some(3))), Some((4, Some(3)))]);
}

#[test]
fn when_no_more_runs_can_be_made_those_that_were_are_kept() {
    let mut mock = Mock::new(|job| if job.participant == 1 { Err("no".into()) } else { Ok(1.0) });
    mock.stop = Some((5, || Stop::Broken(anyhow::anyhow!("the disk is full"))));
    let mut two = comparison(2, 1);
    let error = run(&mut mock, &rounds(9), &mut two, &|_, _| false, &mut |_| {}).unwrap_err();
    assert_eq!((error.to_string().as_str(), two.runs.len(), two.interrupted), ("the disk is full", 5, false));
    assert!(two.findings.iter().any(|finding| finding.id == "failed"), "{:?}", two.findings);
}

/// What was told before each run.
fn told(mock: &mut Mock, effort: &Effort, comparison: &mut Comparison) -> Vec<Progress> {
    let mut told = Vec::new();
    run(mock, effort, comparison, &|_, _| false, &mut |progress| told.push(progress.clone())).unwrap();
    let jobs: Vec<Job> = told.iter().map(|progress| progress.job).collect();
    assert_eq!(jobs, mock.jobs);
    assert!(told.iter().enumerate().all(|(at, progress)| progress.done == at && progress.round == progress.job.round));
    told
}

#[test]
fn the_time_left_is_known_after_the_first_run() {
    let told_ = told(&mut Mock::new(|_| Ok(1.0)), &rounds(5), &mut comparison(2, 2));
    assert_eq!(told_[0].left, None);
    for (at, progress) in told_.iter().enumerate().skip(1) {
        assert_eq!((progress.expected, progress.left), (20, Some(Duration::from_secs(20 - at as u64))));
    }
}

#[test]
fn the_time_left_follows_the_intervals_and_the_budget() {
    // Precise from the start: ten rounds.
    let told_ = told(&mut Mock::new(|_| Ok(1.0)), &budget(1000), &mut comparison(2, 1));
    assert!(told_.iter().all(|progress| progress.expected == 20), "{told_:?}");
    // A small budget.
    let told_ = told(&mut Mock::new(|_| Ok(1.0)), &budget(15), &mut comparison(2, 1));
    assert_eq!(
        told_.last().map(|progress| (progress.expected, progress.left)),
        Some((14, Some(Duration::from_secs(1))))
    );
    assert!(told_.iter().skip(2).all(|progress| progress.expected == 14), "{told_:?}");
    // Never precise: the budget it is, as soon as that shows.
    let told_ = told(&mut Mock::new(restless), &budget(200), &mut comparison(2, 1));
    assert_eq!(told_.len(), 200);
    assert!(told_.iter().skip(12).all(|progress| progress.expected == 200), "{told_:?}");
    // In between: nearer to the truth the longer it lasts, and never below what is sure.
    let noisy = |job: Job| Ok(1.0 + job.participant as f64 * f64::from(job.round * 37 % 101) / 1000.0);
    let told_ = told(&mut Mock::new(noisy), &budget(4000), &mut comparison(2, 1));
    let end = told_.len();
    let half = &told_[end / 2..];
    assert!(half.iter().all(|progress| (end / 2..end * 2).contains(&progress.expected)), "{end} {half:?}");
}
