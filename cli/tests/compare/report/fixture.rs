//! A comparison as it may be measured: three participants, one of them with the settings of another; made up, always the
//! same.

use jeshim_cli::compare::analysis::{Analysis, Cell, Ratio, Row, Verdict};
use jeshim_cli::compare::results::{
    Comparison, Figure, Finding, Machine, Memory, Participant, Point, Proof, Run, Served, Unit,
};

const MIB: f64 = 1_048_576.0;

/// A sweep over the number of threads, with a figure of which more is better; one participant fails in one run.
pub(crate) fn sweep() -> Comparison {
    let threads = ["1", "2", "4", "8"];
    let mut comparison = common("Random reads", &threads.map(|value| vec![("threads", value)]));
    comparison.figures = vec![
        figure("metric/iops", "iops", Unit::Plain, true),
        figure("wall", "wall time", Unit::Seconds, false),
        figure("peak_rss", "peak RSS", Unit::Bytes, false),
        Figure { headline: false, ..figure("faults", "page faults", Unit::Count, false) },
    ];
    let speed = [
        [29_052.0, 41_278.0, 33_914.0],
        [55_878.0, 75_781.0, 58_839.0],
        [127_899.0, 195_351.0, 148_205.0],
        [240_566.0, 294_241.0, 213_298.0],
    ];
    for (point, speeds) in speed.iter().enumerate() {
        measure(&mut comparison, point, 9, |participant, noise| {
            let speed = speeds[participant] * (1.0 + noise * 0.04);
            vec![
                ("metric/iops", speed),
                ("wall", 2e5 / speed * (1.0 + noise * 0.01)),
                ("peak_rss", [107.3, 120.6, 98.2][participant] * MIB * (1.0 + noise * 0.01)),
                ("faults", (30_000.0 * (1.0 + noise * 0.02)).round()),
            ]
        });
    }
    comparison.runs[4].failure = Some("it ended with status 1".to_owned());
    comparison.findings.push(Finding {
        id: "failed".to_owned(),
        participant: Some(1),
        point: Some(0),
        text: "round 1 ended with status 1; see what it says when it is run alone".to_owned(),
    });
    comparison
}

/// A server that is driven by phases, at one point.
pub(crate) fn server() -> Comparison {
    let mut comparison = common("Churn", &[vec![]]);
    comparison.server = true;
    comparison.figures = vec![
        figure("wall", "wall time", Unit::Seconds, false),
        figure("peak_rss", "peak RSS", Unit::Bytes, false),
        figure("phase/loaded/rss", "loaded: RSS", Unit::Bytes, false),
        figure("phase/churned/rss", "churned: RSS", Unit::Bytes, false),
        figure("phase/settled/rss", "settled: RSS", Unit::Bytes, false),
        Figure { headline: false, ..figure("user", "user time", Unit::Seconds, false) },
    ];
    measure(&mut comparison, 0, 12, |participant, noise| {
        let size = [107.3, 121.7, 99.0][participant] * MIB * (1.0 + noise * 0.015);
        vec![
            ("wall", [4.2, 3.86, 4.21][participant] * (1.0 + noise * 0.02)),
            ("peak_rss", size * 1.08),
            ("phase/loaded/rss", size * 0.8),
            ("phase/churned/rss", size),
            ("phase/settled/rss", size * [0.97, 0.7, 0.6][participant]),
            ("user", 3.1 * (1.0 + noise * 0.02)),
        ]
    });
    for run in &mut comparison.runs {
        let (wall, peak) = (run.figures["wall"], run.figures["peak_rss"]);
        let settled = run.figures["phase/settled/rss"] / peak;
        for step in 0..420 {
            let time = f64::from(step) / 419.0;
            let wave = (time * 60.0).sin() * 0.02;
            let share = match time {
                time if time < 0.3 => time / 0.3 * 0.74,
                time if time < 0.8 => 0.74 + (time - 0.3) * 0.5 + wave,
                time => settled + (0.99 - settled) * (-(time - 0.8) * 40.0).exp(),
            };
            run.memory.push(((time * wall) as f32, (peak * share) as u64));
        }
        run.marks = [(0.3, "loaded"), (0.8, "churned"), (1.0, "settled")]
            .map(|(share, name)| ((share * wall) as f32, name.to_owned()))
            .to_vec();
    }
    comparison
}

/// Ten figures that a program prints, with one participant against another: a published table.
pub(crate) fn two() -> Comparison {
    let mut comparison = common("Block assembly", &[vec![]]);
    comparison.participants.truncate(2);
    comparison.participants[0].label = "without".to_owned();
    comparison.participants[1].label = "with".to_owned();
    comparison.proofs.retain(|proof| proof.participant < 2);
    let values = [
        ("AssembleBlock", 636_476.43, 605_815.89),
        ("BlockToJsonVerboseWrite", 36_673_658.35, 42_366_423.95),
        ("CCoinsCaching", 915.62, 813.13),
    ];
    let mut figures = std::collections::BTreeMap::new();
    for (name, without, _) in values {
        comparison.figures.push(figure(&format!("metric/{name}"), name, Unit::Plain, false));
        figures.insert(format!("metric/{name}"), without);
    }
    comparison.runs.push(Run { figures: figures.clone(), ..Run::default() });
    for (name, _, with) in values {
        figures.insert(format!("metric/{name}"), with);
    }
    comparison.runs.push(Run { participant: 1, figures, ..Run::default() });
    comparison
}

fn figure(id: &str, name: &str, unit: Unit, higher_is_better: bool) -> Figure {
    Figure { id: id.to_owned(), name: name.to_owned(), unit, higher_is_better, headline: true }
}

fn common(name: &str, points: &[Vec<(&str, &str)>]) -> Comparison {
    let participant = |label: &str, library: Option<&str>| Participant {
        label: label.to_owned(),
        allocator: label.to_owned(),
        library: library.map(Into::into),
        ..Participant::default()
    };
    let points = points.iter().map(|parameters| Point {
        words: vec!["./load".to_owned()],
        parameters: parameters.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
        ..Point::default()
    });
    let points: Vec<Point> = points.collect();
    let memory = Memory {
        requested: Some(97_000_000),
        usable: 108_500_000,
        thread_caches: 1_400_000,
        slab_free: 5_300_000,
        dirty: 3_700_000,
        muzzy: 0,
        metadata: 6_800_000,
        active: 115_200_000,
        resident: 125_700_000,
        retained: 44_000_000,
        allocations: 812_345,
    };
    let proof = |participant: usize, by: &str, memory: Option<Memory>| Proof {
        participant,
        point: 0,
        served: Served::Yes,
        by: Some(by.to_owned()),
        because: "small blocks were in its memory".to_owned(),
        memory,
    };
    Comparison {
        comparison: jeshim_cli::compare::results::FORMAT,
        jeshim: "0.1.0".to_owned(),
        name: Some(name.to_owned()),
        description: Some("The same work under three allocators".to_owned()),
        asked: ["compare", "--with", "system", "--metric", "rate=(\\d+) requests/s", "--", "./load"]
            .map(str::to_owned)
            .to_vec(),
        started: 1_796_083_140,
        took: 312.4,
        machine: Machine {
            system: "Linux 6.1.0 x86_64".to_owned(),
            distribution: Some("Debian GNU/Linux 12 (bookworm)".to_owned()),
            processors: 8,
            memory: Some(34_359_738_368),
            load: Some((0.12, 3.9)),
            c_library: Some("glibc 2.36".to_owned()),
            page_size: 4096,
            ..Machine::default()
        },
        participants: vec![
            participant("system", None),
            participant("jeshim", Some("/usr/lib/jeshim/libjeshim.so")),
            participant("tcmalloc, 256 MB", Some("/usr/lib/libtcmalloc.so.4")),
        ],
        points,
        proofs: vec![
            proof(0, "glibc 2.36 (libc.so.6)", None),
            proof(1, "libjeshim.so", Some(memory)),
            proof(2, "libtcmalloc.so.4", None),
        ],
        precision: 0.01,
        ..Comparison::default()
    }
}

/// Adds rounds. The noise is between -1 and 1, and the same each time.
fn measure(
    comparison: &mut Comparison,
    point: usize,
    rounds: u32,
    figures: impl Fn(usize, f64) -> Vec<(&'static str, f64)>,
) {
    let mut random = fastrand::Rng::with_seed(7);
    for round in 0..rounds {
        for participant in 0..comparison.participants.len() {
            let noise = random.f64() + random.f64() - 1.0;
            let figures = figures(participant, noise).into_iter();
            // So few digits as JSON keeps exactly.
            let figures = figures.map(|(id, value)| (id.to_owned(), (value * 1e5).round() / 1e5)).collect();
            comparison.runs.push(Run { round, participant, point, figures, ..Run::default() });
        }
    }
}

/// What follows from it, by simple means: these tests are about how it is shown.
pub(crate) fn analysed(comparison: &Comparison) -> Analysis {
    let mut analysis = Analysis::default();
    for point in 0..comparison.points.len() {
        for (index, figure) in comparison.figures.iter().enumerate() {
            let base = comparison.values(&figure.id, comparison.baseline, point);
            let cells = (0..comparison.participants.len()).map(|participant| {
                let values = comparison.values(&figure.id, participant, point);
                let against = (participant != comparison.baseline).then_some(base.as_slice());
                cell(&values, against, figure.higher_is_better)
            });
            analysis.rows.push(Row { point, figure: index, cells: cells.collect() });
        }
    }
    analysis
}

fn cell(values: &[(u32, f64)], base: Option<&[(u32, f64)]>, higher_is_better: bool) -> Option<Cell> {
    let mut sorted: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
    sorted.sort_by(f64::total_cmp);
    let at = |share: usize| sorted.get((sorted.len() - 1) * share / 4).copied().expect("in it");
    if sorted.is_empty() {
        return None;
    }
    let ratio = base.map(|base| {
        let both = values
            .iter()
            .filter_map(|(round, value)| base.iter().find(|(other, _)| other == round).map(|(_, base)| value / base));
        let ratios: Vec<f64> = both.collect();
        let mut sorted = ratios.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |share: usize| sorted[(sorted.len() - 1) * share / 8];
        let (low, median, high) = (at(2), at(4), at(6));
        let is_better = (median > 1.0) == higher_is_better;
        let verdict = match () {
            () if ratios.len() < 2 => Verdict::TooFew,
            () if low <= 1.0 && high >= 1.0 => Verdict::NoDifference,
            () if is_better => Verdict::Better,
            () => Verdict::Worse,
        };
        Ratio { rounds: ratios.len(), median, interval: (low, high), p: 0.004, verdict, ratios }
    });
    Some(Cell { runs: sorted.len(), median: at(2), quartiles: (at(1), at(3)), range: (at(0), at(4)), ratio })
}
