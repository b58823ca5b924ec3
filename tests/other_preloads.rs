//! Other preloaded libraries work beside this one, in either order: they come from Debian, and one of our own stands in
//! front of every function that jemalloc calls. jemalloc starts under a lock; a library that allocates in a function
//! which jemalloc calls then would wait for ever (jemalloc#443, #916, #329, fakechroot#21).

use crate::harness::time_limit::{plain, with_preloads};
use crate::harness::{fixture, library, record, scratch, small_allocations, stderr, stdout, succeed};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What is run beside each library, in Python: prints what such a library may change.
const PYTHON: &str = r#"
import os, pwd, socket, subprocess, sys, tempfile, threading, time, json
def show(name, function):
    try:
        print(name, function())
    except Exception as error:
        print(name, type(error).__name__, getattr(error, "errno", ""))
def owner():
    with tempfile.NamedTemporaryFile() as file:
        os.chown(file.name, 1234, 1234)
        return os.stat(file.name).st_uid
def sync_a_pipe():
    return [os.fsync(end) for end in os.pipe()]
def talk():
    with socket.create_server(("127.0.0.1", int(os.environ.get("TEST_PORT", "0")))) as server:
        with socket.create_connection(server.getsockname()) as client:
            client.sendall(b"hello")
            return server.accept()[0].recv(10)
def datagram():
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM).type.name
def threads():
    found = []
    some = [threading.Thread(target=lambda: found.append(len(json.dumps(list(range(1000)))))) for _ in range(8)]
    [thread.start() for thread in some]
    [thread.join() for thread in some]
    return found
def new_root():
    os.chroot(os.environ["TEST_ROOT"])
    return os.listdir("/")
show("year", lambda: time.gmtime().tm_year)
show("owner", owner)
show("sync", sync_a_pipe)
show("user", lambda: pwd.getpwnam("preloaded").pw_dir)
show("socket", talk)
show("datagram", datagram)
show("threads", threads)
show("link", lambda: os.readlink("/proc/self/fd/0"))
show("child", lambda: subprocess.run(["/bin/echo", "child"], capture_output=True).stdout)
if "TEST_ROOT" in os.environ:
    show("root", new_root)
"#;

const PERL: &str = r#"
my %words; $words{$_ % 777} .= "word $_" for 1 .. 20000;
my $child = `echo child`;
print scalar(keys %words), " ", length($words{5}), " ", (gmtime)[5] + 1900, " $child", -d "/" ? "root\n" : "none\n";
"#;

/// A library that others preload, and how to see that it is at work.
struct Preload {
    /// The package to install, and the one that the file is in.
    packages: [&'static str; 2],
    file: &'static str,
    /// The program that sets the library up, when it needs one.
    launcher: Option<&'static str>,
    environment: Vec<(&'static str, String)>,
    /// A line that is in the Python program's output because of the library: none when it changes nothing there.
    effect: Option<&'static str>,
}

impl Preload {
    fn new(package: &'static str, holder: &'static str, file: &'static str, effect: Option<&'static str>) -> Preload {
        Preload { packages: [package, holder], file, launcher: None, environment: Vec::new(), effect }
    }

    fn with(mut self, name: &'static str, value: impl Into<String>) -> Preload {
        self.environment.push((name, value.into()));
        self
    }

    fn started_by(mut self, launcher: &'static str) -> Preload {
        self.launcher = Some(launcher);
        self
    }

    fn missing(&self) -> String {
        format!("{} is not installed: apt-get install {}", self.file, self.packages[0])
    }

    fn path(&self) -> PathBuf {
        let files = Command::new("dpkg").args(["-L", self.packages[1]]).output().expect("dpkg, to find the library");
        let path = stdout(&files).lines().map(PathBuf::from).find(|path| path.ends_with(self.file));
        path.unwrap_or_else(|| panic!("{}", self.missing()))
    }

    /// Runs a program with these libraries, started as it has to be.
    fn run(&self, preloads: &[&Path], program: &[&str], report: Option<&Path>) -> Output {
        let preloads: Vec<_> = preloads.iter().map(|path| path.as_os_str()).collect();
        let inner = with_preloads(&preloads, program[0]);
        let mut command = match self.launcher {
            None => inner,
            // The launcher is without our library, and adds its own, which is named again after it.
            Some(launcher) => {
                let mut outer = plain(launcher);
                outer.arg(inner.get_program()).args(inner.get_args());
                outer
            }
        };
        command.args(&program[1..]).envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.env("TZ", "UTC").env("LC_ALL", "C").stdin(std::process::Stdio::null());
        if let Some(report) = report {
            command.env("JESHIM_REPORT", report);
        }
        command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; {}", self.missing()))
    }

    /// Each program prints with our library, before and after the other one, what it prints without; and ours served.
    fn works_beside(&self) {
        let other = self.path();
        let other = other.as_path();
        let ours = library();
        let cxx = fixture("preloads_program.cpp", &["-std=c++17", "-pthread"]);
        let list = scratch("list");
        std::fs::write(list.join("file"), "text").expect("a file");
        let programs: [&[&str]; 4] = [
            &["/usr/bin/python3", "-c", PYTHON],
            &["/bin/ls", "-ln", "--time-style=+%Y", list.to_str().expect("UTF-8")],
            &["/usr/bin/perl", "-e", PERL],
            &[cxx.to_str().expect("UTF-8")],
        ];
        for program in programs {
            let alone = self.run(&[other], program, None);
            assert!(alone.status.success(), "{} alone, {program:?}: {}", self.file, stderr(&alone));
            if let Some(effect) = self.effect.filter(|_| program[0].ends_with("python3")) {
                assert!(stdout(&alone).lines().any(|line| line == effect), "{effect}: {}", stdout(&alone));
            }
            for order in [[other, &ours], [&ours, other]] {
                let report = scratch("preloads").join("record.json");
                let beside = self.run(&order, program, Some(&report));
                assert_eq!(beside.status, alone.status, "{order:?} {program:?}: {}", stderr(&beside));
                assert_eq!(stdout(&beside), stdout(&alone), "{order:?} {program:?}");
                assert_eq!(
                    without_numbers(&stderr(&beside)),
                    without_numbers(&stderr(&alone)),
                    "{order:?} {program:?}"
                );
                let record = record(&report);
                assert_eq!(record["bound"]["names"]["malloc"], true, "{order:?} {program:?}: {record:#}");
                assert!(small_allocations(&record) > 0, "{order:?} {program:?}: {record:#}");
            }
        }
    }
}

/// Messages with pids and times.
fn without_numbers(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

fn written(name: &str, text: &str) -> String {
    let path = scratch("preloads").join(name);
    std::fs::write(&path, text).expect("a file");
    path.to_str().expect("UTF-8").to_owned()
}

#[test]
fn faketime() {
    for file in ["libfaketime.so.1", "libfaketimeMT.so.1"] {
        Preload::new("faketime", "libfaketime", file, Some("year 2001"))
            .with("FAKETIME", "@2001-02-03 04:05:06")
            .works_beside();
    }
}

#[test]
fn faketime_with_background_threads() {
    let faketime = Preload::new("faketime", "libfaketime", "libfaketimeMT.so.1", None)
        .with("FAKETIME", "@2001-02-03 04:05:06")
        .with("MALLOC_CONF", "background_thread:true");
    let script = r"
import time
blocks = [bytearray(100000) for _ in range(1000)]
del blocks
time.sleep(0.2)
print(time.gmtime().tm_year, [line.split()[1] for line in open('/proc/self/status') if line.startswith('Threads')])
";
    let (other, ours) = (faketime.path(), library());
    for order in [[other.as_path(), &ours], [&ours, other.as_path()]] {
        // libfaketime's own start is not safe against a second thread (docs/limits.md): some starts tell a wrong time,
        // with any library that begins a thread. None may hang, and some have to be right.
        let right = (0..10)
            .map(|_| faketime.run(&order, &["/usr/bin/python3", "-c", script], None))
            .inspect(|output| assert!(output.status.code().is_some_and(|code| code < 128), "{order:?}: {output:?}"))
            .any(|output| stdout(&output) == "2001 ['2']\n");
        assert!(right, "{order:?}: no start of ten tells the time");
    }
}

#[test]
fn fakeroot() {
    Preload::new("fakeroot", "libfakeroot", "libfakeroot-sysv.so", Some("owner 1234"))
        .started_by("fakeroot")
        .works_beside();
}

#[test]
fn fakechroot() {
    let root = scratch("root");
    std::fs::write(root.join("inside"), "").expect("a file");
    Preload::new("fakechroot", "libfakechroot", "libfakechroot.so", Some("root ['inside']"))
        .with("TEST_ROOT", root.to_str().expect("UTF-8"))
        .started_by("fakechroot")
        .works_beside();
}

#[test]
fn eatmydata() {
    Preload::new("eatmydata", "libeatmydata1", "libeatmydata.so", Some("sync [None, None]")).works_beside();
}

#[test]
fn proxychains() {
    // Nobody listens there: every connection is refused by the chain.
    let configuration = written("proxychains.conf", "strict_chain\n[ProxyList]\nsocks5 127.0.0.1 1\n");
    Preload::new("proxychains4", "libproxychains4", "libproxychains.so.4", Some("socket ConnectionRefusedError 111"))
        .with("PROXYCHAINS_CONF_FILE", configuration)
        .works_beside();
}

#[test]
fn torsocks() {
    let configuration = written("torsocks.conf", "TorAddress 127.0.0.1\nTorPort 1\n");
    Preload::new("torsocks", "torsocks", "libtorsocks.so", Some("datagram PermissionError 1"))
        .with("TORSOCKS_CONF_FILE", configuration)
        .works_beside();
}

#[test]
fn stdbuf() {
    let stdbuf = Preload::new("coreutils", "coreutils", "libstdbuf.so", None).with("_STDBUF_O", "L");
    stdbuf.works_beside();
    let program = fixture("preloads_program.cpp", &["-std=c++17", "-pthread"]);
    let output = stdbuf.run(&[&stdbuf.path(), &library()], &[program.to_str().expect("UTF-8")], None);
    assert!(stdout(&output).ends_with("line buffered 1\n"), "{}", stdout(&output));
}

#[test]
fn nss_wrapper() {
    let users = written("passwd", "preloaded:x:4321:4321:a user of the test:/home/of/preloaded:/bin/sh\n");
    let groups = written("group", "preloaded:x:4321:\n");
    Preload::new("libnss-wrapper", "libnss-wrapper", "libnss_wrapper.so", Some("user /home/of/preloaded"))
        .with("NSS_WRAPPER_PASSWD", users)
        .with("NSS_WRAPPER_GROUP", groups)
        .works_beside();
}

#[test]
fn socket_wrapper() {
    // A path of a socket may be 107 bytes long.
    let folder = std::env::temp_dir().join(format!("sw-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    // Port 80 is free there, and nobody needs to be root.
    Preload::new("libsocket-wrapper", "libsocket-wrapper", "libsocket_wrapper.so", Some("socket b'hello'"))
        .with("SOCKET_WRAPPER_DIR", folder.to_str().expect("UTF-8"))
        .with("TEST_PORT", "80")
        .works_beside();
    std::fs::remove_dir_all(&folder).expect("the folder of the test");
}

/// Every function that jemalloc calls and that somebody may interpose.
const INTERPOSABLE: &[&str] = &[
    "clock_gettime",
    "gettimeofday",
    "close",
    "creat",
    "open",
    "open64",
    "read",
    "write",
    "readlink",
    "syscall",
    "getpid",
    "gettid",
    "sched_getaffinity",
    "sched_setaffinity",
    "sched_yield",
    "mmap",
    "mmap64",
    "munmap",
    "mprotect",
    "madvise",
    "sbrk",
    "sysconf",
    "getenv",
    "secure_getenv",
    "dlsym",
    "sigfillset",
    "pthread_sigmask",
    "pthread_mutexattr_init",
    "pthread_mutexattr_settype",
    "pthread_mutexattr_destroy",
    "pthread_mutex_init",
    "pthread_mutex_lock",
    "pthread_mutex_trylock",
    "pthread_cond_init",
    "pthread_cond_wait",
    "pthread_cond_timedwait",
    "pthread_cond_signal",
    "pthread_key_create",
    "pthread_setspecific",
    "pthread_create",
    "pthread_join",
    "pthread_setname_np",
    "pthread_getname_np",
    "__cxa_atexit",
    "__register_atfork",
];

/// Those that jemalloc calls through libc's public name while it holds its init lock.
const CALLED_UNDER_THE_LOCK: &[&str] = &["pthread_mutex_unlock", "pthread_self", "sched_getcpu"];

fn start_while_interposers_allocate(names: &[&str]) {
    let interposer = fixture("preloads_interposer.c", &["-shared", "-fPIC", "-ldl"]);
    let program = fixture("preloads_program.cpp", &["-std=c++17", "-pthread"]);
    let ours = library();
    let expected = stdout(&succeed(&mut plain(&program)));
    for name in names {
        for options in ["", "background_thread:true", "percpu_arena:percpu,stats_print:true"] {
            for order in [[interposer.as_os_str(), ours.as_os_str()], [ours.as_os_str(), interposer.as_os_str()]] {
                let mut command = with_preloads(&order, &program);
                command.env("INTERPOSER_ALLOCATES", name).env("MALLOC_CONF", options);
                let output = command.output().expect("the program");
                assert!(output.status.success(), "{name} {options} {order:?}: {}", output.status);
                assert_eq!(stdout(&output), expected, "{name} {options} {order:?}");
            }
        }
    }
}

#[test]
fn any_function_that_jemalloc_calls_may_allocate() {
    start_while_interposers_allocate(INTERPOSABLE);
}

#[test]
#[ignore = "a deadlock: jemalloc calls these by their public names under its init lock, and nobody is known to allocate in them"]
fn even_those_that_are_called_under_the_lock() {
    start_while_interposers_allocate(CALLED_UNDER_THE_LOCK);
}

/// What the seams lead to the kernel, or answer: nobody between sees these calls.
const OUR_OWN_WAY: &[&str] = &[
    "clock_gettime",
    "close",
    "creat",
    "open",
    "open64",
    "read",
    "write",
    "readlink",
    "syscall",
    "getpid",
    "gettid",
    "sched_getaffinity",
    "sched_setaffinity",
    "sched_yield",
    "mmap",
    "mmap64",
    "munmap",
    "mprotect",
    "madvise",
    "sbrk",
    "getenv",
    "secure_getenv",
    "dlsym",
    "pthread_cond_init",
    "pthread_mutexattr_init",
    "pthread_mutex_init",
];

#[test]
fn what_the_seams_take_is_not_seen_by_others() {
    let interposer = fixture("preloads_interposer.c", &["-shared", "-fPIC", "-ldl"]);
    let program = fixture("preloads_program.cpp", &["-std=c++17", "-pthread"]);
    for options in ["", "background_thread:true", "percpu_arena:percpu", "dirty_decay_ms:0"] {
        let mut command = with_preloads(&[interposer.as_os_str(), library().as_os_str()], &program);
        let output = succeed(command.env("INTERPOSER_REPORTS", "1").env("MALLOC_CONF", options));
        let text = stdout(&output);
        let seen: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("line buffered")).skip(1).collect();
        assert!(seen.contains(&"pthread_key_create"), "the interposer reports nothing: {text}");
        for name in OUR_OWN_WAY {
            assert!(!seen.contains(name), "{options}: {name} is called through libc: {seen:?}");
        }
    }
}

#[test]
fn sanitizers_that_come_first() {
    // Their runtimes define glibc's second names of its mutex functions, and lead nowhere.
    let program = fixture("preloads_program.cpp", &["-std=c++17", "-pthread"]);
    for runtime in ["libasan.so", "libtsan.so"] {
        let path = stdout(&succeed(Command::new("cc").arg(format!("-print-file-name={runtime}"))));
        let path = std::fs::canonicalize(path.trim()).unwrap_or_else(|error| panic!("{runtime}: {error}"));
        let mut command = with_preloads(&[path.as_os_str(), library().as_os_str()], &program);
        succeed(command.env("ASAN_OPTIONS", "detect_leaks=0"));
    }
}
