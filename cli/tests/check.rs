//! `jeshim check -- CMD` gives the right verdict, also for the programs that deceive: those that close standard error, are
//! static, setuid, of another kind, bring an allocator, lose the environment or end early.

use crate::harness::{compile, jeshim, library, plain, scratch};
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

pub(crate) const SERVED: i32 = 0;
pub(crate) const NOT_SERVED: i32 = 1;
pub(crate) const IN_PART: i32 = 2;
pub(crate) const COULD_NOT_TELL: i32 = 3;
pub(crate) const UNUSABLE: i32 = 125;

/// Not the one on PATH: on a developer's machine that may be a wrapper script.
pub(crate) const PYTHON: &str = "/usr/bin/python3";

/// What the command made of a program.
pub(crate) struct Proof {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    /// Standard error: the program's and the report.
    pub(crate) report: String,
}

impl Proof {
    pub(crate) fn of(command: &mut Command) -> Proof {
        Proof::from(command.output().unwrap_or_else(|error| panic!("{command:?}: {error}")))
    }

    pub(crate) fn from(output: Output) -> Proof {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Proof { status: output.status.code(), stdout: text(&output.stdout), report: text(&output.stderr) }
    }

    /// The line of the verdict and the exit status say the same, and that line or the remedy below contains the words.
    #[track_caller]
    pub(crate) fn is(&self, status: i32, words: &[&str]) {
        let start = match status {
            SERVED => "SERVED: ",
            NOT_SERVED => "NOT SERVED: ",
            IN_PART => "IN PART: ",
            COULD_NOT_TELL => "COULD NOT TELL: ",
            UNUSABLE => "jeshim: ",
            _ => "NOT STARTED: ",
        };
        let mut lines = self.report.lines().skip_while(|line| !line.starts_with(start));
        let verdict = lines.next().unwrap_or_else(|| panic!("{start}… expected:\n{}", self.report));
        let remedy = lines.next().filter(|line| line.starts_with("Remedy: ")).unwrap_or("");
        assert_eq!(self.status, Some(status), "{}", self.report);
        for word in words {
            assert!(
                verdict.contains(word) || remedy.contains(word),
                "'{word}' is not in the verdict:\n{}",
                self.report
            );
        }
        if [NOT_SERVED, IN_PART, COULD_NOT_TELL].contains(&status) {
            assert!(!remedy.is_empty(), "no remedy:\n{}", self.report);
        }
    }
}

/// The command, about to check a program with the library that the test built.
pub(crate) fn check(program: impl AsRef<OsStr>) -> Command {
    let mut command = jeshim();
    command.args(["check", "--lib"]).arg(library()).arg("--").arg(program);
    command
}

pub(crate) fn proof<const N: usize>(program: impl AsRef<OsStr>, arguments: [&str; N]) -> Proof {
    Proof::of(check(program).args(arguments))
}

pub(crate) fn fixture(name: &str, arguments: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    compile(source.to_str().expect("UTF-8"), arguments)
}

pub(crate) fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The path of an installed program; fails and names the package when it is missing.
pub(crate) fn installed(path: &'static str, package: &str) -> &'static str {
    assert!(Path::new(path).exists(), "{path} is missing; remedy: apt-get install {package}");
    path
}

pub(crate) fn executable(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).expect("a file");
    fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("a mode");
    path
}

pub(crate) fn is_root() -> bool {
    // SAFETY: asks for a number.
    unsafe { libc::geteuid() == 0 }
}

// ---- Served -----------------------------------------------------------------------------------------------------------

#[test]
fn python_is_served() {
    let proof = proof(PYTHON, ["-c", "print('from the program')"]);
    proof.is(SERVED, &["small allocations of python3 (pid "]);
    assert_eq!(proof.stdout, "from the program\n");
    for evidence in ["It ended with status 0\n", "63 of 63", " large ones ("] {
        assert!(proof.report.contains(evidence), "'{evidence}' is not in:\n{}", proof.report);
    }
    assert!(proof.report.contains("PYTHONMALLOC=malloc jemalloc serves them too"), "{}", proof.report);
    let routed = Proof::of(check(PYTHON).args(["-c", "pass"]).env("PYTHONMALLOC", "malloc"));
    routed.is(SERVED, &[]);
    assert!(!routed.report.contains("Note:"), "{}", routed.report);
}

#[test]
fn coreutils_close_standard_error_and_are_served() {
    for arguments in [&["ls", "/"][..], &["cat", "/etc/passwd"], &["true", "--version"], &["sort", "/etc/passwd"]] {
        let proof = Proof::of(check(arguments[0]).args(&arguments[1..]));
        proof.is(SERVED, &["small allocations of ", arguments[0]]);
    }
}

#[test]
fn a_program_that_links_a_jemalloc_dynamically_is_served() {
    let redis = installed("/usr/bin/redis-server", "redis-server");
    proof(redis, ["--version"]).is(SERVED, &["of redis-server (pid "]);
}

#[test]
fn scripts_are_served_through_their_interpreter() {
    let folder = scratch("check");
    let bash = executable(&folder, "by-bash", "#!/bin/bash\nx=$(ls /); echo ${#x}\n");
    proof(bash, []).is(SERVED, &["of bash (pid ", "started as by-bash"]);
    let python = executable(&folder, "by-env", &format!("#!/usr/bin/env {PYTHON}\nprint(1)\n"));
    proof(python, []).is(SERVED, &["of python3", "started as by-env"]);
    // Without such a line it is the shell's.
    let without = executable(&folder, "by-nobody", &format!("echo \"$1\"; exec {PYTHON} -c pass\n"));
    let shown = proof(without, ["argument"]);
    shown.is(SERVED, &["of python3", "started as by-nobody"]);
    assert_eq!(shown.stdout, "argument\n");
    proof(executable(&folder, "by-shell", "x=1\n"), []).is(SERVED, &["of dash (pid ", "started as by-shell"]);
}

#[test]
fn a_wrapper_that_execs_is_judged_by_what_it_became() {
    let wrapper = executable(&scratch("check"), "start", &format!("#!/bin/sh\nexec {PYTHON} -c 'print(1)'\n"));
    proof(wrapper, []).is(SERVED, &["of python3", "started as start"]);
}

#[test]
fn the_processes_of_a_tree_are_listed() {
    let text = format!("for i in 1 2 3 4 5 6 7 8 9; do /bin/ls >/dev/null; done; {PYTHON} -c 'pass'; exit 0");
    let short = proof("bash", ["-c", &text]);
    short.is(SERVED, &["of bash (pid ", "and 10 processes more"]);
    assert!(short.report.contains(" and 8 more "), "{}", short.report);
    let mut command = jeshim();
    command.args(["check", "--all", "--lib"]).arg(library()).args(["--", "bash", "-c", &text]);
    let all = Proof::of(&mut command);
    all.is(SERVED, &[]);
    assert_eq!(all.report.matches("\n ls (pid ").count(), 9, "{}", all.report);
    assert_eq!(all.report.matches("\n bash (pid ").count(), 1, "{}", all.report);
}

#[test]
fn facts_for_machines() {
    let mut command = jeshim();
    command.args(["check", "--json", "--lib"]).arg(library()).args([
        "--",
        "sh",
        "-c",
        "echo out; env -i /bin/ls / >/dev/null; exit 7",
    ]);
    let output = command.output().expect("the command");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON, and nothing else");
    assert_eq!((output.status.code(), report["verdict"].as_str()), (Some(IN_PART), Some("in_part")), "{report:#}");
    assert_eq!(report["ended"], "ended with status 7");
    // Standard output is for the facts, so the program's is passed on to standard error.
    assert_eq!(String::from_utf8_lossy(&output.stderr), "out\n");
    let processes = report["processes"].as_array().expect("processes");
    let standing = |name: &str| {
        let is = |row: &&serde_json::Value| row["program"].as_str().is_some_and(|path| path.ends_with(name));
        processes
            .iter()
            .find(is)
            .map(|row| (row["loaded"].clone(), row["standing"].clone(), row["reason"]["id"].clone()))
    };
    assert_eq!(standing("/dash"), Some((true.into(), "served".into(), serde_json::Value::Null)), "{report:#}");
    assert_eq!(standing("/env"), Some((true.into(), "passing".into(), serde_json::Value::Null)), "{report:#}");
    assert_eq!(standing("/ls"), Some((false.into(), "not_served".into(), "environment".into())), "{report:#}");
}

#[test]
fn names_that_are_not_utf8_are_facts_too() {
    let program = scratch("check").join(OsStr::from_bytes(b"w\xff"));
    fs::copy("/bin/ls", &program).expect("a copy");
    let facts = |what: &[&OsStr]| {
        let output =
            jeshim().args(["check", "--json", "--lib"]).arg(library()).args(what).output().expect("the command");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        (
            output.status.code(),
            report["file"]["steps"][0]["path"].as_str().is_some_and(|path| path.ends_with("w\u{fffd}")),
        )
    };
    assert_eq!(facts(&["--file".as_ref(), program.as_os_str()]), (Some(COULD_NOT_TELL), true));
    assert_eq!(facts(&["--".as_ref(), program.as_os_str()]), (Some(SERVED), true));
}

#[test]
fn the_report_can_go_to_a_file() {
    let file = scratch("check").join("report");
    let mut command = jeshim();
    command.args(["check", "--output"]).arg(&file).arg("--lib").arg(library()).args(["--", "ls", "/dev/null"]);
    let output = command.output().expect("the command");
    assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"/dev/null\n"[..], &b""[..]));
    assert!(fs::read_to_string(&file).expect("the report").starts_with("SERVED: jemalloc served "));
    let nowhere = Proof::of(
        jeshim().args(["check", "--output", "/no/such/folder/report", "--lib"]).arg(library()).args(["--", "true"]),
    );
    nowhere.is(UNUSABLE, &["/no/such/folder/report cannot be written"]);
}

// ---- Not served ---------------------------------------------------------------------------------------------------------

#[test]
fn static_programs_are_not_served() {
    let busybox = installed("/bin/busybox", "busybox-static");
    proof(busybox, ["true"]).is(NOT_SERVED, &["/busybox", "static", "link jemalloc into it"]);
    let hello = proof(fixture("check_hello.c", &["-static"]), []);
    hello.is(NOT_SERVED, &["is a static program"]);
    assert_eq!(hello.stdout, "hello\n");
    let pie = fixture("check_hello.c", &["-static-pie"]);
    proof(pie, []).is(NOT_SERVED, &["static"]);
    let go = fixture("check_hello.c", &["-static", "-DGO"]);
    proof(go, []).is(NOT_SERVED, &["is a static Go program", "GOMEMLIMIT"]);
    let by_busybox = executable(&scratch("check"), "by-busybox", &format!("#!{busybox} sh\necho hello\n"));
    proof(by_busybox, []).is(NOT_SERVED, &["/busybox", "static"]);
}

#[test]
fn a_dynamic_go_program_is_served_in_part() {
    let prometheus = installed("/usr/bin/prometheus", "prometheus");
    proof(prometheus, ["--version"]).is(IN_PART, &["is a Go program: only its C code calls malloc", "GOMEMLIMIT"]);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_32_bit_program_is_not_served() {
    installed("/usr/lib32/crt1.o", "gcc-multilib");
    proof(fixture("check_hello.c", &["-m32"]), []).is(NOT_SERVED, &["is a 32-bit program", "for 64-bit ones"]);
}

#[test]
fn a_musl_program_is_not_served() {
    let program = scratch("check").join("musl");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/check_hello.c");
    let compiler = installed("/usr/bin/musl-gcc", "musl-tools");
    succeed(Command::new(compiler).arg("-o").arg(&program).arg(source));
    proof(&program, []).is(NOT_SERVED, &["is a program for musl", "refuses to start"]);
}

#[test]
fn an_allocator_in_the_executable_is_named() {
    proof(fixture("check_own_malloc.c", &[]), []).is(NOT_SERVED, &["has a malloc of its own in its executable"]);
    let rustc = succeed(&mut plain_command("rustc", &["--print", "sysroot"]));
    let proof = proof(Path::new(rustc.trim()).join("bin/rustc"), ["--version"]);
    proof.is(NOT_SERVED, &["/bin/rustc has a malloc of its own in its executable"]);
}

fn plain_command(program: &str, arguments: &[&str]) -> Command {
    let mut command = plain(program);
    command.args(arguments);
    command
}

#[test]
fn an_allocator_hidden_in_the_executable_is_noticed() {
    let hidden = fixture("check_own_malloc.c", &["-DHIDDEN"]);
    proof(&hidden, []).is(IN_PART, &["it may have an allocator of its own"]);
    succeed(Command::new("strip").arg(&hidden));
    proof(&hidden, []).is(IN_PART, &["it may have an allocator of its own"]);
    // It maps memory too, and asks malloc for a block; and one that has only libc's buffer for standard output.
    proof(fixture("check_hello.c", &["-DMAPS"]), []).is(SERVED, &["2 small allocations of program"]);
    proof(fixture("check_hello.c", &[]), []).is(SERVED, &["1 small allocation of program"]);
}

#[test]
fn a_program_that_asks_for_no_small_block_is_not_served() {
    let nothing = Proof::of(check("true").env("LC_ALL", "C"));
    nothing.is(NOT_SERVED, &["no small block was asked of it"]);
    assert!(nothing.report.contains("nothing: it asked for no small block"), "{}", nothing.report);
    // jemalloc's own thread caches are large blocks too, so these prove nothing.
    proof(fixture("check_large_only.c", &[]), []).is(NOT_SERVED, &["no small block was asked of it"]);
}

#[test]
fn an_environment_without_the_variable_is_noticed() {
    let busybox = installed("/bin/busybox", "busybox-static");
    // However short they live.
    proof("env", ["-i", "/bin/ls", "/dev/null"]).is(NOT_SERVED, &["env -i"]);
    let clears = executable(&scratch("check"), "clears", "#!/bin/bash\nunset LD_PRELOAD\nexec /bin/ls /dev/null\n");
    proof(clears, []).is(NOT_SERVED, &["/usr/bin/ls ", "did not pass LD_PRELOAD on"]);
    let wrapper = executable(&scratch("check"), "entrypoint", &format!("#!/bin/bash\nexec {busybox} true\n"));
    proof(wrapper, []).is(NOT_SERVED, &["/busybox", "static"]);
}

#[test]
fn a_child_that_lost_the_variable_is_named_and_takes_away_from_the_verdict() {
    let proof = proof("bash", ["-c", "env -i /bin/ls /dev/null; exit 0"]);
    proof.is(IN_PART, &["of bash (pid ", "not 1 process of its tree", "did not pass LD_PRELOAD on"]);
    let mut command = jeshim();
    command.args(["check", "--no-children", "--lib"]).arg(library()).args([
        "--",
        "bash",
        "-c",
        "/bin/ls /dev/null; exit 0",
    ]);
    Proof::of(&mut command).is(IN_PART, &["--no-children"]);
}

#[test]
fn children_alone_are_a_part() {
    let busybox = installed("/bin/busybox", "busybox-static");
    let proof = proof(busybox, ["sh", "-c", "/bin/ls / >/dev/null; /bin/ls / >/dev/null; exit 0"]);
    proof.is(IN_PART, &["static", "but 2 processes of its tree had small allocations served"]);
}

// ---- Early ends -------------------------------------------------------------------------------------------------------

#[test]
fn an_early_end_does_not_hide_what_was_served() {
    proof("dash", ["-c", "x=1"]).is(SERVED, &["of dash (pid ", "(not counted)"]);
    proof(PYTHON, ["-c", "import os; os._exit(0)"]).is(SERVED, &["of python3"]);
    let killed = proof("bash", ["-c", "kill -9 $$"]);
    killed.is(SERVED, &["of bash (pid "]);
    assert!(killed.report.contains("It was ended by signal 9 (SIGKILL)\n"), "{}", killed.report);
    proof(PYTHON, ["-c", "import os; os.abort()"]).is(SERVED, &["of python3"]);
    // Without a block there is nothing to be seen.
    proof(fixture("check_hello.c", &["-DEARLY", "-DSILENT"]), [])
        .is(COULD_NOT_TELL, &["loaded into program", "ended by _exit"]);
}

#[test]
fn a_record_that_could_not_be_written_is_no_proof_of_absence() {
    let text = format!("rm -r \"${{JESHIM_REPORT%/*}}\"; exec {PYTHON} -c 'print(1)'");
    proof("bash", ["-c", &text]).is(COULD_NOT_TELL, &["the library was loaded", "no record of it could be written"]);
}

#[test]
fn a_daemon_is_followed() {
    // It leaves its parent, and works for a while.
    let code = "import os, time\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\ntime.sleep(1)\nx = [bytes(i) for i in range(400)]";
    let mut command = jeshim();
    command
        .args(["check", "--for", "20s", "--lib"])
        .arg(library())
        .args(["--", PYTHON, "-c", code])
        .stdin(Stdio::null());
    let start = Instant::now();
    let followed = Proof::of(&mut command);
    followed.is(SERVED, &["of python3"]);
    assert!(start.elapsed() < Duration::from_secs(15), "it does not wait longer than the daemon runs");
    assert!(!followed.report.contains("run still"), "{}", followed.report);
    assert!(Proof::of(check(PYTHON).args(["-c", code])).report.contains("1 process of the tree run"), "not followed");
}

// ---- Privileges -----------------------------------------------------------------------------------------------------------

/// A folder that every user may enter, with the script and the library; removed at the end.
pub(crate) struct PublicFolder(PathBuf);

impl PublicFolder {
    pub(crate) fn new(name: &str) -> PublicFolder {
        let folder = std::env::temp_dir().join(format!("jeshim-test-{name}-{}", std::process::id()));
        fs::create_dir(&folder).expect("a folder of our own");
        let folder = PublicFolder(folder);
        folder.open(&folder.0);
        folder.take(Path::new(env!("CARGO_BIN_EXE_jeshim")));
        folder.take(&library());
        folder
    }

    fn open(&self, path: &Path) {
        fs::set_permissions(path, Permissions::from_mode(0o755)).expect("a mode");
    }

    /// Copies a file.
    pub(crate) fn take(&self, file: &Path) -> PathBuf {
        let copy = self.0.join(file.file_name().expect("a file name"));
        fs::copy(file, &copy).expect("a copy");
        self.open(&copy);
        copy
    }

    fn jeshim(&self) -> PathBuf {
        self.0.join("jeshim")
    }

    /// The command, run by somebody who is not root.
    pub(crate) fn check_unprivileged(&self, program: &Path) -> Command {
        let mut command = if is_root() { self.as_nobody(&self.jeshim()) } else { plain(self.jeshim()) };
        command.current_dir("/").args(["check", "--lib"]).arg(self.0.join("libjeshim.so")).arg("--").arg(program);
        command
    }

    fn as_nobody(&self, program: &Path) -> Command {
        let mut command = plain("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program).current_dir("/");
        command
    }
}

impl Drop for PublicFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_setuid_program_is_not_served() {
    let su = Path::new(installed("/bin/su", "util-linux"));
    let folder = PublicFolder::new("setuid");
    let proof = Proof::of(folder.check_unprivileged(su).arg("--version"));
    proof.is(NOT_SERVED, &["/su", "setuid"]);
    assert!(proof.stdout.starts_with("su from util-linux"), "{}", proof.stdout);
}

#[test]
fn root_gains_nothing_by_a_setuid_program_of_root_and_is_served() {
    if !is_root() {
        println!("not root: not tested");
        return;
    }
    proof(installed("/bin/su", "util-linux"), ["--version"]).is(SERVED, &["of su (pid "]);
    // So it is not the cause here.
    let copy = scratch("check").join("busybox");
    fs::copy(installed("/bin/busybox", "busybox-static"), &copy).expect("a copy");
    fs::set_permissions(&copy, Permissions::from_mode(0o4755)).expect("a mode");
    proof(&copy, ["true"]).is(NOT_SERVED, &["is a static program"]);
}

#[test]
fn a_program_with_file_capabilities_is_not_served() {
    if !is_root() {
        println!("only root can give capabilities to a file: not tested");
        return;
    }
    let folder = PublicFolder::new("capabilities");
    let cat = folder.take(Path::new("/bin/cat"));
    installed("/sbin/setcap", "libcap2-bin");
    succeed(Command::new("/sbin/setcap").arg("cap_net_raw+ep").arg(&cat));
    // The dynamic linker shows this to everybody but the privileged.
    let shown = succeed(folder.as_nobody(Path::new("env")).arg("LD_SHOW_AUXV=1").arg(&cat).arg("/dev/null"));
    if shown.contains("AT_SECURE") {
        println!("{} is mounted nosuid: not tested", folder.0.display());
        return;
    }
    let proof = Proof::of(folder.check_unprivileged(&cat).arg("/etc/passwd"));
    proof.is(NOT_SERVED, &["/cat", "capabilities"]);
}

#[test]
fn a_program_that_gives_root_up_before_it_execs_is_served() {
    if !is_root() {
        println!("not root: not tested");
        return;
    }
    let folder = PublicFolder::new("gives-up");
    let mut command = plain(folder.jeshim());
    command.args(["check", "--lib"]).arg(folder.0.join("libjeshim.so")).current_dir("/");
    command.args([
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        PYTHON,
        "-c",
        "import os; print(os.getuid())",
    ]);
    let proof = Proof::of(&mut command);
    proof.is(SERVED, &["of python3", "started as setpriv"]);
    assert_eq!(proof.stdout, "65534\n");
}

#[test]
fn a_library_that_the_programs_user_may_not_read_is_named_as_the_cause() {
    if !is_root() {
        println!("not root: not tested");
        return;
    }
    let folder = PublicFolder::new("unreadable");
    let hidden = folder.0.join("hidden");
    fs::create_dir(&hidden).expect("a folder");
    fs::set_permissions(&hidden, Permissions::from_mode(0o700)).expect("a mode");
    fs::copy(library(), hidden.join("libjeshim.so")).expect("a copy");
    let mut command = plain(folder.jeshim());
    command.args(["check", "--lib"]).arg(hidden.join("libjeshim.so")).current_dir("/");
    command.args(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/bin/sleep", "1"]);
    let words = ["/sleep", "/hidden/libjeshim.so", "may not read"];
    Proof::of(&mut command).is(NOT_SERVED, &words);
}
