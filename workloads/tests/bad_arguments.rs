//! A bad argument is named in one message with exit status 2: never a panic, never a run with something else.

use std::process::Command;

fn refused(path: &str, argument: &str) {
    let output = Command::new(path).arg(argument).output().expect("the program starts");
    let message = String::from_utf8_lossy(&output.stderr);
    let option = argument.split('=').next().unwrap_or(argument);
    assert_eq!(output.status.code(), Some(2), "{path} {argument}: {message}");
    assert!(message.contains(option), "{path} {argument}: {message}");
    assert!(!message.contains("panicked"), "{path} {argument}: {message}");
}

#[test]
fn of_any_workload() {
    for path in [
        env!("CARGO_BIN_EXE_json-rpc"),
        env!("CARGO_BIN_EXE_kv-churn"),
        env!("CARGO_BIN_EXE_io-threads"),
        env!("CARGO_BIN_EXE_block-build"),
        env!("CARGO_BIN_EXE_table-bench"),
    ] {
        for argument in ["--scale=0", "--scale=lots", "--seed=-3", "--seed=x", "--no-such-option"] {
            refused(path, argument);
        }
    }
}

#[test]
fn of_one_workload() {
    refused(env!("CARGO_BIN_EXE_json-rpc"), "--transactions=0");
    refused(env!("CARGO_BIN_EXE_kv-churn"), "--rounds=0");
    refused(env!("CARGO_BIN_EXE_io-threads"), "--threads=0");
    refused(env!("CARGO_BIN_EXE_io-threads"), "--depth=many");
    refused(env!("CARGO_BIN_EXE_table-bench"), "--min-time=0");
}
