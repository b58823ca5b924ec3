use super::*;
use crate::arguments::{Arguments, Command};
use clap::Parser;

fn typed(options: &[&str]) -> anyhow::Result<Metrics> {
    let words = ["jeshim", "compare"].iter().chain(options).chain(&["--", "x"]);
    match Arguments::try_parse_from(words)?.command {
        Command::Compare(arguments) => Metrics::default().and(&arguments),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn metrics(options: &[&str]) -> Metrics {
    typed(options).unwrap_or_else(|error| panic!("{options:?}: {error}"))
}

#[track_caller]
fn refused(options: &[&str]) -> String {
    match typed(options) {
        Ok(metrics) => panic!("{options:?} was taken: {metrics:?}"),
        Err(error) => error.to_string(),
    }
}

fn read(options: &[&str], output: &str) -> Vec<(String, f64, Unit)> {
    let readings = metrics(options).read(output.as_bytes(), b"");
    readings.into_iter().map(|reading| (reading.name, reading.value, reading.unit)).collect()
}

/// What the published benchmarks of a Bitcoin node were, in the form in which its benchmark program prints them.
const NANOBENCH: &str = "
|               ns/op |                op/s |    err% |     total | benchmark
|--------------------:|--------------------:|--------:|----------:|:----------
|          636,476.43 |            1,571.15 |    0.4% |      1.10 | `AssembleBlock`
|    1,413,593,628.00 |                0.71 |    0.9% |     15.50 | `BlockAssemblerAddPackageTxns`
|       36,673,658.35 |               27.27 |    2.1% |      2.02 | `BlockToJsonVerboseWrite`
|          558,989.43 |            1,788.94 |    0.7% |      1.10 | `BlockToJsonVerbosity1`
|       78,972,618.43 |               12.66 |    1.0% |      4.34 | `BlockToJsonVerbosity2`
|       78,990,756.59 |               12.66 |    1.3% |      4.35 | `BlockToJsonVerbosity3`
|              915.62 |        1,092,156.13 |    0.2% |      1.10 | `CCoinsCaching`
|      167,298,038.94 |                5.98 |    0.3% |      1.84 | `MempoolCheck`
|          283,963.22 |            3,521.58 |    7.9% |      1.12 | :wavy_dash: `MempoolCheckEphemeralSpends` (Unstable with ~21.2 iters. Increase `minEpochIterations` to e.g. 212)
|       12,907,460.40 |               77.47 |    0.5% |      1.42 | `RpcMempool`
";
/// As scenarios/bitcoin has it.
const NANOBENCH_ROWS: &str = r"ns/op=^\| +(?<value>[\d,.]+) \|.*\| [^|`]*`(?<name>[^`]+)`";

#[test]
fn a_benchmarks_table_gives_a_figure_for_each_row() {
    let found = read(&["--metric", NANOBENCH_ROWS], NANOBENCH);
    let names: Vec<&str> = found.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "AssembleBlock",
            "BlockAssemblerAddPackageTxns",
            "BlockToJsonVerboseWrite",
            "BlockToJsonVerbosity1",
            "BlockToJsonVerbosity2",
            "BlockToJsonVerbosity3",
            "CCoinsCaching",
            "MempoolCheck",
            "MempoolCheckEphemeralSpends",
            "RpcMempool"
        ]
    );
    let values: Vec<f64> = found.iter().map(|(_, value, _)| *value).collect();
    assert_eq!(values[0], 636_476.43);
    assert_eq!(values[1], 1_413_593_628.0);
    assert_eq!(values[6], 915.62);
    assert_eq!(values[8], 283_963.22);
}

#[test]
fn a_servers_report_with_windows_line_ends() {
    let info = "# Memory\r\nused_memory:116958424\r\nused_memory_human:111.54M\r\nused_memory_rss:127622348\r\n\
                mem_fragmentation_ratio:1.09\r\nmem_allocator:libc\r\n";
    let all = [
        "--metric",
        r"used_memory=^used_memory:(\d+)$",
        "--metric",
        r"rss=^used_memory_rss:(\d+)$",
        "--metric",
        r"mem_fragmentation_ratio=^mem_fragmentation_ratio:([\d.]+)$",
        "--metric",
        r"used_memory_human=^used_memory_human:(.+)$",
    ];
    let found = read(&all, info);
    assert_eq!(
        found,
        [
            ("used_memory".to_owned(), 116_958_424.0, Unit::Bytes),
            ("rss".to_owned(), 127_622_348.0, Unit::Bytes),
            ("mem_fragmentation_ratio".to_owned(), 1.09, Unit::Plain),
            ("used_memory_human".to_owned(), 111.54 * f64::from(1 << 20), Unit::Bytes),
        ]
    );
}

#[test]
fn named_groups_are_a_figure_each_and_of_several_matches_the_last_counts() {
    let fio =
        "  read: IOPS=29.1k, BW=114MiB/s (119MB/s)(1137MiB/10001msec)\n  read: IOPS=41.3k, BW=161MiB/s (169MB/s)\n";
    let found = read(&["--metric", r"fio=IOPS=(?<iops>[\d.]+k?), BW=(?<bandwidth>\S+)"], fio);
    assert_eq!(
        found,
        [("iops".to_owned(), 41_300.0, Unit::Plain), ("bandwidth".to_owned(), 161.0 * f64::from(1 << 20), Unit::Plain)]
    );
    let bench = "Sending 200000 read requests, 4096 bytes each, 32 in parallel\nRun completed in 0.702 seconds.\n";
    assert_eq!(read(&["--metric", r"time=completed in (.*)\.$"], bench), [("time".to_owned(), 0.702, Unit::Seconds)]);
    // Without a group, all that matched; of alternatives, the group that took part.
    assert_eq!(read(&["--metric", r"n=\d+$"], "a 1\nb 22\n")[0].1, 22.0);
    assert_eq!(read(&["--metric", r"n=b (\d+)|c (\d+)"], "c 7")[0].1, 7.0);
    // The last one that is a number.
    assert_eq!(read(&["--metric", r"n=x=(\S+)"], "x=1\nx=2\nx=done\n")[0].1, 2.0);
}

#[test]
fn the_builtin_workloads_form() {
    let found = read(
        &["--metric", r"all=^(?<name>[\w.]+): (?<value>\S+ \S+)$"],
        "rss: 4096 bytes\nload: 1.5 ms\nchecksum: 0012 fnv1a\n",
    );
    assert_eq!(found, [("rss".to_owned(), 4096.0, Unit::Bytes), ("load".to_owned(), 0.0015, Unit::Seconds)]);
}

#[test]
fn json_is_all_of_the_output_or_its_last_line() {
    let hyperfine = r#"{"results": [{"command": "sleep 0.1", "mean": 0.1023, "times": [0.101, 0.1036],
        "percentile": {"99.000000": 7}, "text": "1.5 KiB", "flag": true}]}"#;
    let path = ["--metric-json", "results.0.mean", "--metric-json", "second=results.0.times.1"];
    assert_eq!(
        read(&path, hyperfine),
        [("results.0.mean".to_owned(), 0.1023, Unit::Plain), ("second".to_owned(), 0.1036, Unit::Plain)]
    );
    assert_eq!(read(&["--metric-json", "results.0.percentile.99.000000"], hyperfine)[0].1, 7.0);
    assert_eq!(read(&["--metric-json", "t=results.0.text"], hyperfine), [("t".to_owned(), 1536.0, Unit::Bytes)]);
    for nothing in ["results.1.mean", "results.0.flag", "results.0", "results.mean", "mean"] {
        assert_eq!(read(&["--metric-json", nothing], hyperfine), [], "{nothing}");
    }
    let lines = "starting\n{\"rss\": 1}\n{\"rss\": 2}\n{not json}\ndone\n";
    assert_eq!(read(&["--metric-json", "rss"], lines), [("rss".to_owned(), 2.0, Unit::Bytes)]);
}

#[test]
fn standard_error_is_read_where_standard_output_has_nothing() {
    let one = metrics(&["--metric", r"n=n=(\d+)"]);
    let value = |output: &[u8], errors: &[u8]| one.read(output, errors).first().map(|reading| reading.value);
    assert_eq!(value(b"n=1", b"n=2"), Some(1.0));
    assert_eq!(value(b"", b"n=2"), Some(2.0));
    assert_eq!(value(b"\xff\xfe n=3", b""), Some(3.0));
    assert_eq!(value(b"", b""), None);
}

#[test]
fn of_which_more_is_better() {
    let all = ["--metric", r"iops=(\d+)", "--metric-json", "p99=a.b"];
    let better = |options: &[&str], name: &str| {
        let reading = Reading { name: name.to_owned(), value: 1.0, unit: Unit::Plain, metric: name.to_owned() };
        metrics(&[&all[..], options].concat()).figure(&reading, None).higher_is_better
    };
    assert!(!better(&[], "iops"));
    assert!(better(&["--higher-is-better"], "iops"));
    assert!(better(&["--higher-is-better"], "p99"));
    assert!(better(&["--higher-is-better=iops"], "iops"));
    assert!(!better(&["--higher-is-better=iops"], "p99"));
    let said = refused(&[&all[..], &["--higher-is-better=iop"]].concat());
    assert_eq!(said, "more is better of 'iop', which no metric is called; the nearest is 'iops'; there are iops, p99");
    assert!(refused(&["--higher-is-better"]).contains("add --metric"));
    // The metric's name stands for all of its figures; what they will be called is not known.
    let rows = metrics(&["--metric", r"rows=(?<name>\w+) (?<value>\d+)", "--higher-is-better=b"]);
    let figures: Vec<bool> =
        rows.read(b"a 1\nb 2\n", b"").iter().map(|reading| rows.figure(reading, None).higher_is_better).collect();
    assert_eq!(figures, [false, true]);
}

#[test]
fn figures_of_a_phase_are_called_after_it() {
    let one = metrics(&["--metric", r"used memory=(\d+)"]);
    let reading = &one.read(b"7", b"")[0];
    let plain = one.figure(reading, None);
    assert_eq!((plain.id.as_str(), plain.name.as_str()), ("metric/used memory", "used memory"));
    assert_eq!(plain.unit, Unit::Bytes);
    let phase = one.figure(reading, Some("loaded"));
    assert_eq!((phase.id.as_str(), phase.name.as_str()), ("phase/loaded/metric/used memory", "loaded: used memory"));
}

#[test]
fn what_was_not_found_is_told_with_the_reason() {
    let two = metrics(&["--metric", r"rate=(\d+) ops", "--metric-json", "p99=a", "--metric", r"word=it is (\w+)"]);
    let output = b"it is fine\n12 ops\n";
    let found = two.read(output, b"").into_iter().map(|reading| reading.metric).collect();
    assert_eq!(two.missing(&found), ["word", "p99"]);
    let why = |name: &str, output: &[u8]| two.why_not(name, output, b"").unwrap_or_default();
    assert_eq!(why("rate", output), "");
    assert_eq!(why("p99", output), "the metric 'p99' found no JSON; let the program print it whole, or as a line");
    assert!(why("p99", b"{\"b\": 1}").contains("no number at a in the JSON"));
    assert_eq!(why("word", output), "the metric 'word' matched 'fine', which is no number; group the number alone");
    assert!(why("word", b"").contains("nothing was printed"));
    assert!(why("word", b"x").contains("compare its pattern"));
}

#[test]
fn what_is_no_metric_is_refused_with_the_place() {
    let said = refused(&["--metric", "rate=(\\d+"]);
    assert!(
        said.starts_with("the pattern of the metric 'rate' is not a regular expression: unclosed group; "),
        "{said}"
    );
    assert!(said.ends_with("\n    (\\d+\n    ^"), "{said}");
    assert!(refused(&["--metric", "(?<rate>\\d+)=1"]).contains("has no name; write NAME=REGEX"));
    assert!(refused(&["--metric", "\\d+"]).contains("has no name"));
    assert!(refused(&["--metric", " =x"]).contains("has no name"));
    assert!(refused(&["--metric-json", "a..b"]).contains("no way to a value in JSON"));
    for twice in [
        ["--metric", "a=x", "--metric", "a=y"],
        ["--metric", "a=x", "--metric-json", "a=b"],
        ["--metric", "a=(?<n>x)", "--metric", "b=(?<n>x)"],
    ] {
        assert!(refused(&twice).contains("is there twice"), "{twice:?}");
    }
}

proptest::proptest! {
    #[test]
    fn no_output_and_no_pattern_panics(output in ".{0,200}", bytes in proptest::collection::vec(0_u8..=255, 0..200), pattern in ".{0,40}") {
        let mut metrics = Metrics::default();
        let _ = metrics.add_pattern("typed", &pattern);
        let _ = metrics.add_pattern("number", r"([-+\d.,_eE]+ ?[^\s\d]*)");
        let _ = metrics.add_json("json", &pattern);
        metrics.read(output.as_bytes(), &bytes);
        for name in ["typed", "number", "json"] {
            let _ = metrics.why_not(name, output.as_bytes(), &bytes);
        }
    }
}
