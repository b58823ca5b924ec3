//! The stand-in for a Bitcoin node's benchmark program prints that program's table.

use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_table-bench"))
        .args(["--scale", "0.05", "--min-time", "1"])
        .args(arguments)
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{output:?}");
    output
}

fn rows(output: &Output) -> Vec<(String, f64)> {
    let text = String::from_utf8_lossy(&output.stdout);
    let row = |line: &str| {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let name = columns.get(5)?.split('`').nth(1)?.to_owned();
        Some((name, columns[1].replace(',', "").parse().ok()?))
    };
    text.lines().filter_map(row).collect()
}

fn checksum(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    text.lines().find_map(|line| line.strip_prefix("checksum: ")).expect("a checksum").to_owned()
}

#[test]
fn ten_rows_with_a_time_each() {
    let rows = rows(&run(&[]));
    assert_eq!(rows.len(), 10, "{rows:?}");
    assert_eq!(rows[0].0, "AssembleBlock");
    assert_eq!(rows[9].0, "RpcMempool");
    assert!(rows.iter().all(|(_, time)| *time > 0.0), "{rows:?}");
}

#[test]
fn some_of_them_by_name() {
    let names: Vec<String> = rows(&run(&["--filter", "Verbosity"])).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["BlockToJsonVerbosity1", "BlockToJsonVerbosity2", "BlockToJsonVerbosity3"]);
}

#[test]
fn the_checksum_follows_the_seed() {
    let first = checksum(&run(&[]));
    assert_eq!(first, checksum(&run(&["--seed", "1"])));
    assert_ne!(first, checksum(&run(&["--seed", "2"])));
}
