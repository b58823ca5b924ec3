use super::*;
use crate::compare::plan::tests::{arguments, participants};
use crate::compare::plan::{Plan, Ready, plan};
use std::path::PathBuf;
use std::time::Duration;

const COMMAND: &str = "command = [\"x\"]\n";

/// A plan from a scenario's text, with further words on the command line.
fn planned(text: &str, words: &[&str]) -> anyhow::Result<Plan> {
    let scenario = Scenario::parse(text, Path::new("/somewhere/a.toml"))?;
    let words = [&["--scenario", "a.toml"], words].concat();
    plan(&arguments(&words), Some(scenario), participants(&["system", "jeshim"]))
}

#[track_caller]
fn taken(text: &str) -> Plan {
    planned(text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[track_caller]
fn refused(text: &str) -> String {
    match planned(text, &[]) {
        Ok(plan) => panic!("it was taken: {plan:?}\n{text}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_example_in_the_documentation() {
    let page = include_str!("../../../../docs/scenarios.md");
    let examples: Vec<&str> = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(!examples.is_empty());
    for example in examples {
        let example = example.replace("needs = ", "# needs = ").replace("\nfolder = ", "\n# folder = ");
        taken(&example);
    }
}

#[test]
fn every_key_is_documented() {
    let page = include_str!("../../../../docs/scenarios.md");
    let said = refused("no-such-key = 1\n");
    let keys = said.lines().next().and_then(|line| line.split("there are ").nth(1)).expect("a list of keys");
    let server = refused("[server]\nno-such-key = 1\n");
    let server = server.lines().next().and_then(|line| line.split("there are ").nth(1)).expect("a list of keys");
    for key in keys.split(", ").chain(server.split(", ")) {
        assert!(page.contains(&format!("`{key}`")), "{key} is not in docs/scenarios.md");
    }
}

#[test]
fn the_scenarios_that_come_with_jeshim_have_the_right_form() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("the scenarios") {
        let folder = entry.expect("an entry").path();
        for file in std::fs::read_dir(folder).expect("a folder") {
            let file = file.expect("an entry").path();
            if file.extension().is_some_and(|end| end == "toml") {
                let scenario = Scenario::read(&file).unwrap_or_else(|error| panic!("{error}"));
                assert!(scenario.participants().len() >= 2, "{file:?}");
                count += 1;
            }
        }
    }
    assert!(count >= 4, "{count}");
}

#[test]
fn all_of_it() {
    let plan = taken(
        r#"
        name = "server"
        description = "A server under load."
        with = ["system", "small=tcmalloc,A=1"]
        baseline = "jeshim"
        command = ["./server", "--port", "{port}", 7]
        rounds = 3
        warmup = 2
        precision = 2
        budget = "10m"
        timeout = 30
        sample = "5ms"
        ignore-failure = true
        no-requested = true

        [parameters]
        port = 7001
        zeta = ["a", "b"]
        churn = [0, 5]

        [metrics]
        used = '^used:(\d+)$'
        iops = { regex = 'iops=(\d+)', higher-is-better = true }
        p99 = { json = "latency.p99" }

        [server]
        ready-port = "{port}"
        ready-timeout = "5s"
        stop-timeout = "6s"
        settle = "7s"
        probe = "ask {port}"

        [[server.phases]]
        name = "loaded"
        run = "./load {port} {zeta} {churn}"
        "#,
    );
    assert_eq!(plan.name.as_deref(), Some("server"));
    assert_eq!(plan.baseline, 1);
    // A path is meant from the scenario's folder; a constant is put in, and is no dimension.
    assert_eq!(plan.commands[0].words, ["/somewhere/./server", "--port", "7001", "7"]);
    let names: Vec<&str> = plan.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    assert_eq!(names, ["zeta", "churn"], "the order of the file");
    assert_eq!(plan.parameters[1].values, ["0", "5"]);
    let server = plan.server.expect("a server");
    assert!(matches!(server.ready, Ready::Port(7001)));
    assert_eq!(server.phases[0].command, "./load 7001 {zeta} {churn}");
    assert_eq!(server.probe.as_deref(), Some("ask 7001"));
    assert_eq!(server.settle, Some(Duration::from_secs(7)));
    assert_eq!((plan.effort.rounds, plan.effort.precision), (Some(3), 0.02));
    assert_eq!((plan.effort.timeout, plan.effort.sample), (Duration::from_secs(30), Duration::from_millis(5)));
    assert!(plan.effort.ignore_failure && !plan.effort.requested);
    assert_eq!(plan.folder, Some(PathBuf::from("/somewhere")));
    let readings = plan.metrics.read(b"used:7\niops=9\n", b"");
    let higher: Vec<bool> =
        readings.iter().map(|reading| plan.metrics.figure(reading, None).higher_is_better).collect();
    assert_eq!(higher, [false, true]);
}

#[test]
fn a_text_is_for_the_shell() {
    let plan = taken("[[commands]]\nname = \"a\"\nrun = \"exec x | y\"\n[[commands]]\nname = \"b\"\nrun = [\"x\"]\n");
    assert_eq!(plan.commands[0].words, ["/bin/sh", "-c", "exec x | y"]);
    assert_eq!((plan.commands[0].name.as_str(), plan.commands[1].name.as_str()), ("a", "b"));
    assert_eq!(taken("[[commands]]\nname = \"only\"\nrun = [\"x\"]\n").commands[0].name, "");
}

#[test]
fn options_win() {
    let text = "command = [\"x\", \"{n}\", \"{size}\"]\nrounds = 3\nbaseline = \"nobody\"\n[parameters]\nn = [1, 2]\nsize = 5\n\
                [metrics]\na = 'a=(\\d+)'\nb = 'b=(\\d+)'\n[server]\nready-port = 1\n[[server.phases]]\nname = \"p\"\nrun = \"old\"\n";
    let words = [
        "--rounds=9",
        "--baseline=jeshim",
        "-Pn=7",
        "-Psize=6",
        "--metric=a=A=(\\d+)",
        "--server",
        "--ready-cmd=ping",
        "--phase=p=new",
        "--phase=q=more",
    ];
    let plan = planned(text, &words).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(plan.effort.rounds, Some(9));
    assert_eq!(plan.baseline, 1);
    assert_eq!(plan.points().len(), 1);
    assert_eq!(plan.points()[0].name(), "n=7", "a constant stays one");
    assert_eq!(plan.points()[0].words[1..], ["7", "6"]);
    let names: Vec<String> = plan.metrics.read(b"A=1 a=2 b=3", b"").into_iter().map(|reading| reading.name).collect();
    assert_eq!(names, ["b", "a"]);
    let server = plan.server.expect("a server");
    assert!(matches!(server.ready, Ready::Command(_)));
    let commands: Vec<&str> = server.phases.iter().map(|phase| phase.command.as_str()).collect();
    assert_eq!(commands, ["new", "more"]);
    // Of several values, a constant is a parameter like others.
    let plan = planned(text, &["-Psize=6,7", "--baseline=jeshim"]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(plan.points().len(), 4);
}

#[test]
fn who_takes_part() {
    let scenario =
        Scenario::parse("command = [\"x\"]\nwith = [\"system\", \"a=tcmaloc\"]\n", Path::new("s.toml")).expect("it");
    let of = |words: &[&str]| crate::compare::plan::participants(&arguments(words), Some(&scenario));
    assert_eq!(of(&["--scenario", "s.toml"]), ["system", "a=tcmaloc"]);
    assert_eq!(of(&["--scenario", "s.toml", "--with", "jeshim"]), ["jeshim"]);
    let error =
        scenario.wrong_participant(&anyhow::anyhow!("'tcmaloc' is not known; the nearest is tcmalloc")).to_string();
    assert!(error.starts_with("s.toml:2:19: 'tcmaloc' is not known"), "{error}");
}

#[test]
fn what_is_wrong_is_shown_where_it_is() {
    let said = refused("command = [\"x\"]\n\n  [server]\n  ready-port = 1\n  [[server.phase]]\n  name = \"a\"\n");
    assert_eq!(
        said,
        "/somewhere/a.toml:5:12: unknown key 'phase'; the nearest is 'phases'; there are ready-port, ready-log, ready-cmd, \
         ready-timeout, stop-timeout, settle, probe, phases\n    5 |   [[server.phase]]\n      |            ^"
    );
    #[track_caller]
    fn at(text: &str, place: &str, says: &str) {
        let said = refused(text);
        assert!(said.starts_with(&format!("/somewhere/a.toml:{place}: ")), "{said}");
        assert!(said.contains(says), "{said}");
    }
    // Of form.
    at("command = [\"x\"\nname = 1\n", "2:1", "");
    at("name = 1\n", "1:8", "expected a string");
    at("command = [\"x\"]\n[[commands]]\nname = \"a\"\n", "2:1", "the key 'run' is missing here");
    at("rounds = -1\n", "1:10", "");
    // Of meaning.
    let with = |more: &str| format!("{COMMAND}{more}");
    at(&with("[metrics]\na = '('\n"), "3:5", "unclosed group");
    at(&with("[metrics]\na = { regx = 'x' }\n"), "3:5", "no use for 'regx'");
    at(&with("[metrics]\na = { higher-is-better = true }\n"), "3:5", "says not where it is");
    at(&with("[metrics]\na = 1\n"), "3:5", "is no text");
    at(&with("baseline = \"jeshin\"\n"), "2:12", "the nearest is 'jeshim'");
    at(&with("precision = 90\n"), "2:13", "take one from 0.05 to 50");
    at(&with("rounds = 0\n"), "2:10", "0 is not from 1 to 100000");
    at(&with("budget = \"3 apples\"\n"), "2:10", "not a unit of time");
    at(&with("timeout = \"0s\"\n"), "2:11", "a timeout of 0");
    at(&with("folder = \"nowhere\"\n"), "2:10", "is no folder");
    at(&with("[parameters]\nn = [1]\n"), "3:1", "nothing in the command has a place for 'n'");
    at(&with("[parameters]\nn = { a = 1 }\n"), "3:5", "neither a value nor a list");
    at(&with("[server]\n"), "2:1", "add ready-port with a port");
    at(&with("[server]\nready-port = 70000\n"), "3:14", "'70000' is no port");
    at(&with("[server]\nready-port = 1\nready-cmd = \"x\"\n"), "4:13", "two ways");
    at(&with("[server]\nready-log = '('\n"), "3:13", "unclosed group");
    let phase = "[[server.phases]]\nname = \"a\"\nrun = \"x\"\n";
    at(&with(&format!("[server]\nready-port = 1\n{phase}{phase}")), "8:8", "the phase 'a' is there twice");
    at(&with("[[commands]]\nname = \"a\"\nrun = \"x\"\n"), "2:1", "both 'command' and 'commands'");
    at("command = []\n", "1:11", "a command is a list");
    at("command = [[1]]\n", "1:11", "neither text nor a number");
    at(
        "[[commands]]\nname = \"a\"\nrun = \"x\"\n[[commands]]\nname = \"a\"\nrun = \"y\"\n",
        "5:8",
        "'a' is there twice",
    );
    at(&with("needs = [1]\n"), "2:10", "a program's name");
    at(
        &with("needs = [\"sh\", { program = \"no-such-program\", remedy = \"apt-get install it\" }]\n"),
        "2:16",
        "no-such-program is needed and not there; apt-get install it",
    );
}

#[test]
fn files_that_are_no_scenario() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = |path: &Path| Scenario::read(path).expect_err("it is none").to_string();
    assert!(said(&folder.path().join("missing")).contains("cannot be read: No such file or directory"));
    assert!(said(folder.path()).contains("no regular file"));
    let binary = folder.path().join("binary");
    std::fs::write(&binary, b"name = \"\xff\"").expect("a file");
    assert!(said(&binary).contains("not UTF-8 from byte 8 on"));
}

proptest::proptest! {
    #[test]
    fn no_text_panics(
        pieces in proptest::collection::vec(proptest::sample::select(vec![
            "command", "commands", "server", "phases", "[", "]", "[[", "]]", ".", " = ", "\"x\"", "'('", "\n", "1", "-7", "1e400",
            "{", "}", ",", "metrics", "parameters", "needs", "ready-port", "ready-log", "budget", "\"10s\"", "true", "name", "run",
            "ä", "\u{0}", "\"", "#", "with", "baseline", "\"{workloads}\"", "regex", "json", "1979-05-27", "\r\n", "precision",
        ]), 0..40),
        noise in ".{0,30}",
    ) {
        for text in [pieces.concat(), pieces.join(" "), format!("{}\n{noise}", pieces.concat()), noise.clone()] {
            if let Err(error) = planned(&text, &[]) {
                proptest::prop_assert!(!error.to_string().is_empty());
            }
        }
    }
}
