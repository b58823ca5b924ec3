use super::*;
use crate::arguments::{Arguments, Command, Compare};
use crate::compare::allocators::Kind;
use clap::Parser;

pub(in crate::compare) fn arguments(words: &[&str]) -> Compare {
    let words = ["jeshim", "compare"].iter().chain(words);
    match Arguments::try_parse_from(words) {
        Ok(Arguments { command: Command::Compare(arguments) }) => *arguments,
        other => panic!("{other:?}"),
    }
}

pub(in crate::compare) fn participants(labels: &[&str]) -> Vec<Allocator> {
    let participant = |label: &&str| Allocator {
        label: (*label).to_owned(),
        kind: Kind::System,
        name: "system".to_owned(),
        version: None,
        variables: Vec::new(),
    };
    labels.iter().map(participant).collect()
}

#[track_caller]
fn planned(words: &[&str]) -> Plan {
    plan(&arguments(words), None, participants(&["system", "jeshim"]))
        .unwrap_or_else(|error| panic!("{words:?}: {error}"))
}

#[track_caller]
fn refused(words: &[&str]) -> String {
    match plan(&arguments(words), None, participants(&["system", "jeshim"])) {
        Ok(plan) => panic!("{words:?} was taken: {plan:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_command_with_nothing_said_of_it() {
    let plan = planned(&["--", "sleep", "1"]);
    assert_eq!(plan.commands, [CommandLine { name: String::new(), words: vec!["sleep".into(), "1".into()] }]);
    assert_eq!(plan.effort, Effort::default());
    assert_eq!(plan.baseline, 0);
    assert!(plan.server.is_none() && plan.metrics.is_empty() && plan.folder.is_none());
    assert_eq!(plan.points().len(), 1);
}

#[test]
fn effort_is_as_it_was_typed() {
    let words = "--rounds 7 --warmup 2 --precision 2.5 --timeout 4m --sample 5ms --ignore-failure --no-requested -- x";
    let plan = planned(&words.split(' ').collect::<Vec<_>>());
    assert_eq!(
        plan.effort,
        Effort {
            rounds: Some(7),
            warmup: 2,
            precision: 0.025,
            budget: Duration::from_secs(120),
            timeout: Duration::from_secs(240),
            sample: Duration::from_millis(5),
            ignore_failure: true,
            in_part: false,
            requested: false,
        }
    );
    assert_eq!(planned(&["--budget", "3s", "--", "x"]).effort.budget, Duration::from_secs(3));
    for outside in ["0.04", "50.1", "0", "NaN", "inf", "-1"] {
        let said = refused(&[&format!("--precision={outside}"), "--", "x"]);
        assert!(said.contains("take one from 0.05 to 50"), "{said}");
    }
    assert!(refused(&["--timeout", "0", "--", "x"]).contains("a timeout of 0"));
}

#[test]
fn every_value_is_combined_with_every_other() {
    let plan = planned(&["-P", "n=1,2", "-P", "mode=a,b,c", "--", "x", "{n}", "--{mode}={n}", "{other}"]);
    let points = plan.points();
    assert_eq!(points.len(), 6);
    assert_eq!(points[1].words, ["x", "1", "--b=1", "{other}"]);
    assert_eq!(points[5].name(), "n=2, mode=c");
    assert_eq!(plan.words(5, &points[5].parameters), ["x", "2", "--c=2", "{other}"]);
}

#[test]
fn a_value_with_braces_is_not_filled_again() {
    let parameters = [("a".to_owned(), "{b}".to_owned()), ("b".to_owned(), "{a}".to_owned())];
    assert_eq!(fill("{a}{b} {c} {a {{b}} {", &parameters), "{b}{a} {c} {a {{a}} {");
    assert_eq!(fill("ä{a}ö", &parameters), "ä{b}ö");
}

#[test]
fn parameters_that_cannot_be_meant() {
    let with = |parameter: &str| refused(&["-P", parameter, "--", "x", "{n}"]);
    assert!(with("n").contains("write -P NAME=VALUE,VALUE, and {NAME} in CMD"));
    assert!(with("n=").contains("'n' has an empty value"));
    assert!(with("n=1,,2").contains("'n' has an empty value"));
    assert!(with("n=1,2,1").contains("'n' has the value '1' twice"));
    assert!(with("m=1").contains("nothing in the command has a place for 'm'; write {m} there"));
    assert!(with("=1").contains("'' is no name"));
    assert!(with("a b=1").contains("'a b' is no name"));
    assert!(with("pid=1").contains("jeshim itself puts something in for {pid}"));
    assert!(refused(&["-P", "n=1", "-P", "n=2", "--", "x", "{n}"]).contains("'n' is there twice"));
    let many: Vec<String> = (0..1001).map(|value| value.to_string()).collect();
    assert!(with(&format!("n={}", many.join(","))).contains("1001 combinations, and 1000 is the limit"));
}

#[test]
fn a_place_for_a_parameter_may_be_in_any_command_of_a_server() {
    let server = ["--server", "--ready-port", "80", "-P", "n=1,2"];
    for words in [
        ["--phase", "load=./load {n}", "--", "x"],
        ["--probe", "ask {n}", "--", "x"],
        ["--phase", "load=./load", "--", "x{n}"],
    ] {
        planned(&[&server[..], &words].concat());
    }
    let ready = ["--server", "--ready-cmd", "ping {n}", "-P", "n=1,2", "--", "x"];
    assert!(
        matches!(planned(&ready).server, Some(Server { ready: Ready::Command(command), .. }) if command == "ping {n}")
    );
    assert!(refused(&[&server[..], &["--phase", "load=./load", "--", "x"]].concat()).contains("has a place for 'n'"));
}

#[test]
fn the_baseline_is_one_of_those_who_take_part() {
    assert_eq!(planned(&["--baseline", "jeshim", "--", "x"]).baseline, 1);
    assert_eq!(
        refused(&["--baseline", "jeshin", "--", "x"]),
        "the baseline 'jeshin' does not take part; the nearest is 'jeshim'; there are system, jeshim"
    );
    let alone = plan(&arguments(&["--", "x"]), None, participants(&["mimalloc"])).expect_err("nothing to compare");
    assert_eq!(alone.to_string(), "there is nothing to compare: mimalloc takes part; add another --with NAME");
}

#[test]
fn a_server_and_its_phases() {
    let words = "--server --ready-log ready{3} --ready-timeout 2s --stop-timeout 3s --settle 4s --phase";
    let words: Vec<&str> = words.split(' ').chain(["load=./load a=b", "--phase", "churn=./churn", "--", "x"]).collect();
    let server = planned(&words).server.expect("a server");
    assert!(matches!(server.ready, Ready::Log(regex) if regex.is_match("now:\nreadyyy\n")));
    assert_eq!(server.phases[0], Phase { name: "load".to_owned(), command: "./load a=b".to_owned() });
    assert_eq!(server.phases[1].name, "churn");
    assert_eq!((server.ready_timeout, server.stop_timeout), (Duration::from_secs(2), Duration::from_secs(3)));
    assert_eq!(server.settle, Some(Duration::from_secs(4)));
}

#[test]
fn servers_that_cannot_be_meant() {
    let server = |words: &[&str]| refused(&[&["--server"], words, &["--", "x"]].concat());
    let said = server(&[]);
    for three in ["--ready-port", "--ready-log", "--ready-cmd"] {
        assert!(said.contains(three), "{said}");
    }
    assert!(server(&["--ready-port", "1", "--ready-cmd", "x"]).contains("two ways"));
    assert!(server(&["--ready-port", "0"]).contains("'0' is no port"));
    let said = server(&["--ready-log", "(a"]);
    assert!(said.contains("unclosed group") && said.contains("ready-log"), "{said}");
    for nameless in ["=x", " =x", "x"] {
        assert!(server(&["--ready-port", "1", "--phase", nameless]).contains("write --phase NAME=CMD"), "{nameless}");
    }
    assert!(server(&["--ready-port", "1", "--phase", "a=x", "--phase", "a=y"]).contains("'a' is there twice"));
    assert!(server(&["--ready-port", "1", "--phase", "a= "]).contains("'a' has no command"));
    assert!(refused(&["--server", "--ready-port", "1"]).contains("no program is named as the server"));
}

#[test]
fn without_a_command_the_workloads_are_compared_or_are_missing() {
    match plan(&arguments(&[]), None, participants(&["system", "jeshim"])) {
        Ok(plan) => {
            let names: Vec<&str> = plan.commands.iter().map(|command| command.name.as_str()).collect();
            assert_eq!(names, crate::compare::workloads::NAMES);
            assert!(!plan.metrics.is_empty());
        }
        Err(error) => assert!(error.to_string().contains("cargo build"), "{error}"),
    }
}

#[test]
fn metrics_are_checked_before_the_first_run() {
    assert!(refused(&["--metric", "a=(", "--", "x"]).contains("unclosed group"));
    assert!(refused(&["--higher-is-better", "--", "x"]).contains("add --metric"));
    assert!(!planned(&["--metric", "a=1", "--", "x"]).metrics.is_empty());
}
