//! The scenarios that come with jeshim, at small size, with the real programs.

use super::{cell, compare, read};
use crate::harness::{scratch, stderr};
use serde_json::Value;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

fn root() -> PathBuf {
    std::path::absolute(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).expect("a folder")
}

/// The scenario with its own participants, at this size.
fn scenario(name: &str, words: &[&str]) -> Command {
    let mut command = compare();
    command.arg("--scenario").arg(root().join(format!("scenarios/{name}/{name}.toml")));
    command.args(words).args(["--rounds", "2", "--json"]).env_remove("BENCH_BITCOIN");
    command
}

fn result(name: &str, words: &[&str]) -> Value {
    let output = scenario(name, words).output().expect("jeshim");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let result = read(&output);
    for proof in result["proofs"].as_array().expect("proofs") {
        assert_eq!(proof["served"], "yes", "{proof}");
    }
    result
}

fn labels(result: &Value) -> Vec<&str> {
    let participants = result["participants"].as_array().expect("participants");
    participants.iter().filter_map(|participant| participant["label"].as_str()).collect()
}

fn points(result: &Value) -> Vec<String> {
    let points = result["points"].as_array().expect("points");
    points
        .iter()
        .map(|point| format!("{}={}", point["parameters"][0][0], point["parameters"][0][1]).replace('"', ""))
        .collect()
}

/// A figure in every run of a point, in the order of the participants.
fn figure(result: &Value, id: &str, point: u64) -> Vec<f64> {
    let runs = result["runs"].as_array().expect("runs");
    let there = runs.iter().filter(|run| run["point"] == point);
    there.filter_map(|run| run["figures"][id].as_f64()).collect()
}

fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr()).expect("a free port").port()
}

/// A redis-server with libc's malloc: built once, from Debian's source.
fn redis_server() -> PathBuf {
    static BUILT: Once = Once::new();
    BUILT.call_once(|| {
        if !root().join("target/redis/redis-cli").exists() {
            let output = Command::new(root().join("scripts/build-redis.sh")).output().expect("the script");
            assert!(output.status.success(), "{output:?}");
        }
    });
    root().join("target/redis/redis-server")
}

#[test]
fn redis() {
    redis_server();
    let port = format!("port={}", free_port());
    let result = result("redis", &["-P", &port, "-P", "keys=2000", "--settle", "100ms"]);
    assert_eq!(points(&result), ["churn=5", "churn=0"], "size and port are no part of the result");
    assert_eq!(labels(&result), ["system", "jemalloc", "jeshim"]);
    for point in [0, 1] {
        for phase in ["loaded", "churned", "deleted", "settled"] {
            for name in ["metric/used_memory", "metric/used_memory_rss", "metric/mem_fragmentation_ratio", "rss"] {
                let values = figure(&result, &format!("phase/{phase}/{name}"), point);
                assert!(values.len() == 6 && values.iter().all(|value| *value > 0.0), "{phase} {name}: {values:?}");
            }
        }
        let used = |phase: &str| figure(&result, &format!("phase/{phase}/metric/used_memory"), point);
        for (loaded, deleted) in used("loaded").iter().zip(used("deleted")) {
            // 2,000 values of 450 bytes; then three of four are gone.
            assert!(loaded - deleted > 500_000.0, "{loaded} {deleted}");
        }
        let operated = !figure(&result, "phase/churned/metric/rate", point).is_empty();
        assert_eq!(operated, point == 0, "the control has no churn");
    }
    // What redis counts under jemalloc are size classes; what was asked for is told apart.
    let memory = &result["proofs"][2]["memory"];
    let (requested, usable) = (memory["requested"].as_u64(), memory["usable"].as_u64());
    assert!(requested > Some(100_000) && requested < usable, "{memory}");
}

/// A server of a test; it is ended also when the test fails.
struct Server(Child);

impl Server {
    fn start(port: u16) -> Server {
        let mut command = Command::new(redis_server());
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
        let mut server = Server(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the server"));
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(server.0.try_wait().expect("its state").is_none(), "it ended at once");
            assert!(start.elapsed() < Duration::from_secs(60), "it is not ready");
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn redis_cli(port: u16, words: &[&str]) -> String {
    let output =
        Command::new(root().join("target/redis/redis-cli")).args(["-p", &port.to_string()]).args(words).output();
    String::from_utf8_lossy(&output.expect("redis-cli").stdout).into_owned()
}

#[test]
fn redis_with_libcs_malloc_refuses_active_defragmentation() {
    let port = free_port();
    let _server = Server::start(port);
    assert!(redis_cli(port, &["info", "memory"]).contains("mem_allocator:libc"));
    let answer = redis_cli(port, &["config", "set", "activedefrag", "yes"]);
    assert!(answer.contains("Active defragmentation cannot be enabled"), "{answer}");
}

#[test]
fn the_load_of_redis_is_checked_against_the_server() {
    let port = free_port();
    let _server = Server::start(port);
    redis_cli(port, &["set", "foreign", "key"]);
    let load = Command::new("python3")
        .args(["load.py", &port.to_string(), "loaded", "--keys", "50"])
        .current_dir(root().join("scenarios/redis"))
        .output()
        .expect("the load");
    let said = stderr(&load);
    assert_eq!(load.status.code(), Some(1), "{said}");
    assert!(said.contains("the server has 51 keys, and the plan leaves 50"), "{said}");
}

#[test]
fn qemu() {
    let port = format!("port={}", free_port());
    let result = result("qemu", &["-P", &port, "-P", "requests=2000", "-P", "disks=1,3"]);
    assert_eq!(points(&result), ["disks=1", "disks=3"]);
    assert_eq!(labels(&result), ["system", "jemalloc", "tcmalloc-16M", "tcmalloc-256M", "jeshim"]);
    let cache =
        |index: usize| result["participants"][index]["variables"]["TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES"].as_str();
    assert_eq!((cache(2), cache(3), cache(4)), (Some("16777216"), Some("268435456"), None));
    let figures = result["figures"].as_array().expect("figures");
    let iops = figures.iter().find(|figure| figure["id"] == "phase/load/metric/iops").expect("iops");
    assert_eq!(iops["higher_is_better"], true);
    for point in [0, 1] {
        let values = figure(&result, "phase/load/metric/iops", point);
        assert!(values.len() == 10 && values.iter().all(|value| *value > 0.0), "{values:?}");
    }
}

#[test]
fn bitcoin() {
    let result = result("bitcoin", &["-P", "milliseconds=1"]);
    let figures = result["figures"].as_array().expect("figures");
    let rows: Vec<&str> = figures.iter().filter_map(|figure| figure["id"].as_str()?.strip_prefix("metric/")).collect();
    assert_eq!(rows.len(), 10, "{rows:?}");
    for name in ["AssembleBlock", "BlockToJsonVerboseWrite", "MempoolCheckEphemeralSpends", "RpcMempool"] {
        assert!(rows.contains(&name), "{name}: {rows:?}");
        assert!(cell(&result, &format!("metric/{name}"), 2)["ratio"]["median"].is_number());
    }
    assert!(result["proofs"][2]["memory"]["resident"].is_u64(), "the shell in front of it is not what is meant");
}

#[test]
fn bitcoin_with_a_nodes_own_program() {
    let program = scratch("bench_bitcoin").join("bench_bitcoin");
    let row = "|            1,234.50 |              810.04 |    0.4% |      1.10 | `AssembleBlock`";
    let script = format!("#!/bin/sh\necho '{row}'\nprintf '%s\\n' \"$@\" >\"$0.arguments\"\n");
    std::fs::write(&program, script).expect("a program");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("its mode");
    let mut command = scenario("bitcoin", &["-P", "milliseconds=1"]);
    let output = command.env("BENCH_BITCOIN", &program).output().expect("jeshim");
    assert_eq!(cell(&read(&output), "metric/AssembleBlock", 1)["median"], 1234.5);
    let said = std::fs::read_to_string(program.with_extension("arguments")).expect("arguments");
    assert!(said.starts_with("-filter=AssembleBlock|"), "{said}");
    assert!(said.ends_with("-min-time=1\n"), "{said}");
}

#[test]
fn ckb() {
    let result = result("ckb", &["-P", "scale=0.05"]);
    assert_eq!(labels(&result), ["mimalloc", "jemalloc", "system", "jeshim"]);
    for participant in 0..4 {
        let median =
            |name: &str| cell(&result, &format!("metric/{name}"), participant)["median"].as_f64().expect("a number");
        let (built, peak) = (median("RSS after the workload"), median("highest RSS"));
        assert!(built > 1e6 && peak >= built && median("RSS after dropping it") > 0.0, "{built} {peak}");
    }
}
