//! A checksum tells two allocators apart only if nothing else does: it must follow the seed, and the seed alone.

use std::process::Command;

const WORKLOADS: [(&str, &str); 4] = [
    ("json-rpc", env!("CARGO_BIN_EXE_json-rpc")),
    ("kv-churn", env!("CARGO_BIN_EXE_kv-churn")),
    ("io-threads", env!("CARGO_BIN_EXE_io-threads")),
    ("block-build", env!("CARGO_BIN_EXE_block-build")),
];

fn lines(path: &str, arguments: &[&str]) -> Vec<String> {
    let output = Command::new(path).args(["--scale", "0.02"]).args(arguments).output().expect("the program starts");
    assert!(output.status.success(), "{path}: {output:?}");
    String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
}

fn value(lines: &[String], name: &str) -> String {
    let prefix = format!("{name}: ");
    lines
        .iter()
        .find_map(|line| line.strip_prefix(&prefix))
        .and_then(|rest| rest.split(' ').next())
        .unwrap_or_else(|| panic!("no line {name:?} in {lines:?}"))
        .to_owned()
}

#[test]
fn the_checksum_follows_the_seed() {
    for (name, path) in WORKLOADS {
        let first = value(&lines(path, &["--seed", "1"]), "checksum");
        assert_eq!(first, value(&lines(path, &["--seed", "1"]), "checksum"), "{name}: same seed");
        assert_ne!(first, value(&lines(path, &["--seed", "2"]), "checksum"), "{name}: another seed");
    }
}

#[test]
fn every_line_is_a_name_a_value_and_a_unit() {
    for (name, path) in WORKLOADS {
        for line in lines(path, &[]) {
            let well_formed = line.split_once(": ").is_some_and(|(figure, rest)| {
                !figure.contains(' ') && rest.split_once(' ').is_some_and(|(_, unit)| !unit.contains(' '))
            });
            assert!(well_formed, "{name} printed {line:?}");
        }
    }
}

#[test]
fn churn_leaves_as_many_keys_as_the_control() {
    let path = WORKLOADS[1].1;
    let (churned, control) = (lines(path, &[]), lines(path, &["--no-churn"]));
    assert_eq!(value(&churned, "live_keys"), "4000");
    assert_eq!(value(&control, "live_keys"), "4000");
    // A load of 4,000, and five rounds of three times a fifth of them.
    assert_eq!(value(&churned, "operations"), "16000");
    assert_eq!(value(&control, "operations"), "4000");
    assert_ne!(value(&churned, "checksum"), value(&control, "checksum"));
}
