//! Tables and lines: on a terminal, as Markdown, as CSV, as JSON.

use super::fixture::{analysed, server, sweep, two};
use jeshim_cli::compare::report;
use jeshim_cli::compare::results::{Comparison, Figure, Served, Unit};

fn plain(comparison: &Comparison, all: bool) -> String {
    let text = report::text(comparison, &analysed(comparison), None, all);
    anstream::adapter::strip_str(&text).to_string()
}

fn markdown(comparison: &Comparison) -> String {
    report::markdown(comparison, &analysed(comparison), None, false)
}

#[test]
fn two_participants_have_the_change_in_a_column_of_its_own() {
    let text = markdown(&two());
    for line in [
        "| figure | without | with | change |",
        "| --- | ---: | ---: | ---: |",
        "| AssembleBlock | 636,476.43 | 605,815.89 | +4.8% ? |",
        "| BlockToJsonVerboseWrite | 36,673,658.35 | 42,366,423.95 | -15.5% ? |",
        "| CCoinsCaching | 915.62 | 813.13 | +11.2% ? |",
    ] {
        assert!(text.lines().any(|it| it == line), "{line}\n\n{text}");
    }
}

#[test]
fn a_sweep_has_a_table_for_each_figure_and_a_row_for_each_value() {
    let text = markdown(&sweep());
    assert!(text.contains("#### iops (more is better)\n\n| threads | system | jeshim | tcmalloc, 256 MB |"), "{text}");
    assert!(text.contains("#### wall time (time, less is better)"), "{text}");
    for value in ["1", "2", "4", "8"] {
        let rows = text.lines().filter(|line| line.starts_with(&format!("| {value} | "))).count();
        assert_eq!(rows, 3, "{value}\n\n{text}");
    }
    // More is better, and it is more.
    let row = text.lines().find(|line| line.starts_with("| 4 | ")).expect("a row");
    let jeshim = row.split(" | ").nth(2).expect("a column");
    assert!(jeshim.starts_with("19") && jeshim.contains("(+5"), "{row}");
}

#[test]
fn phases_are_rows_and_bytes_are_readable() {
    let text = markdown(&server());
    let row = text.lines().find(|line| line.starts_with("| settled: RSS")).expect("a row");
    let fields: Vec<&str> = row.split(" | ").collect();
    assert!(fields[1].contains("MiB") && fields[2].contains("MiB (+"), "{row}");
    let wall = text.lines().find(|line| line.starts_with("| wall time")).expect("a row");
    assert!(wall.contains(" s (+") && wall.contains('±'), "{wall}");
}

#[test]
fn the_parts_of_memory_are_told_with_their_share() {
    let text = markdown(&server());
    assert!(text.contains("### Where the memory went\n\n| memory | jeshim |"), "{text}");
    for line in [
        "| requested | 92.51 MiB (77%) |",
        "| rounding to size classes | 10.97 MiB (9.1%) |",
        "| = resident | 119.88 MiB (100%) |",
        "| besides: retained addresses | 41.96 MiB |",
    ] {
        assert!(text.lines().any(|it| it == line), "{line}\n\n{text}");
    }
}

#[test]
fn only_what_matters_is_shown_unless_all_is_asked_for() {
    let comparison = sweep();
    let (some, all) = (plain(&comparison, false), plain(&comparison, true));
    assert!(!some.contains("page faults") && some.contains("1 more figure: --all"), "{some}");
    assert!(all.contains("page faults (count, less is better)") && !all.contains("--all"), "{all}");
}

#[test]
fn the_text_says_who_served_what_was_found_and_how_it_was_measured() {
    let mut comparison = sweep();
    let text = plain(&comparison, false);
    for part in [
        "system is glibc 2.36 (libc.so.6): small blocks were in its memory",
        "jeshim (/usr/lib/jeshim/libjeshim.so): served by libjeshim.so",
        "Note: jeshim, threads=1: round 1 ended with status 1; see what it says when it is run alone",
        "Machine: Linux 6.1.0 x86_64; Debian GNU/Linux 12 (bookworm); glibc 2.36; 8 processors; 32.00 GiB of memory",
        "load 0.12 before, 3.90 after",
        "Measured: 9 rounds of 4 points, 108 runs, 1 of which does not count, in 5 min 12 s, begun 2026-11-30 23:59 UTC",
        "jeshim against system",
    ] {
        assert!(text.contains(part), "{part}\n\n{text}");
    }
    comparison.proofs[2].served = Served::No;
    comparison.proofs[2].by = Some("libc.so.6".to_owned());
    let text = plain(&comparison, false);
    assert!(text.contains("not compared: it did not serve; served by libc.so.6"), "{text}");
}

#[test]
fn many_figures_of_the_program_are_counted_in_the_verdict() {
    let mut comparison = sweep();
    comparison.points.truncate(1);
    comparison.runs.retain(|run| run.point == 0);
    for (number, change) in [0.8, 0.9, 0.7, 1.2, 1.0, 1.0].into_iter().enumerate() {
        let id = format!("metric/line{number}");
        let figure = comparison.figures[1].clone();
        comparison.figures.push(Figure { id: id.clone(), name: id.clone(), unit: Unit::Plain, ..figure });
        for run in &mut comparison.runs {
            run.figures.insert(id.clone(), 100.0 * if run.participant == 1 { change } else { 1.0 });
        }
    }
    let text = plain(&comparison, false);
    // With iops, which is better.
    assert!(text.contains("7 figures of the program: 4 better, 1 worse, 2 without a difference"), "{text}");
}

#[test]
fn control_characters_of_others_do_not_reach_the_terminal() {
    let mut comparison = sweep();
    let evil = "x\u{1b}[2J\u{7}\ny".to_owned();
    comparison.name = Some(evil.clone());
    comparison.participants[1].label = evil.clone();
    comparison.figures[0].name = evil.clone();
    comparison.findings[0].text = evil.clone();
    comparison.proofs[1].because = evil.clone();
    comparison.points[0].parameters[0] = (evil.clone(), evil.clone());
    comparison.machine.system = evil;
    // Colours are taken out by whoever prints it, and are not asked about here.
    let text = report::markdown(&comparison, &analysed(&comparison), None, true);
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    assert!(text.contains("x?"), "{text}");
    let text = plain(&comparison, true);
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
}

#[test]
fn nothing_measured_is_said_and_breaks_nothing() {
    let mut comparison = sweep();
    for run in &mut comparison.runs {
        run.failure = Some("it was ended by signal 11 (SIGSEGV)".to_owned());
        run.figures.clear();
    }
    let analysis = analysed(&comparison);
    assert!(plain(&comparison, false).contains("108 of which do not count"));
    assert!(report::html(&comparison, &analysis, None).expect("a page").contains("There is nothing to compare"));
    let csv = report::csv(&comparison).expect("CSV");
    assert_eq!(csv.lines().count(), 109);
    assert!(csv.lines().nth(1).is_some_and(|line| line.ends_with(",,,it was ended by signal 11 (SIGSEGV)")), "{csv}");
    let empty = Comparison::default();
    assert!(plain(&empty, true).contains("0 rounds, 0 runs"));
    report::html(&empty, &analysed(&empty), None).expect("a page");
    report::csv(&empty).expect("CSV");
}

#[test]
fn indices_that_lead_nowhere_break_nothing() {
    let mut comparison = sweep();
    let mut analysis = analysed(&comparison);
    analysis.rows[0].figure = 99;
    analysis.rows[1].point = 99;
    analysis.rows[2].cells.clear();
    for row in &mut analysis.rows {
        for cell in row.cells.iter_mut().flatten() {
            cell.quartiles = (f64::NAN, f64::INFINITY);
            if let Some(ratio) = &mut cell.ratio {
                ratio.interval = (f64::NEG_INFINITY, f64::NAN);
            }
        }
    }
    comparison.baseline = 99;
    comparison.proofs[1].participant = 99;
    comparison.proofs[2].point = 99;
    comparison.runs[0].participant = 99;
    comparison.runs[1].point = 99;
    report::text(&comparison, &analysis, None, true);
    report::markdown(&comparison, &analysis, None, true);
    report::html(&comparison, &analysis, None).expect("a page");
    report::csv(&comparison).expect("CSV");
    report::json(&comparison, &analysis, None).expect("JSON");
}

#[test]
fn csv_has_a_line_for_every_run_and_figure() {
    let comparison = sweep();
    let text = report::csv(&comparison).expect("CSV");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let heading: Vec<&str> = reader.headers().expect("a heading").iter().collect::<Vec<_>>();
    assert_eq!(heading, ["point", "threads", "participant", "round", "figure", "unit", "value", "failure"]);
    let lines: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().expect("CSV");
    assert_eq!(lines.len(), 4 * 9 * 3 * 4);
    let figures: f64 = comparison.runs.iter().filter_map(|run| run.figures.get("wall")).sum();
    let written = lines.iter().filter(|line| &line[4] == "wall").map(|line| line[6].parse::<f64>().expect("a number"));
    assert!((written.sum::<f64>() - figures).abs() < 1e-9);
    let failed = lines.iter().filter(|line| !line[7].is_empty()).count();
    assert_eq!(failed, 4);
    assert!(lines.iter().any(|line| &line[2] == "tcmalloc, 256 MB" && &line[5] == "bytes"));
}

#[test]
fn json_is_read_back_as_it_was() {
    let mut comparison = server();
    let text = report::json(&comparison, &analysed(&comparison), None).expect("JSON");
    let back: Comparison = serde_json::from_str(&text).expect("a comparison");
    // Too long to be shown.
    assert!(back == comparison);
    let whole: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        whole["analysis"]["rows"][0]["cells"][1]["ratio"]["verdict"], "better",
        "{}",
        whole["analysis"]["rows"][0]
    );
    // What JSON cannot hold is left out, and does not make the file unreadable.
    comparison.runs[0].figures.insert("metric/odd".to_owned(), f64::NAN);
    let text = report::json(&comparison, &analysed(&comparison), None).expect("JSON");
    let back: Comparison = serde_json::from_str(&text).expect("a comparison");
    assert!(!back.runs[0].figures.contains_key("metric/odd") && back.runs[0].figures.contains_key("wall"));
}
