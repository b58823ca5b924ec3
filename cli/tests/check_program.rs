//! What a program gets that `jeshim check` runs, and what is left behind: its streams, arguments, environment and status
//! are its own, Ctrl-C is too.

use crate::check::{PYTHON, Proof, SERVED, UNUSABLE, check, executable, proof, succeed};
use crate::harness::{jeshim, library, plain, scratch};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn streams_arguments_and_exit_status_are_the_programs() {
    let folder = scratch("check");
    let text =
        "import sys; sys.stdout.write(sys.stdin.read().upper()); sys.stderr.write('first\\nno newline'); sys.exit(3)";
    let mut child = check(PYTHON)
        .args(["-c", text])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command");
    child.stdin.take().expect("a pipe").write_all("gr\u{fc}n\n".as_bytes()).expect("a reader");
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.stdout, "GR\u{dc}N\n".as_bytes());
    let report = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(report.starts_with("first\nno newline"), "{report}");
    assert!(report.contains("python3") && report.contains("It ended with status 3\n"), "{report}");
    assert!(!report.contains('\u{1b}'), "no colours outside of a terminal: {report}");
    assert_eq!(output.status.code(), Some(SERVED));

    let callers = succeed(plain("ls").arg("/proc/self/fd"));
    let descriptors = proof("ls", ["/proc/self/fd"]);
    assert_eq!(descriptors.stdout, callers, "open descriptors");

    let arguments = ["%s|", "a b", "*", "", "$HOME", "--json", "\\n"];
    let printed = Proof::of(check("printf").args(arguments).current_dir(&folder));
    assert_eq!(printed.stdout, "a b|*||$HOME|--json|\\n|");
}

#[test]
fn the_environment_is_the_callers_and_two_variables() {
    let variables = |command: &mut Command| {
        let text = Proof::of(command.env("MALLOC_CONF", "narenas:1").env("JESHIM_REPORT", "/nowhere")).stdout;
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let caller = variables(&mut plain("env"));
    let program = variables(&mut check("env"));
    let changed = |name: &str, lines: &[String]| {
        lines.iter().filter_map(|line| line.strip_prefix(&format!("{name}="))).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(changed("LD_PRELOAD", &program), [library().to_str().expect("UTF-8")]);
    assert!(changed("JESHIM_REPORT", &program)[0].ends_with("/%p"), "{program:?}");
    let rest = |lines: Vec<String>| {
        let changed = ["LD_PRELOAD=", "JESHIM_REPORT="];
        lines.into_iter().filter(|line| !changed.iter().any(|name| line.starts_with(name))).collect::<Vec<_>>()
    };
    assert_eq!(rest(program), rest(caller));
}

#[test]
fn a_process_left_in_the_background_is_not_waited_for() {
    let report = fs::File::create(scratch("check").join("report")).expect("a file");
    let start = Instant::now();
    let status = check("bash")
        .args(["-c", "sleep 10 & exit 0"])
        .stdout(Stdio::null())
        .stderr(report)
        .status()
        .expect("the command");
    assert_eq!(status.code(), Some(SERVED));
    assert!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
}

#[test]
fn names_with_blanks_work() {
    let folder = scratch("check").join("a folder: with blanks, 100%");
    fs::create_dir(&folder).expect("a folder");
    let program = executable(&folder, "a program", &format!("#!{PYTHON}\nprint(1)\n"));
    Proof::of(check(&program).env("TMPDIR", &folder)).is(SERVED, &["of python3", "started as a program"]);
    // The dynamic linker parts names there, so such a library cannot be preloaded.
    let copy = folder.join("libjeshim.so");
    fs::copy(library(), &copy).expect("a copy");
    let mut command = jeshim();
    command.args(["check", "--lib"]).arg(&copy).arg("--").arg(&program);
    Proof::of(&mut command).is(UNUSABLE, &["with blanks", "cannot be preloaded", "copy it to another folder"]);
}

#[test]
fn the_library_is_found_beside_the_command_and_where_packages_put_it() {
    let prefix = scratch("check");
    for folder in ["bin", "lib/jeshim"] {
        fs::create_dir_all(prefix.join(folder)).expect("a folder");
    }
    let command = prefix.join("bin/jeshim");
    fs::copy(env!("CARGO_BIN_EXE_jeshim"), &command).expect("a copy");
    let check = || {
        let mut check = plain(&command);
        check.args(["check", "--", "ls", "/dev/null"]).env_remove("CARGO_TARGET_DIR").current_dir(&prefix);
        Proof::of(&mut check)
    };
    check().is(UNUSABLE, &["no libjeshim.so beside this command", "../lib/jeshim", "cargo build --release", "--lib"]);
    fs::copy(library(), prefix.join("lib/jeshim/libjeshim.so")).expect("a copy");
    check().is(SERVED, &["of ls (pid "]);
    fs::rename(prefix.join("lib/jeshim/libjeshim.so"), prefix.join("bin/libjeshim.so")).expect("moved");
    check().is(SERVED, &["of ls (pid "]);
}

#[test]
fn what_cannot_be_done_is_said_with_a_status_of_its_own() {
    proof("no-such-program", []).is(127, &["no-such-program is not found"]);
    proof("cd", ["/"]).is(127, &["cd is not found"]);
    proof("/etc/passwd", []).is(126, &["/etc/passwd is not executable"]);
    proof("/etc", []).is(126, &["/etc is a directory"]);
    let orphan = executable(&scratch("check"), "orphan", "#!/no/such/interpreter\n");
    let orphan = proof(orphan, []);
    assert!(matches!(orphan.status, Some(126 | 127)), "{}", orphan.report);
    orphan.is(orphan.status.expect("a status"), &["could not be executed"]);

    let usage = |arguments: &[&str]| Proof::of(jeshim().arg("check").args(arguments));
    usage(&["--lib", "/no/such/library.so", "ls"]).is(UNUSABLE, &["/no/such/library.so: No such file", "--lib"]);
    usage(&["--lib", "/etc/passwd", "ls"]).is(UNUSABLE, &["/etc/passwd is not jeshim's library"]);
    usage(&["--report", "/tmp/x", "ls"]).is(UNUSABLE, &["--report cannot be used with check"]);
    for wrong in [
        &[][..],
        &["--nonsense", "ls"],
        &["--lib"],
        &["--pid", "x"],
        &["--pid", "1", "--file", "/bin/ls"],
        &["--for", "1y", "ls"],
    ] {
        assert_eq!(usage(wrong).status, Some(UNUSABLE), "{wrong:?}");
    }
    let help = usage(&["--help"]);
    assert_eq!(help.status, Some(0));
    assert!(help.stdout.contains("jeshim check -- python3"), "{}", help.stdout);
}

#[test]
fn colours_are_for_terminals_and_can_be_declined() {
    let on_terminal = |no_color: &str| {
        let mut command = plain("script");
        let text = format!("'{}' check --lib '{}' ls /", env!("CARGO_BIN_EXE_jeshim"), library().display());
        command.args(["-qec", &text, "/dev/null"]).env("NO_COLOR", no_color).env("TERM", "xterm");
        succeed(command.stdin(Stdio::null()))
    };
    assert!(on_terminal("").contains("\u{1b}[1m\u{1b}[32mSERVED\u{1b}[0m: "));
    let without = on_terminal("1");
    assert!(without.contains("\nSERVED: ") && !without.contains('\u{1b}'), "{without}");
}

// ---- Ctrl-C -----------------------------------------------------------------------------------------------------------------

/// The command in a process group of its own, as a terminal would start it; ended with everything in it.
struct Job(Child);

impl Job {
    fn start(temporary: &Path, program: &str, arguments: &[&str]) -> Job {
        let mut command = check(program);
        command.args(arguments).env("TMPDIR", temporary).process_group(0);
        Job(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command"))
    }

    fn signal(&self, signal: i32) {
        // SAFETY: a signal to the group that was started above and not yet waited for.
        unsafe { libc::kill(-self.0.id().cast_signed(), signal) };
    }

    fn ended(&mut self) -> Proof {
        let deadline = Instant::now() + Duration::from_secs(20);
        while self.0.try_wait().expect("a status").is_none() {
            assert!(Instant::now() < deadline, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
        let (mut stdout, mut report) = (String::new(), String::new());
        self.0.stdout.take().expect("a pipe").read_to_string(&mut stdout).expect("text");
        self.0.stderr.take().expect("a pipe").read_to_string(&mut report).expect("text");
        Proof { status: self.0.wait().expect("a status").code(), stdout, report }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.signal(libc::SIGKILL);
        let _ = self.0.wait();
    }
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).expect("a folder").next().is_none()
}

#[test]
fn a_server_is_ended_by_ctrl_c_and_then_judged() {
    let temporary = scratch("check");
    let server =
        "import time\ntry:\n    print('ready', flush=True)\n    time.sleep(30)\nexcept KeyboardInterrupt: pass";
    let mut job = Job::start(&temporary, PYTHON, &["-c", server]);
    let mut line = [0; 6];
    job.0.stdout.as_mut().expect("a pipe").read_exact(&mut line).expect("a line");
    assert_eq!(&line, b"ready\n");
    assert!(!is_empty(&temporary), "the temporary folder is in TMPDIR");
    job.signal(libc::SIGINT);
    job.ended().is(SERVED, &["of python3 (pid "]);
    assert!(is_empty(&temporary), "something was left in TMPDIR");
}

#[test]
fn ctrl_c_that_kills_the_program_leaves_nothing_behind() {
    for (signal, name) in [(libc::SIGINT, "SIGINT"), (libc::SIGTERM, "SIGTERM")] {
        let temporary = scratch("check");
        let mut job = Job::start(&temporary, "bash", &["-c", "echo ready; exec sleep 30"]);
        let mut line = String::new();
        let mut output = BufReader::new(job.0.stdout.take().expect("a pipe"));
        output.read_line(&mut line).expect("a line");
        // Until the second program of the process has its record.
        let deadline = Instant::now() + Duration::from_secs(10);
        while count_records(&temporary) < 2 {
            assert!(Instant::now() < deadline, "no second record");
            std::thread::sleep(Duration::from_millis(10));
        }
        job.0.stdout = Some(output.into_inner());
        job.signal(signal);
        let ended = job.ended();
        assert!(ended.report.contains(&format!("was ended by signal {signal} ({name})")), "{}", ended.report);
        ended.is(SERVED, &["sleep (pid ", "started as bash"]);
        assert!(is_empty(&temporary), "something was left in TMPDIR");
    }
}

fn count_records(temporary: &Path) -> usize {
    let folders =
        fs::read_dir(temporary).expect("a folder").map(|entry| entry.expect("an entry").path().join("records"));
    let files = folders.filter_map(|records| fs::read_dir(records).ok()).flatten();
    // A file has its name a moment before it has its contents.
    files.filter(|file| file.as_ref().expect("an entry").metadata().expect("a size").len() > 0).count()
}
