//! Against an older result.

use super::{against, read};
use crate::compare::analysis::Verdict;
use crate::compare::results::{Comparison, FORMAT, Figure, Machine, Participant, Point, Run, Unit};

/// Two participants at one point: the baseline takes `scale`, the other `scale` times `other`, within 2%.
fn result(rounds: u32, scale: f64, other: f64) -> Comparison {
    let participant = |label: &str| Participant { label: label.into(), ..Participant::default() };
    let mut runs = Vec::new();
    for round in 0..rounds {
        for (index, factor) in [1.0, other].into_iter().enumerate() {
            let noise = 1.0 + 0.01 * (f64::from(round * 7 % 5) - 2.0) + 0.0001 * f64::from(round);
            let figures = [("wall".to_owned(), scale * factor * noise)].into();
            runs.push(Run { round, participant: index, figures, ..Run::default() });
        }
    }
    Comparison {
        comparison: FORMAT,
        jeshim: "0.1.0".into(),
        participants: vec![participant("system"), participant("mimalloc")],
        points: vec![Point { words: vec!["sort".into(), "big".into()], ..Point::default() }],
        figures: vec![Figure {
            id: "wall".into(),
            name: "wall time".into(),
            unit: Unit::Seconds,
            headline: true,
            ..Figure::default()
        }],
        runs,
        precision: 0.01,
        ..Comparison::default()
    }
}

#[test]
fn what_has_changed_is_told_from_what_the_machine_did() {
    // All is slower by half, and one more than that.
    let found = against(&result(12, 1.5, 0.8), &result(10, 1.0, 0.7));
    assert_eq!(found.warnings, Vec::<String>::new());
    let [baseline, other] = found.changes.as_slice() else { panic!("{:?}", found.changes) };
    assert!((baseline.ratio.median - 1.5).abs() < 0.01, "{baseline:?}");
    assert_eq!((baseline.ratio.verdict, baseline.relative.as_ref()), (Verdict::Worse, None));
    assert_eq!(baseline.ratio.rounds, 10);
    assert!((baseline.medians.0 / baseline.medians.1 - baseline.ratio.median).abs() < 1e-3);
    let relative = other.relative.as_ref().unwrap();
    assert!((relative.median - 0.8 / 0.7).abs() < 1e-6, "{relative:?}");
    assert_eq!(relative.verdict, Verdict::Worse);
    // The other way round it is the inverse.
    let back = against(&result(10, 1.0, 0.7), &result(12, 1.5, 0.8));
    assert!((back.changes[0].ratio.median * baseline.ratio.median - 1.0).abs() < 1e-9);
    assert_eq!(back.changes[0].ratio.verdict, Verdict::Better);
    // Nothing has changed.
    let same = against(&result(12, 1.0, 0.8), &result(12, 1.0, 0.8));
    assert!(same.changes.iter().all(|change| change.ratio.verdict == Verdict::NoDifference), "{same:?}");
    assert!(same.changes[0].ratio.words(&result(1, 1.0, 1.0).figures[0]).starts_with("no difference seen (±"));
}

#[test]
fn participants_points_and_figures_are_found_by_name() {
    let mut old = result(12, 1.0, 0.8);
    let new = result(12, 1.0, 0.8);
    old.participants.swap(0, 1);
    for run in &mut old.runs {
        run.participant = 1 - run.participant;
    }
    old.baseline = 1;
    let found = against(&new, &old);
    assert!(found.changes.iter().all(|change| (change.ratio.median - 1.0).abs() < 1e-9), "{found:?}");
    assert!(found.warnings.is_empty() && found.changes[1].relative.is_some());
    // Another baseline: the ratios to it say nothing about each other.
    old.baseline = 0;
    let (mut new, mut old) = (new, old);
    for result in [&mut new, &mut old] {
        result.participants.push(Participant { label: "third".into(), ..Participant::default() });
        let third: Vec<Run> = result.runs.iter().filter(|run| run.participant == 0).cloned().collect();
        result.runs.extend(third.into_iter().map(|run| Run { participant: 2, ..run }));
    }
    let found = against(&new, &old);
    assert_eq!(found.changes.len(), 3);
    assert!(found.changes.iter().all(|change| change.relative.is_none()));
    assert_eq!(found.warnings, ["the baseline is different: system now, mimalloc then"]);
    for result in [&mut new, &mut old] {
        result.participants.pop();
        result.runs.retain(|run| run.participant < 2);
    }
    old.baseline = 1;
    old.participants[0].label = "jemalloc".into();
    old.figures[0].id = "user".into();
    let found = against(&new, &old);
    assert_eq!(found.changes, []);
    assert_eq!(
        found.warnings,
        [
            "the participant mimalloc is in this result only",
            "the participant jemalloc is in the older result only",
            "the figure wall is in this result only",
            "the figure user is in the older result only",
        ]
    );
}

#[test]
fn what_else_is_different_is_said() {
    let (mut new, mut old) = (result(6, 1.0, 1.0), result(6, 1.0, 1.0));
    old.machine = Machine { processors: 2, governor: Some("powersave".into()), page_size: 4096, ..Machine::default() };
    new.machine = Machine { processors: 8, boost: Some(true), page_size: 4096, ..Machine::default() };
    new.jeshim = "0.2.0".into();
    new.points[0].words[1] = "bigger".into();
    new.participants[1].version = Some("3.4\x1b".into());
    new.participants[1].variables =
        [("A".to_owned(), "1".to_owned()), ("LD_PRELOAD".to_owned(), "/x".to_owned())].into();
    old.participants[1].variables =
        [("A".to_owned(), "2".to_owned()), ("LD_PRELOAD".to_owned(), "/y".to_owned())].into();
    new.figures[0].higher_is_better = true;
    old.interrupted = true;
    assert_eq!(
        against(&new, &old).warnings,
        [
            "jeshim is different: 0.2.0 now, 0.1.0 then",
            "the number of processors is different: 8 now, 2 then",
            "the frequency governor is different: nothing now, powersave then",
            "boost is different: on now, nothing then",
            "the version of mimalloc is different: 3.4? now, nothing then",
            "A of mimalloc is different: 1 now, 2 then",
            "the command is different: sort bigger now, sort big then",
            "which direction of wall time is better has changed: that of now is used",
            "the older result was interrupted before it was complete",
        ]
    );
}

#[test]
fn a_result_is_read_and_anything_else_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.json");
    let told = |text: &[u8]| {
        std::fs::write(&path, text).unwrap();
        read(&path).map_err(|error| error.to_string().replace(&format!("{} ", path.display()), ""))
    };
    let whole = serde_json::to_string_pretty(&result(3, 1.0, 0.8)).unwrap();
    assert_eq!(told(whole.as_bytes()), Ok(result(3, 1.0, 0.8)));
    let refused = |text: &[u8]| told(text).unwrap_err();
    let remedy = "name a file that jeshim compare --json=FILE has written";
    assert_eq!(refused(b"\xff\xfe"), format!("is not a result: it is not text; {remedy}"));
    assert_eq!(refused(b""), format!("is not a result: it is not a JSON object; {remedy}"));
    assert_eq!(refused(b"[1]"), format!("is not a result: it is not a JSON object; {remedy}"));
    assert_eq!(refused(b"{\"a\": 1}"), format!("is not a result: it has no member \"comparison\"; {remedy}"));
    assert_eq!(
        refused(b"{\"comparison\": 2, \"jeshim\": \"9.0\\u001b\", \"runs\": 7}"),
        "was written by jeshim 9.0? in the newer form 2, and this one reads 1; use that version"
    );
    assert_eq!(refused(&whole.as_bytes()[..whole.len() - 40]), {
        format!("is damaged: it ends in line {}, too early; measure anew", whole[..whole.len() - 40].lines().count())
    });
    let wrong = refused(whole.replacen("\"started\": 0", "\"started\": \"x\"", 1).as_bytes());
    assert!(wrong.starts_with("is damaged: invalid type: string \"x\"") && wrong.contains(" at line "), "{wrong}");
    let wrong = refused(whole.replacen("\"participant\": 1", "\"participant\": 7", 1).as_bytes());
    assert_eq!(wrong, "is damaged: it speaks of participant 7 of 2; measure anew");
    std::fs::remove_file(&path).unwrap();
    assert_eq!(
        read(&path).unwrap_err().to_string(),
        format!("{} cannot be read: No such file or directory; {remedy}", path.display())
    );
}
