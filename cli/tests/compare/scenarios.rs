//! The scenarios that come with jeshim, at small size: their programs start, their loads do what the pages say, and every
//! figure is found in what is printed. Here the real programs are driven step by step; nothing is compared.

use clap::Parser;
use jeshim_cli::arguments::{Arguments, Command as Typed};
use jeshim_cli::compare::allocators::{Allocator, Kind};
use jeshim_cli::compare::plan::{self, Plan, Ready, fill};
use jeshim_cli::compare::results::Point;
use jeshim_cli::compare::scenario::Scenario;
use std::collections::BTreeMap;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

type Figures = BTreeMap<String, f64>;

fn root() -> PathBuf {
    std::path::absolute(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).expect("a folder")
}

/// The plan of a scenario, with further words on the command line.
fn plan(name: &str, words: &[&str]) -> Plan {
    let file = root().join(format!("scenarios/{name}/{name}.toml"));
    let scenario = Scenario::read(&file).unwrap_or_else(|error| panic!("{error}"));
    let words = [&["jeshim", "compare"], words].concat();
    let Typed::Compare(arguments) = Arguments::try_parse_from(words).expect("arguments").command else {
        panic!("another command")
    };
    let participants = ["a", "b"].map(|label| Allocator {
        label: label.to_owned(),
        kind: Kind::System,
        name: "system".to_owned(),
        version: None,
        variables: Vec::new(),
    });
    plan::plan(&arguments, Some(scenario), participants.into()).unwrap_or_else(|error| panic!("{error}"))
}

fn command(plan: &Plan, point: usize, parameters: &[(String, String)]) -> Command {
    let words = plan.words(point, parameters);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).current_dir(plan.folder.as_ref().expect("a folder")).env_remove("BENCH_BITCOIN");
    command
}

/// A shell command of a scenario; it has to succeed.
fn shell(plan: &Plan, text: &str, parameters: &[(String, String)]) -> Output {
    let text = fill(text, parameters);
    let folder = plan.folder.as_ref().expect("a folder");
    let output = Command::new("/bin/sh").args(["-c", &text]).current_dir(folder).output().expect("a shell");
    assert!(output.status.success(), "{text}: {output:?}");
    output
}

/// The server; it is ended also when a test fails.
struct Server(Child);

impl Server {
    fn start(plan: &Plan, point: usize, parameters: &[(String, String)]) -> Server {
        let Some(Ready::Port(port)) = plan.server.as_ref().map(|server| &server.ready) else { panic!("no port") };
        let mut command = command(plan, point, parameters);
        let mut server = Server(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the server"));
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", *port)).is_err() {
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

/// The server's figures after each phase of a point.
fn drive(plan: &Plan, number: usize, point: &Point) -> Vec<(String, Figures)> {
    let mut server = Server::start(plan, number, &point.parameters);
    let described = plan.server.as_ref().expect("a server");
    let mut phases = Vec::new();
    for phase in &described.phases {
        let mut output = shell(plan, &phase.command, &point.parameters).stdout;
        if let Some(probe) = &described.probe {
            output.extend(shell(plan, probe, &point.parameters).stdout);
        }
        let figures =
            plan.metrics.read(&output, b"").into_iter().map(|reading| (reading.name, reading.value)).collect();
        phases.push((phase.name.clone(), figures));
    }
    assert!(server.0.try_wait().expect("its state").is_none(), "the server ended before it was ended");
    phases
}

fn run(plan: &Plan, point: usize) -> (Figures, String) {
    let output = command(plan, point, &plan.points()[point].parameters).output().expect("the program");
    assert!(output.status.success(), "{output:?}");
    let readings = plan.metrics.read(&output.stdout, &output.stderr);
    let found = readings.iter().map(|reading| reading.metric.clone()).collect();
    assert_eq!(plan.metrics.missing(&found), Vec::<String>::new(), "{output:?}");
    let figures = readings.into_iter().map(|reading| (reading.name, reading.value)).collect();
    (figures, String::from_utf8_lossy(&output.stderr).into_owned())
}

fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr()).expect("a free port").port()
}

/// A redis-server with libc's malloc: built once, from Debian's source.
fn build_redis() {
    static BUILT: Once = Once::new();
    BUILT.call_once(|| {
        if !root().join("target/redis/redis-cli").exists() {
            let output = Command::new(root().join("scripts/build-redis.sh")).output().expect("the script");
            assert!(output.status.success(), "{output:?}");
        }
    });
}

#[test]
fn redis() {
    build_redis();
    let port = free_port();
    let plan = plan("redis", &["-P", &format!("port={port}"), "-P", "keys=2000"]);
    let points = plan.points();
    let names: Vec<String> = points.iter().map(Point::name).collect();
    assert_eq!(names, ["churn=5", "churn=0"], "size and port are no part of the result");
    for (number, point) in points.iter().enumerate() {
        let phases = drive(&plan, number, point);
        let names: Vec<&str> = phases.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["loaded", "churned", "deleted"]);
        for (name, figures) in &phases {
            for figure in ["used_memory", "used_memory_rss", "mem_fragmentation_ratio"] {
                assert!(figures.get(figure).is_some_and(|value| *value > 0.0), "{name}: {figures:?}");
            }
        }
        let used = |phase: usize| phases[phase].1["used_memory"];
        // 2,000 values of 450 bytes; then three of four are gone.
        assert!(used(0) - used(2) > 500_000.0, "{phases:?}");
        let operated = phases[1].1.contains_key("rate");
        assert_eq!(operated, point.parameters[0].1 == "5", "the control has no churn: {phases:?}");
    }
}

#[test]
fn redis_with_libcs_malloc_refuses_active_defragmentation() {
    build_redis();
    let port = free_port();
    let plan = plan("redis", &["-P", &format!("port={port}"), "-P", "keys=50", "-P", "churn=0"]);
    let server = Server::start(&plan, 0, &plan.points()[0].parameters);
    let ask = |words: &str| {
        let output = shell(&plan, &format!("../../target/redis/redis-cli -p {port} {words}"), &[]);
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(ask("info memory").contains("mem_allocator:libc"));
    assert!(ask("config set activedefrag yes").contains("Active defragmentation cannot be enabled"));
    drop(server);
}

#[test]
fn the_load_of_redis_is_checked_against_the_server() {
    build_redis();
    let port = free_port();
    let plan = plan("redis", &["-P", &format!("port={port}"), "-P", "keys=50", "-P", "churn=0"]);
    let _server = Server::start(&plan, 0, &plan.points()[0].parameters);
    shell(&plan, &format!("../../target/redis/redis-cli -p {port} set foreign key"), &[]);
    let load = Command::new("python3")
        .args(["load.py", &port.to_string(), "loaded", "--keys", "50"])
        .current_dir(plan.folder.as_ref().expect("a folder"))
        .output()
        .expect("the load");
    let said = String::from_utf8_lossy(&load.stderr);
    assert_eq!(load.status.code(), Some(1), "{said}");
    assert!(said.contains("the server has 51 keys, and the plan leaves 50"), "{said}");
}

#[test]
fn qemu() {
    let plan = plan("qemu", &["-P", &format!("port={}", free_port()), "-P", "requests=2000", "-P", "disks=1,3"]);
    let points = plan.points();
    assert_eq!(points.iter().map(Point::name).collect::<Vec<_>>(), ["disks=1", "disks=3"]);
    for (number, point) in points.iter().enumerate() {
        let phases = drive(&plan, number, point);
        assert!(phases[0].1["iops"] > 0.0, "{phases:?}");
    }
}

#[test]
fn bitcoin() {
    let plan = plan("bitcoin", &["-P", "milliseconds=1"]);
    let (figures, errors) = run(&plan, 0);
    assert_eq!(figures.len(), 10, "{figures:?}");
    for name in ["AssembleBlock", "BlockToJsonVerboseWrite", "MempoolCheckEphemeralSpends", "RpcMempool"] {
        assert!(figures.get(name).is_some_and(|time| *time > 0.0), "{name}: {figures:?}");
    }
    assert!(errors.contains("a stand-in for bench_bitcoin"), "{errors}");
}

#[test]
fn bitcoin_with_a_nodes_own_program() {
    let plan = plan("bitcoin", &["-P", "milliseconds=1"]);
    let folder = crate::harness::scratch("bench_bitcoin");
    let program = folder.join("bench_bitcoin");
    std::fs::write(&program, "#!/bin/sh\nprintf '%s\\n' \"$@\"\n").expect("a program");
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("its mode");
    let output = command(&plan, 0, &[]).env("BENCH_BITCOIN", &program).output().expect("the program");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.starts_with("-filter=AssembleBlock|"), "{said}");
    assert!(said.ends_with("-min-time=1\n"), "{said}");
}

#[test]
fn ckb() {
    let (figures, _) = run(&plan("ckb", &["-P", "scale=0.05"]), 0);
    let (built, peak) = (figures["RSS after the workload"], figures["peak RSS"]);
    assert!(built > 1e6, "{figures:?}");
    assert!(peak >= built, "{figures:?}");
    assert!(figures["RSS after dropping it"] > 0.0, "{figures:?}");
}
