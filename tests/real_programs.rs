//! Programs that people really run, each once as it is and once with the library: they say and do the same, and the proof
//! record shows that the library served them, or whose malloc they used instead.

use crate::harness;
use crate::harness::time_limit;
use crate::harness::{fixture, records, scratch, small_allocations};
use serde_json::Value;
use std::fmt::Debug;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Not `python3`: on a developer's machine that may be a wrapper script.
const PYTHON: &str = "/usr/bin/python3";

/// One of the two ways in which a program is run, with a folder to work in.
struct Way {
    with_library: bool,
    folder: PathBuf,
    records: PathBuf,
}

/// How a program ended and what it said.
#[derive(PartialEq, Debug)]
struct Said {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Way {
    fn new(name: &str, with_library: bool) -> Way {
        let folder = scratch(name);
        let records = folder.join("records");
        fs::create_dir(&records).expect("a folder");
        Way { with_library, folder, records }
    }

    /// A program that is killed after a minute, in the folder.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = if self.with_library { time_limit::preloaded(program) } else { time_limit::plain(program) };
        command.env("JESHIM_REPORT", self.records.join("%p")).env("HOME", &self.folder).env("LC_ALL", "C.UTF-8");
        command.current_dir(&self.folder).stdin(Stdio::null());
        command
    }

    fn run(&self, program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> Said {
        Self::finish(self.command(program).args(arguments))
    }

    fn finish(command: &mut Command) -> Said {
        let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        Said { status: output.status.code(), stdout: harness::stdout(&output), stderr: harness::stderr(&output) }
    }
}

/// The records that the library wrote.
struct Evidence(Vec<Value>);

impl Evidence {
    /// The finished records of a program, by the start of its file's name.
    fn of(&self, name: &str) -> Vec<&Value> {
        let is = |record: &&Value| file_name(record).starts_with(name) && record["finished"] == true;
        let found: Vec<&Value> = self.0.iter().filter(is).collect();
        let all: Vec<&str> = self.0.iter().map(file_name).collect();
        assert!(!found.is_empty(), "no finished record of {name}; records: {all:?}");
        found
    }

    /// The library served this program: malloc and its family are the library's (a C++ operator may be the program's own,
    /// and call them), and small blocks were handed out. How many.
    fn served(&self, name: &str) -> u64 {
        let records = self.of(name);
        for record in &records {
            for name in ["malloc", "calloc", "realloc", "free", "posix_memalign", "aligned_alloc"] {
                assert_eq!(record["bound"]["names"][name], true, "{name}: {record:#}");
            }
        }
        let served = records.iter().map(|record| small_allocations(record)).sum();
        assert!(served > 0, "{records:#?}");
        served
    }
}

fn file_name(record: &Value) -> &str {
    record["program"].as_str().and_then(|path| path.rsplit('/').next()).unwrap_or("")
}

/// Does the same without and with the library, and compares what came of it.
fn both_ways<T: PartialEq + Debug>(name: &str, work: impl Fn(&Way) -> T) -> (T, Evidence) {
    let without = Way::new(name, false);
    let expected = work(&without);
    assert!(records(&without.records).is_empty(), "the library is in the run that is to be without it");
    let with = Way::new(name, true);
    let result = work(&with);
    assert_eq!(result, expected, "{name}: with the library (left) and without it (right)");
    (result, Evidence(records(&with.records)))
}

/// The path of `tests/fixtures/NAME`.
fn source(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name).to_str().expect("UTF-8").to_owned()
}

fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    places.map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Where a program is; fails and names its package when it is missing.
fn installed(program: &str, package: &str) -> PathBuf {
    find(program).unwrap_or_else(|| panic!("{program} is missing; remedy: apt-get install {package}"))
}

/// Where a program is that is tested only where somebody has installed it.
fn if_present(program: &str) -> Option<PathBuf> {
    let found = find(program);
    if found.is_none() {
        println!("{program} is not present: not tested");
    }
    found
}

// ---- Interpreters and tools -----------------------------------------------------------------------------------------------

#[test]
fn python() {
    let counts = ["default", "malloc"].map(|allocator| {
        let (said, evidence) = both_ways("python", |way| {
            Way::finish(way.command(PYTHON).arg(source("real_python.py")).env("PYTHONMALLOC", allocator))
        });
        assert_eq!((said.status, said.stderr.as_str()), (Some(7), "done\n"));
        assert_eq!(evidence.of("python3").len(), 2, "the program and the one that it started");
        evidence.served("python3")
    });
    assert!(counts[1] > 3 * counts[0], "PYTHONMALLOC=malloc routes what Python otherwise keeps to itself: {counts:?}");
}

#[test]
fn perl() {
    let perl = installed("perl", "perl");
    let (said, evidence) = both_ways("perl", |way| way.run(&perl, &[&source("real_perl.pl")]));
    assert!(said.status == Some(0) && said.stdout.ends_with("child ended with 3\n"), "{said:?}");
    assert!(evidence.served("perl") > 50_000);
    assert_eq!(evidence.of("perl").iter().filter(|record| record["forked"] == true).count(), 1);
}

#[test]
fn bash_with_pipes_and_subshells() {
    let (said, evidence) = both_ways("bash", |way| way.run("bash", &[&source("real_shell.sh")]));
    assert_eq!((said.status, said.stderr.as_str()), (Some(5), ""), "{said:?}");
    assert!(evidence.served("bash") > 10_000);
    evidence.served("sort");
    evidence.served("sed");
}

#[test]
fn git() {
    let git = installed("git", "git");
    let (said, evidence) = both_ways("git", |way| {
        let mut command = way.command("sh");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Somebody").env(format!("GIT_{who}_EMAIL"), "somebody@example.org");
            command.env(format!("GIT_{who}_DATE"), "2026-01-02T03:04:05Z");
        }
        for (name, value) in [("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_PAGER", "cat")] {
            command.env(name, value);
        }
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            command.env_remove(name);
        }
        Way::finish(command.arg(source("real_git.sh")))
    });
    assert_eq!(said.status, Some(0), "{said:?}");
    assert!(said.stdout.contains("packs: 1") && said.stdout.contains("Commit 8"), "{said:?}");
    assert!(evidence.served("git") > 10_000, "{}", git.display());
}

#[test]
fn sqlite() {
    let sqlite = installed("sqlite3", "sqlite3");
    let (said, evidence) = both_ways("sqlite", |way| {
        let input = fs::File::open(source("real_sqlite.sql")).expect("the fixture");
        Way::finish(way.command(&sqlite).args(["-batch", ":memory:"]).stdin(input))
    });
    assert!(said.status == Some(0) && said.stdout.ends_with("\nok\n"), "{said:?}");
    assert!(evidence.served("sqlite3") > 1000);
}

#[test]
fn node() {
    let Some(node) = if_present("node") else { return };
    let (said, evidence) = both_ways("node", |way| way.run(&node, &[&source("real_node.js")]));
    assert_eq!((said.status, said.stderr.as_str()), (Some(6), ""), "{said:?}");
    assert!(evidence.served("node") > 10_000);
}

#[test]
fn java() {
    let Some(java) = if_present("java") else { return };
    if !find("javac").is_some_and(|path| path.exists()) {
        println!("java is a runtime without compiler: not tested");
        return;
    }
    let (said, evidence) = both_ways("java", |way| way.run(&java, &[&source("real_java.java")]));
    assert_eq!((said.status, said.stderr.as_str()), (Some(3), ""), "{said:?}");
    assert!(evidence.served("java") > 10_000);
}

#[test]
fn a_program_with_200_threads() {
    let program = fixture("real_threads.c", &["-pthread"]);
    let (said, evidence) = both_ways("threads", |way| way.run(&program, &[]));
    assert_eq!((said.status, said.stdout.as_str()), (Some(0), "400000 blocks, 0 wrong\n"), "{said:?}");
    assert!(evidence.served("real_threads") > 350_000, "a few of them are large");
}

// ---- Compilers ------------------------------------------------------------------------------------------------------------

/// Compiles one file and gives the object's bytes.
fn compile(way: &Way, compiler: &Path, name: &str) -> (Said, Vec<u8>) {
    fs::copy(source(name), way.folder.join(name)).expect("a copy");
    let said = way.run(compiler, &["-O1", "-c", name, "-o", "object.o"]);
    assert_eq!(said.status, Some(0), "{said:?}");
    (said, fs::read(way.folder.join("object.o")).expect("an object file"))
}

#[test]
fn gcc() {
    let gcc = installed("gcc", "gcc");
    let ((_, object), evidence) = both_ways("gcc", |way| compile(way, &gcc, "real_compile.c"));
    assert!(object.len() > 20_000, "{}", object.len());
    assert!(evidence.served("cc1") > 50_000);
    let driver = fs::canonicalize(&gcc).expect("a path");
    evidence.served(driver.file_name().and_then(|name| name.to_str()).expect("UTF-8"));
}

#[test]
fn gxx() {
    let gxx = installed("g++", "g++");
    let ((_, object), evidence) = both_ways("gxx", |way| compile(way, &gxx, "real_compile.cpp"));
    assert!(object.len() > 20_000, "{}", object.len());
    assert!(evidence.served("cc1plus") > 100_000);
}

#[test]
fn rustc_brings_its_own_malloc_and_works() {
    let sysroot = harness::stdout(&harness::succeed(time_limit::plain("rustc").args(["--print", "sysroot"])));
    let rustc = Path::new(sysroot.trim()).join("bin/rustc");
    let (said, evidence) = both_ways("rustc", |way| {
        fs::copy(source("real_hello.rs"), way.folder.join("hello.rs")).expect("a copy");
        let said = way.run(&rustc, &["-O", "hello.rs"]);
        assert_eq!(said.status, Some(0), "{said:?}");
        (said, way.run(way.folder.join("hello"), &[]))
    });
    assert!(said.1.stdout.starts_with("hello {0: \"0\", 1: \"1\""), "{said:?}");
    evidence.served("hello");
    for record in evidence.of("rustc") {
        let path = record["bound"]["names"]["malloc"].as_str().expect("malloc of another object");
        assert_eq!(fs::canonicalize(path).expect("a path"), fs::canonicalize(&rustc).expect("a path"));
        assert_eq!(small_allocations(record), 0, "{record:#}");
    }
}

// ---- Servers --------------------------------------------------------------------------------------------------------------

/// A server that is stopped, with everything that it started, also when an assertion fails.
struct Server {
    process: Child,
    port: u16,
}

impl Server {
    /// Starts it and waits until it accepts connections.
    fn start(command: &mut Command, port: u16) -> Server {
        let process = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("a server");
        let mut server = Server { process, port };
        let deadline = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if let Some(status) = server.process.try_wait().expect("a status") {
                panic!("{command:?}: {status}: {}", server.complaints());
            }
            assert!(Instant::now() < deadline, "{command:?} does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }

    fn complaints(&mut self) -> String {
        let mut text = String::new();
        self.process.stderr.take().expect("a pipe").read_to_string(&mut text).expect("text");
        text
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).expect("a connection");
        for set in [TcpStream::set_read_timeout, TcpStream::set_write_timeout] {
            set(&stream, Some(Duration::from_secs(20))).expect("a time limit");
        }
        stream
    }

    /// Sends a signal (`timeout` passes it on) and gives the exit status.
    fn end(mut self, signal: Option<i32>) -> Said {
        if let Some(signal) = signal {
            // SAFETY: a signal to a child that was not waited for.
            unsafe { libc::kill(self.process.id().cast_signed(), signal) };
        }
        let deadline = Instant::now() + Duration::from_secs(30);
        while self.process.try_wait().expect("a status").is_none() {
            assert!(Instant::now() < deadline, "the server does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
        let status = self.process.wait().expect("a status").code();
        Said { status, stdout: String::new(), stderr: self.complaints() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SAFETY: `timeout` made a process group of its own, of which it is the first process.
        unsafe { libc::kill(-self.process.id().cast_signed(), libc::SIGKILL) };
        let _ = self.process.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("its address").port()
}

fn is_root() -> bool {
    // SAFETY: asks for a number.
    unsafe { libc::geteuid() == 0 }
}

#[test]
fn redis_under_load() {
    let redis = installed("redis-server", "redis-server");
    let benchmark = installed("redis-benchmark", "redis-tools");
    let cli = installed("redis-cli", "redis-tools");
    let (_, evidence) = both_ways("redis", |way| {
        let port = free_port().to_string();
        let mut command = way.command(&redis);
        command.args(["--port", &port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--daemonize", "no"]);
        let server = Server::start(&mut command, port.parse().expect("a number"));

        let load = [
            "-p",
            &port,
            "-q",
            "-n",
            "5000",
            "-r",
            "2000",
            "-d",
            "100",
            "-c",
            "20",
            "-t",
            "set,get,incr,lpush,lrange_100,zadd,hset",
        ];
        let load = Way::finish(time_limit::plain(&benchmark).args(load));
        assert_eq!(load.status, Some(0), "{load:?}");

        let ask = |words: &[&str]| Way::finish(time_limit::plain(&cli).args(["-p", &port]).args(words));
        let commands: [&[&str]; 9] = [
            &["FLUSHALL"],
            &["SET", "key", "value"],
            &["APPEND", "key", "-longer"],
            &["GET", "key"],
            &[
                "EVAL",
                "local t = {} for i = 1, 3000 do redis.call('ZADD', 'z', i % 97, 'm' .. i) end return redis.call('ZCARD', 'z')",
                "0",
            ],
            &["ZRANGE", "z", "0", "3", "WITHSCORES"],
            &["SORT", "z", "BY", "nosort", "LIMIT", "0", "2"],
            &["OBJECT", "ENCODING", "z"],
            &["MEMORY", "PURGE"],
        ];
        let answers = commands.map(&ask);

        // It asks jemalloc itself, through mallctl.
        let memory = ask(&["INFO", "memory"]).stdout;
        let figure = |name: &str| {
            let line = memory.lines().find_map(|line| line.strip_prefix(&format!("{name}:"))).unwrap_or("");
            line.trim().parse::<u64>().unwrap_or_else(|_| panic!("{name}: '{line}' in {memory}"))
        };
        assert!(figure("used_memory") > 500_000, "{memory}");
        let (allocated, active, resident) =
            (figure("allocator_allocated"), figure("allocator_active"), figure("allocator_resident"));
        assert!(500_000 < allocated && allocated <= active && active <= resident, "{memory}");

        ask(&["SHUTDOWN", "NOSAVE"]);
        (answers, server.end(None))
    });
    // Its executable has three names.
    assert!(evidence.served("redis-") > 50_000);
}

fn http_get(server: &Server, path: &str) -> Vec<u8> {
    let mut stream = server.connect();
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").expect("a request");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    assert!(
        answer.starts_with(b"HTTP/1.1 200") || answer.starts_with(b"HTTP/1.0 200"),
        "{path}: {:?}",
        answer.get(..60)
    );
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("an end of the header");
    answer.split_off(end + 4)
}

#[test]
fn nginx_under_load() {
    let nginx = installed("nginx", "nginx-light");
    let (status, evidence) = both_ways("nginx", |way| {
        let port = free_port();
        let large: Vec<u8> = (0..300_000_u32).flat_map(|n| n.to_string().into_bytes()).collect();
        fs::write(way.folder.join("large"), &large).expect("a file");
        fs::write(way.folder.join("small"), "small\n").expect("a file");
        // Started as root, workers would become a user who may not read the folder.
        let user = if is_root() { "user root;" } else { "" };
        let folder = way.folder.display();
        let text = format!(
            "daemon off; worker_processes 2; pid nginx.pid; error_log stderr crit; {user}
             events {{ worker_connections 256; }}
             http {{
                 access_log off; gzip on; gzip_types *;
                 client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
                 uwsgi_temp_path uwsgi; scgi_temp_path scgi;
                 server {{ listen 127.0.0.1:{port}; root {folder}; }}
             }}"
        );
        fs::write(way.folder.join("nginx.conf"), text).expect("a file");
        let mut command = way.command(&nginx);
        command.arg("-p").arg(&way.folder).args(["-c", "nginx.conf", "-e", "stderr"]);
        let server = Server::start(&mut command, port);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for number in 0..60 {
                        match number % 4 {
                            0 => assert!(http_get(&server, "/large") == large, "another content"),
                            _ => assert_eq!(http_get(&server, "/small"), b"small\n"),
                        }
                    }
                });
            }
        });
        server.end(Some(libc::SIGQUIT))
    });
    assert_eq!((status.status, status.stderr.as_str()), (Some(0), ""));
    evidence.served("nginx");
    let workers = evidence.of("nginx").into_iter().filter(|record| record["forked"] == true);
    assert_eq!(workers.map(|record| assert!(small_allocations(record) > 0, "{record:#}")).count(), 2, "two workers");
}

#[test]
fn memcached_set_and_get() {
    let memcached = installed("memcached", "memcached");
    let (_, evidence) = both_ways("memcached", |way| {
        let port = free_port();
        let mut command = way.command(&memcached);
        command.args(["-l", "127.0.0.1", "-p", &port.to_string(), "-U", "0", "-m", "32", "-t", "4"]);
        if is_root() {
            command.args(["-u", "root"]);
        }
        let server = Server::start(&mut command, port);
        std::thread::scope(|scope| {
            for client in 0..8 {
                let stream = server.connect();
                scope.spawn(move || memcached_client(&stream, client));
            }
        });
        let mut statistics = server.connect();
        statistics.write_all(b"stats\r\nquit\r\n").expect("a request");
        let mut answer = String::new();
        statistics.read_to_string(&mut answer).expect("an answer");
        let counts: Vec<String> = answer
            .lines()
            .filter(|line| {
                ["STAT cmd_set ", "STAT get_hits ", "STAT curr_items "].iter().any(|name| line.starts_with(name))
            })
            .map(str::to_owned)
            .collect();
        assert_eq!(counts.len(), 3, "{answer}");
        (counts, server.end(Some(libc::SIGTERM)))
    });
    evidence.served("memcached");
}

/// Sets and gets values of all sizes on one connection.
fn memcached_client(stream: &TcpStream, client: usize) {
    let mut answers = BufReader::new(stream);
    let mut requests = stream;
    let mut line = String::new();
    let mut answer = move || {
        line.clear();
        answers.read_line(&mut line).expect("an answer");
        line.trim_end().to_owned()
    };
    for number in 0..400 {
        let value = format!("{number:x}").repeat(number * 7 % 3000 + 1);
        write!(requests, "set key{client}-{number} 0 0 {}\r\n{value}\r\nget key{client}-{number}\r\n", value.len())
            .expect("a request");
        assert_eq!(answer(), "STORED");
        assert_eq!(answer(), format!("VALUE key{client}-{number} 0 {}", value.len()));
        assert!(answer() == value, "another value");
        assert_eq!(answer(), "END");
    }
}

/// A Go program: its own memory never comes from malloc, and it runs no exit handlers.
#[test]
fn prometheus_works_and_is_not_served() {
    let Some(prometheus) = if_present("prometheus") else { return };
    let (_, evidence) = both_ways("prometheus", |way| {
        let port = free_port();
        fs::write(way.folder.join("prometheus.yml"), format!(
            "global:\n  scrape_interval: 1s\nscrape_configs:\n- job_name: self\n  static_configs:\n  - targets: ['127.0.0.1:{port}']\n"
        )).expect("a file");
        let mut command = way.command(&prometheus);
        command.args(["--config.file=prometheus.yml", "--storage.tsdb.path=data", "--log.level=error"]);
        let server = Server::start(command.arg(format!("--web.listen-address=127.0.0.1:{port}")), port);
        // It listens before it is ready.
        let deadline = Instant::now() + Duration::from_secs(20);
        let ready = loop {
            let mut answer = String::new();
            let mut stream = server.connect();
            stream.write_all(b"GET /-/ready HTTP/1.0\r\n\r\n").expect("a request");
            stream.read_to_string(&mut answer).expect("an answer");
            if answer.starts_with("HTTP/1.0 200") || Instant::now() > deadline {
                break answer.lines().next().unwrap_or("").to_owned();
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        assert_eq!(ready, "HTTP/1.0 200 OK");
        let metrics = String::from_utf8(http_get(&server, "/metrics")).expect("text");
        assert!(metrics.contains("go_memstats_alloc_bytes"), "{metrics}");
        server.end(Some(libc::SIGTERM)).status
    });
    let unfinished: Vec<&Value> = evidence.0.iter().map(|record| &record["finished"]).collect();
    assert_eq!(unfinished, [false], "loaded, and never served at exit: {:#?}", evidence.0);
}
