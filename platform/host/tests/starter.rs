//! Programs are started and measured: each by itself, and nothing of it stays.

use jeshim_host::launch::Ended;
use jeshim_host::starter::{Finished, Start, Starter};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A starter, and a folder for what its programs print.
struct Bench {
    starter: Starter,
    folder: PathBuf,
}

impl Bench {
    fn new() -> Bench {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("starter-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        Bench { starter: Starter::new().expect("a starter"), folder }
    }

    fn start(&mut self, words: &[&str]) -> io::Result<u32> {
        self.start_with(words, &[("PATH", "/usr/bin:/bin")], None)
    }

    fn start_with(&mut self, words: &[&str], variables: &[(&str, &str)], folder: Option<&Path>) -> io::Result<u32> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let variables: Vec<(OsString, OsString)> =
            variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let (output, errors) = (self.folder.join("output"), self.folder.join("errors"));
        self.starter.start(&Start {
            words: &words,
            variables: &variables,
            folder,
            input: None,
            output: &output,
            errors: &errors,
        })
    }

    fn run(&mut self, words: &[&str]) -> Finished {
        self.start(words).expect("it starts");
        self.starter.wait(None).expect("the starter lives").expect("an end")
    }

    fn output(&self) -> String {
        std::fs::read_to_string(self.folder.join("output")).expect("output")
    }

    fn errors(&self) -> String {
        std::fs::read_to_string(self.folder.join("errors")).expect("errors")
    }
}

/// Waits until it is so; in vain for half a minute.
fn comes_true(mut condition: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + Duration::from_secs(30);
    while Instant::now() < until {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

fn is_alive(pid: u32) -> bool {
    jeshim_host::tree::is_running(pid)
}

#[test]
fn times_are_those_of_the_whole_program() {
    let mut bench = Bench::new();
    let script = "import os, time\npid = os.fork()\nif pid == 0:\n    end = time.process_time() + 0.3\n    \
        while time.process_time() < end: pass\n    os._exit(7)\nos.waitpid(pid, 0)\ntime.sleep(0.2)";
    let finished = bench.run(&["python3", "-S", "-c", script]);
    assert_eq!(finished.ended, Ended::Exited(0));
    let processor = finished.user + finished.system;
    // The child's, with a start of an interpreter.
    assert!(processor >= Duration::from_millis(300) && processor < Duration::from_millis(900), "{finished:?}");
    assert!(finished.wall >= Duration::from_millis(500), "{finished:?}");
    assert!(finished.voluntary_switches >= 1 && finished.minor_faults > 100, "{finished:?}");
    assert_eq!(finished.left_running, []);
    // And of this one only.
    let next = bench.run(&["true"]);
    assert!(next.user + next.system < processor / 4 && next.minor_faults < finished.minor_faults, "{next:?}");
}

#[test]
fn wall_time_is_the_shells() {
    let mut bench = Bench::new();
    let script = "TIMEFORMAT=%R; time perl -e 'select undef, undef, undef, 0.5'";
    let finished = bench.run(&["bash", "-c", script]);
    let shell: f64 = bench.errors().trim().parse().expect("a number");
    let wall = finished.wall.as_secs_f64();
    // The shell has to start itself.
    assert!(wall >= shell && wall < shell + 0.5, "{wall} {shell}");
}

#[test]
fn the_end_is_told_as_it_was() {
    let mut bench = Bench::new();
    assert_eq!(bench.run(&["sh", "-c", "exit 9"]).ended, Ended::Exited(9));
    assert_eq!(bench.run(&["sh", "-c", "kill -9 $$"]).ended, Ended::Killed(9));
    assert_eq!(bench.run(&["sh", "-c", "kill -40 $$"]).ended, Ended::Killed(40));
}

#[test]
fn what_is_left_running_is_found_and_ended() {
    let mut bench = Bench::new();
    // A daemon: another session, and its parent gone.
    let daemon =
        "use POSIX; exit if fork; POSIX::setsid(); exit if fork; $SIG{TERM} = 'IGNORE'; print $$; $| = 1; sleep 600";
    let finished = bench.run(&["perl", "-e", &format!("unless (fork) {{ {daemon} }} sleep 1")]);
    let [left] = finished.left_running.as_slice() else { panic!("{finished:?}") };
    assert!(is_alive(*left));
    assert_eq!(bench.starter.end_all().expect("it ends"), None);
    assert!(!is_alive(*left));
    // It is no matter of the next.
    assert_eq!(bench.run(&["true"]).left_running, []);
}

#[test]
fn with_the_starter_all_ends() {
    let mut bench = Bench::new();
    bench.start(&["sh", "-c", "sleep 600 & setsid sleep 600 & echo $$; wait"]).expect("it starts");
    assert!(comes_true(|| jeshim_host::tree::below(bench.starter.pid()).len() == 3));
    let all = jeshim_host::tree::below(bench.starter.pid());
    assert!(all.iter().all(|pid| is_alive(*pid)));
    let Bench { starter, .. } = bench;
    drop(starter);
    assert!(!all.iter().any(|pid| is_alive(*pid)), "{all:?}");
}

#[test]
fn a_program_that_runs_is_ended_with_what_it_used() {
    let mut bench = Bench::new();
    let pid = bench.start(&["sh", "-c", "trap '' TERM INT; sleep 600 & sleep 600"]).expect("it starts");
    let refused = bench.start(&["true"]).expect_err("one runs");
    assert_eq!((refused.kind(), refused.raw_os_error()), (io::ErrorKind::ResourceBusy, None));
    assert!(comes_true(|| jeshim_host::tree::below(pid).len() == 2));
    assert_eq!(bench.starter.wait(Some(Duration::from_millis(5))).expect("the starter lives"), None);
    let finished = bench.starter.end_all().expect("it ends").expect("it ran");
    assert_eq!(finished.ended, Ended::Killed(9));
    assert!(finished.wall >= Duration::from_millis(5), "{finished:?}");
    assert_eq!(bench.starter.wait(None).expect_err("none runs").kind(), io::ErrorKind::InvalidInput);
    assert_eq!(jeshim_host::tree::below(bench.starter.pid()), []);
}

#[test]
fn a_signal_reaches_the_whole_group_also_without_its_leader() {
    let mut bench = Bench::new();
    let script = "trap 'echo told; exit 3' TERM; sleep 600 & echo; wait";
    bench.start(&["sh", "-c", script]).expect("it starts");
    assert!(comes_true(|| !bench.output().is_empty()));
    bench.starter.signal(15).expect("the starter lives");
    let finished = bench.starter.wait(None).expect("the starter lives").expect("an end");
    assert_eq!((finished.ended, bench.output().as_str()), (Ended::Exited(3), "\ntold\n"));
    bench.starter.end_all().expect("it ends");
    let finished = bench.run(&["sh", "-c", "sleep 600 &"]);
    let [left] = finished.left_running.as_slice() else { panic!("{finished:?}") };
    bench.starter.signal(15).expect("the starter lives");
    assert!(comes_true(|| !is_alive(*left)));
}

#[test]
fn what_cannot_be_executed_is_the_systems_error() {
    let mut bench = Bench::new();
    let folder = bench.folder.clone();
    let number = |result: io::Result<u32>| result.expect_err("it cannot").raw_os_error();
    let enoent = Some(2);
    assert_eq!(number(bench.start(&["no-such-program"])), enoent);
    assert_eq!(number(bench.start(&["/no/such/program"])), enoent);
    assert_eq!(number(bench.start(&[""])), enoent);
    assert_eq!(number(bench.start(&[])), enoent);
    assert_eq!(number(bench.start(&["/etc/passwd"])), Some(13));
    assert_eq!(number(bench.start(&["/"])), Some(13));
    assert_eq!(number(bench.start(&["a\0b"])), Some(22));
    // PATH is the program's own.
    let file = |name: &str, mode: u32| {
        let path = folder.join(name);
        std::fs::write(&path, "echo \"$0 $1\"; pwd").expect("a file");
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(mode)).expect("a mode");
        path
    };
    let (script, secret) = (file("jeshim-script", 0o755), file("jeshim-secret", 0o644));
    let path = format!("/nonexistent:{}", folder.display());
    let with =
        |bench: &mut Bench, words: &[&str], path: &str| bench.start_with(words, &[("PATH", path)], Some(&folder));
    assert_eq!(number(with(&mut bench, &["jeshim-script"], "/usr/bin")), enoent);
    assert_eq!(number(with(&mut bench, &["jeshim-secret"], &path)), Some(13), "{}", secret.display());
    // A script without a first line is the shell's, and the folder is where it was asked for.
    with(&mut bench, &["jeshim-script", "x"], &path).expect("it starts");
    bench.starter.wait(None).expect("the starter lives").expect("an end");
    assert_eq!(bench.output(), format!("{} x\n{}\n", script.display(), folder.display()));
    let nowhere = Path::new("/no/such/folder");
    assert_eq!(number(bench.start_with(&["/bin/true"], &[], Some(nowhere))), enoent);
}

#[test]
fn a_file_that_cannot_be_opened_is_named() {
    let mut bench = Bench::new();
    bench.folder = "/no/such/folder".into();
    let error = bench.start(&["true"]).expect_err("it cannot");
    assert_eq!(error.raw_os_error(), None);
    assert!(error.to_string().contains("/no/such/folder/output cannot be opened"), "{error}");
}

#[test]
fn a_program_finds_a_clean_place() {
    let mut bench = Bench::new();
    let script = "grep -E '^(SigBlk|SigIgn)' /proc/self/status; ls /proc/self/fd | wc -l; readlink /proc/self/fd/0; \
        ps -o pgid= -p $$; echo $$; env";
    // Something of this process's own that is open, and not to be passed on.
    let _own = std::fs::File::open("/dev/null").expect("a file");
    let before = std::fs::read_dir("/dev/fd").expect("open files").count();
    let finished = {
        bench.start_with(&["/bin/sh", "-c", script], &[("A", "b c")], None).expect("it starts");
        bench.starter.wait(None).expect("the starter lives").expect("an end")
    };
    assert_eq!(finished.ended, Ended::Exited(0));
    let output = bench.output();
    let lines: Vec<&str> = output.lines().collect();
    let (signals, rest) = lines.split_at(2);
    let own = std::fs::read_to_string("/proc/self/status").expect("this process");
    let ignored = own.lines().find_map(|line| line.strip_prefix("SigIgn:\t")).expect("a set");
    let ignored = u64::from_str_radix(ignored, 16).expect("a set") & !(1 << (libc::SIGPIPE - 1));
    assert_eq!(signals, [format!("SigBlk:\t{:016x}", 0), format!("SigIgn:\t{ignored:016x}")], "{output}");
    let open: usize = rest[0].trim().parse().expect("a number");
    assert!(open < before, "{open} {before}: {output}");
    assert_eq!((rest[1], rest[2].trim()), ("/dev/null", rest[3]), "{output}");
    assert!(rest.contains(&"A=b c") && !output.contains("CARGO"), "{output}");
}

#[test]
fn a_starter_that_is_killed_is_an_error_and_not_the_end() {
    let mut bench = Bench::new();
    bench.run(&["true"]);
    // SAFETY: sends a signal to its own child.
    unsafe { libc::kill(bench.starter.pid().cast_signed(), libc::SIGKILL) };
    assert!(comes_true(|| !is_alive(bench.starter.pid())));
    let error = bench.start(&["true"]).expect_err("nobody is there");
    assert_eq!((error.kind(), error.raw_os_error()), (io::ErrorKind::BrokenPipe, None), "{error}");
    assert!(bench.starter.end_all().is_err());
}

#[test]
fn signals_that_end_this_process_do_not_end_the_starter() {
    let mut bench = Bench::new();
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        // SAFETY: sends a signal to its own child.
        unsafe { libc::kill(bench.starter.pid().cast_signed(), signal) };
    }
    assert_eq!(bench.run(&["sh", "-c", "exit 4"]).ended, Ended::Exited(4));
}

#[test]
fn a_program_has_no_terminal_to_wait_for() {
    let mut bench = Bench::new();
    let finished = bench.run(&["sh", "-c", "read line < /dev/tty"]);
    assert_ne!(finished.ended, Ended::Exited(0));
    assert!(bench.errors().contains("/dev/tty"), "{}", bench.errors());
}

#[test]
fn what_is_printed_is_kept_also_where_the_program_opens_it_anew() {
    let mut bench = Bench::new();
    bench.run(&["sh", "-c", "echo one; echo two > /dev/stdout; echo three"]);
    assert!(bench.output().ends_with("three\n") && bench.output().contains("two\n"), "{:?}", bench.output());
}

#[test]
fn a_program_ends_with_a_starter_that_is_killed() {
    let mut bench = Bench::new();
    let program = bench.start(&["sleep", "60"]).expect("it starts");
    // SAFETY: sends a signal to a child of this process.
    assert_eq!(unsafe { libc::kill(bench.starter.pid().cast_signed(), libc::SIGKILL) }, 0);
    assert!(comes_true(|| !is_alive(program)), "it goes on");
}
