//! Options: where they come from, in which order, from which moment on; and what is said about mistakes.

use crate::harness::{fixture, library, plain, preloaded, scratch, stderr, stdout, succeed};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Says, past the test harness, which hides what a passing test prints, why something was not tested.
fn skip(test: &str, reason: &str) {
    let _ = writeln!(std::io::stderr(), "NOT TESTED: {test}: {reason}");
}

fn is_root() -> bool {
    stdout(&succeed(plain("id").arg("-u"))) == "0\n"
}

/// The fixture that shows options, linked with the library, and with the given definitions of jemalloc's variables.
fn linked(name: &str, definitions: &[&str]) -> PathBuf {
    let folder = library().parent().expect("a folder").to_str().expect("a path in UTF-8").to_owned();
    let link = [format!("-L{folder}"), "-ljeshim".into(), format!("-Wl,-rpath,{folder}")];
    let link: Vec<&str> = link.iter().map(String::as_str).collect();
    fixture(name, &[definitions, &["-w", "-DLINKED"], &link].concat())
}

/// What the fixture shows, run with the given `MALLOC_CONF`, none when it is empty.
fn shown(mut command: Command, conf: &str, arguments: &[&str]) -> String {
    if !conf.is_empty() {
        command.env("MALLOC_CONF", conf);
    }
    let output = succeed(command.args(arguments));
    assert_eq!(stderr(&output), "", "{command:?}");
    stdout(&output)
}

#[test]
fn malloc_conf_is_obeyed_from_the_first_allocation() {
    let program = fixture("options_show.c", &[]);
    let names = ["opt.narenas", "opt.dirty_decay_ms", "opt.tcache", "opt.junk"];
    let conf = "narenas:3,dirty_decay_ms:123,tcache:false,junk:free";
    let expected = "opt.narenas=3\nopt.dirty_decay_ms=123\nopt.tcache=false\nopt.junk=free\n";
    assert_eq!(shown(preloaded(&program), conf, &names), expected);
    assert_eq!(
        shown(preloaded(&program), "", &names[1..]),
        "opt.dirty_decay_ms=10000\nopt.tcache=true\nopt.junk=false\n"
    );
}

#[test]
fn malloc_conf_is_obeyed_before_libc_is_initialised() {
    let program = fixture("options_early.c", &[]);
    assert_eq!(shown(preloaded(&program), "narenas:3", &[]), "opt.narenas=3\n");
    assert_eq!(shown(preloaded(&program), "narenas:4", &[]), "opt.narenas=4\n");
}

#[test]
fn malloc_conf_is_obeyed_in_constructors_that_run_before_ours() {
    let other = fixture("options_constructor.c", &["-shared", "-fPIC"]);
    let [other, library] = [other.display().to_string(), library().display().to_string()];
    for preload in [format!("{other}:{library}"), format!("{library}:{other}")] {
        let mut command = plain("true");
        command.env("LD_PRELOAD", &preload);
        assert_eq!(shown(command, "narenas:3", &[]), "opt.narenas=3\n", "{preload}");
    }
}

#[test]
fn a_long_malloc_conf_is_read_whole_at_every_stage() {
    let show = fixture("options_show.c", &[]);
    let early = fixture("options_early.c", &[]);
    for count in [90, 110, 408, 500, 1500, 3000, 12_000] {
        let conf = "narenas:3,".repeat(count) + "narenas:7";
        assert_eq!(shown(preloaded(&show), &conf, &["opt.narenas"]), "opt.narenas=7\n", "{} bytes", conf.len());
        if conf.len() < 16 * 1024 {
            assert_eq!(shown(preloaded(&early), &conf, &[]), "opt.narenas=7\n", "{} bytes, early", conf.len());
            continue;
        }
        // Before libc has started there is no room for more: then nothing of it is read, and that is said.
        let output = succeed(preloaded(&early).env("MALLOC_CONF", &conf));
        assert_eq!(stdout(&output), shown(preloaded(&early), "", &[]), "{} bytes, early", conf.len());
        let text = stderr(&output);
        assert!(text.lines().count() == 1 && text.contains("MALLOC_CONF is too long"), "{text}");
    }
}

#[test]
fn what_a_program_puts_into_its_environment_is_for_its_children() {
    let program = fixture("options_show.c", &[]);
    let arguments = ["opt.narenas", "MALLOC_CONF=narenas:9", "opt.narenas", "exec", "opt.narenas"];
    let expected = "opt.narenas=3\nopt.narenas=3\nopt.narenas=9\n";
    assert_eq!(shown(preloaded(&program), "narenas:3", &arguments), expected);
}

#[test]
fn a_programs_own_malloc_conf_is_honoured() {
    for kind in ["-pie", "-no-pie"] {
        let program = linked("options_show.c", &["-DPROGRAM_CONF=\"narenas:3,dirty_decay_ms:123\"", kind, "-fPIE"]);
        let names = ["opt.narenas", "opt.dirty_decay_ms"];
        assert_eq!(shown(plain(&program), "", &names), "opt.narenas=3\nopt.dirty_decay_ms=123\n", "{kind}");
        // One option at a time: what the environment does not mention stays.
        assert_eq!(shown(plain(&program), "narenas:5", &names), "opt.narenas=5\nopt.dirty_decay_ms=123\n", "{kind}");
        let harder = linked(
            "options_show.c",
            &["-DPROGRAM_CONF=\"narenas:3,dirty_decay_ms:123\"", "-DHARDER_CONF=\"narenas:6\"", kind, "-fPIE"],
        );
        assert_eq!(shown(plain(&harder), "narenas:5", &names), "opt.narenas=6\nopt.dirty_decay_ms=123\n", "{kind}");
    }
    // NULL, or nothing in it.
    let empty = linked("options_show.c", &["-DPROGRAM_CONF=\"\""]);
    assert_eq!(shown(plain(&empty), "narenas:5", &["opt.narenas"]), "opt.narenas=5\n");
    let null = linked("options_show.c", &["-DPROGRAM_CONF=0"]);
    assert_eq!(shown(plain(&null), "narenas:5", &["opt.narenas"]), "opt.narenas=5\n");
}

/// A command that runs another one, in a mount namespace of its own, after `mount --bind FROM TO` for each pair; the
/// machine is not disturbed. `None`, said aloud, where that is not allowed.
fn with_mounts(test: &str, mounts: &[(&Path, &str)]) -> Option<Command> {
    let mut command = plain("unshare");
    // Without root: in a user namespace, where this user is root.
    command.arg(if is_root() { "-m" } else { "-rm" });
    let script = "while [ \"$1\" != -- ]; do mount --bind \"$1\" \"$2\" || exit 99; shift 2; done; shift; exec \"$@\"";
    command.args(["sh", "-c", script, "sh"]);
    for (from, to) in mounts {
        command.arg(from).arg(to);
    }
    command.arg("--");
    let mut probe = Command::new(command.get_program());
    let probed = probe.args(command.get_args()).arg("true").output();
    match probed {
        Ok(output) if output.status.success() => Some(command),
        Ok(output) => {
            skip(test, &format!("no mount namespace here: {}", stderr(&output).trim()));
            None
        }
        Err(error) => {
            skip(test, &format!("unshare does not start: {error}"));
            None
        }
    }
}

/// A folder to be mounted over /etc, with what a program needs to start.
fn etc() -> PathBuf {
    let folder = scratch("etc");
    let _ = fs::copy("/etc/ld.so.cache", folder.join("ld.so.cache"));
    folder
}

#[test]
fn sources_rank_program_then_etc_then_environment_then_harder() {
    let test = "sources_rank_program_then_etc_then_environment_then_harder";
    let program = linked("options_show.c", &["-DPROGRAM_CONF=\"narenas:3\""]);
    let without = linked("options_show.c", &[]);
    let harder = linked("options_show.c", &["-DPROGRAM_CONF=\"narenas:3\"", "-DHARDER_CONF=\"narenas:6\""]);
    let folder = etc();
    symlink("narenas:4", folder.join("malloc.conf")).expect("a symbolic link");
    let Some(command) = with_mounts(test, &[(&folder, "/etc")]) else { return };
    let run = |program: &Path, conf: &str| {
        let mut inner = Command::new(command.get_program());
        inner.args(command.get_args()).arg("env").arg(format!("MALLOC_CONF={conf}")).arg(program);
        shown(inner, "", &["opt.narenas"])
    };
    assert_eq!(shown(plain(&program), "", &["opt.narenas"]), "opt.narenas=3\n");
    assert_eq!(run(&without, ""), "opt.narenas=4\n");
    assert_eq!(run(&program, ""), "opt.narenas=4\n");
    assert_eq!(run(&program, "narenas:5"), "opt.narenas=5\n");
    assert_eq!(run(&harder, "narenas:5"), "opt.narenas=6\n");
}

#[test]
fn etc_malloc_conf_is_read_when_the_library_is_preloaded() {
    let test = "etc_malloc_conf_is_read_when_the_library_is_preloaded";
    let program = fixture("options_show.c", &[]);
    let early = fixture("options_early.c", &[]);
    let preload = format!("LD_PRELOAD={}", library().display());
    let run = |folder: &Path, program: &Path, arguments: &[&str]| {
        let mut command = with_mounts(test, &[(folder, "/etc")])?;
        Some(shown(
            {
                command.args(["env", &preload]).arg(program);
                command
            },
            "",
            arguments,
        ))
    };
    let folder = etc();
    symlink("narenas:4", folder.join("malloc.conf")).expect("a symbolic link");
    let Some(answer) = run(&folder, &program, &["opt.narenas"]) else { return };
    assert_eq!(answer, "opt.narenas=4\n");
    assert_eq!(run(&folder, &early, &[]).expect("as before"), "opt.narenas=4\n");
    // The longest name that a link can have.
    let long = etc();
    let target = "narenas:3,".repeat(400) + "narenas:7";
    symlink(&target, long.join("malloc.conf")).expect("a symbolic link");
    assert_eq!(run(&long, &program, &["opt.narenas"]).expect("as before"), "opt.narenas=7\n");
    // A file is not a link: nothing is read, nothing said.
    let file = etc();
    fs::write(file.join("malloc.conf"), "narenas:4").expect("a file");
    assert_eq!(run(&file, &program, &["opt.dirty_decay_ms"]).expect("as before"), "opt.dirty_decay_ms=10000\n");
}

/// A folder that every user can reach, with the library in it; removed at the end.
struct Public(PathBuf);

impl Public {
    fn new() -> Public {
        let folder = std::env::temp_dir().join(format!("jeshim-test-{}", std::process::id()));
        fs::create_dir(&folder).expect("a folder");
        let public = Public(folder);
        fs::set_permissions(&public.0, fs::Permissions::from_mode(0o755)).expect("permissions");
        public.copy(&library(), "libjeshim.so", 0o755);
        public
    }

    fn copy(&self, from: &Path, name: &str, mode: u32) -> PathBuf {
        let to = self.0.join(name);
        fs::copy(from, &to).expect("a copy");
        fs::set_permissions(&to, fs::Permissions::from_mode(mode)).expect("permissions");
        to
    }
}

impl Drop for Public {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_setuid_program_ignores_the_environment() {
    let test = "a_setuid_program_ignores_the_environment";
    if !is_root() {
        return skip(test, "only root can make a setuid-root program; run as root");
    }
    let public = Public::new();
    let folder = public.0.to_str().expect("a path in UTF-8");
    let rpath = format!("-Wl,-rpath,{folder}");
    let program = linked("options_show.c", &["-DPROGRAM_CONF=\"narenas:3\"", &rpath]);
    let ordinary = public.copy(&program, "ordinary", 0o755);
    let setuid = public.copy(&program, "setuid", 0o4755);
    let report = public.0.join("reports");
    fs::create_dir(&report).expect("a folder");
    fs::set_permissions(&report, fs::Permissions::from_mode(0o777)).expect("permissions");
    let run = |program: &Path, record: &str| {
        let mut command = plain("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(program);
        command.env("JESHIM_REPORT", report.join(record)).env("JESHIM_DEEPBIND", "nonsense");
        command.env("JESHIM_CHILDREN", "nonsense").env("MALLOC_CONF", "narenas:5,no_such:1");
        let output = succeed(command.args(["secure", "opt.narenas"]));
        (stdout(&output), stderr(&output), report.join(record).exists())
    };
    let (out, err, recorded) = run(&ordinary, "ordinary");
    assert_eq!(out, "secure=0\nopt.narenas=5\n");
    assert!(recorded && err.lines().count() == 3, "{recorded} {err}");
    let (out, err, recorded) = run(&setuid, "setuid");
    if out.starts_with("secure=0") {
        return skip(test, &format!("{folder} is on a file system mounted with nosuid"));
    }
    assert_eq!((out.as_str(), err.as_str(), recorded), ("secure=1\nopt.narenas=3\n", "", false));
}

/// The line that `confirm_conf:true` prints of a source, 1 to 5.
fn confirmed(output: &Output, source: u32) -> String {
    let text = stderr(output);
    let start = format!("<jemalloc>: malloc_conf #{source} (");
    let line =
        text.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("no source {source}: {text}"));
    line.split_once("): ").expect("a value").1.to_owned()
}

#[test]
fn confirm_conf_shows_every_source() {
    let program = linked("options_show.c", &["-DPROGRAM_CONF=\"narenas:3\"", "-DHARDER_CONF=\"narenas:6\""]);
    let output = succeed(plain(&program).env("MALLOC_CONF", "confirm_conf:true,narenas:5"));
    assert!(confirmed(&output, 2).contains("narenas:3"), "{}", stderr(&output));
    assert_eq!(confirmed(&output, 4), "\"confirm_conf:true,narenas:5\"");
    assert_eq!(confirmed(&output, 5), "\"narenas:6\"");
    assert!(stderr(&output).contains("<jemalloc>: -- Set conf value: narenas:6\n"), "{}", stderr(&output));
}

fn cpus() -> usize {
    stdout(&succeed(plain("nproc").env_remove("OMP_NUM_THREADS").env_remove("OMP_THREAD_LIMIT")))
        .trim()
        .parse()
        .expect("a number")
}

/// What a program says whose sources are confirmed, run by the given command.
fn with_defaults(mut command: Command, program: &Path, conf: &str) -> Output {
    command.arg("env").arg(format!("LD_PRELOAD={}", library().display()));
    command.arg(format!("MALLOC_CONF=confirm_conf:true{conf}")).arg(program).arg("opt.narenas");
    succeed(&mut command)
}

#[test]
fn the_quota_of_a_control_group_sets_the_number_of_arenas() {
    let test = "the_quota_of_a_control_group_sets_the_number_of_arenas";
    if cpus() < 2 {
        return skip(test, "one CPU: no quota is tighter");
    }
    let Some(group) = Group::new(test) else { return };
    let program = fixture("options_show.c", &[]);
    for (quota, arenas) in [(50_000, 1), (100_000, 1), (150_000, 8)] {
        group.set(quota);
        let run = |conf: &str| {
            let mut command = plain("sh");
            command.args(["-c", "echo $$ >\"$0/cgroup.procs\" && exec \"$@\""]).arg(&group.folder);
            with_defaults(command, &program, conf)
        };
        // With a CPU for each that the quota allows, nothing is left to correct.
        if cpus() <= quota.div_ceil(100_000) {
            assert_eq!(confirmed(&run(""), 2), "\"\"", "{quota}");
            continue;
        }
        let output = run("");
        assert!(confirmed(&output, 2).starts_with("\"narenas_ratio:"), "{quota}: {}", stderr(&output));
        assert_eq!(stdout(&output), format!("opt.narenas={arenas}\n"));
        // What the user says wins.
        assert_eq!(stdout(&run(",narenas:7")), "opt.narenas=7\n");
    }
}

/// A control group of the test's own, of version 2 or 1, removed at the end.
struct Group {
    folder: PathBuf,
    v2: bool,
}

impl Group {
    fn new(test: &str) -> Option<Group> {
        let name = format!("jeshim-test-{}", std::process::id());
        let v2 = fs::read_to_string("/sys/fs/cgroup/cgroup.subtree_control").is_ok_and(|text| text.contains("cpu"));
        let mount = if v2 { "/sys/fs/cgroup" } else { "/sys/fs/cgroup/cpu" };
        let folder = Path::new(mount).join(name);
        if let Err(error) = fs::create_dir(&folder) {
            skip(test, &format!("no control group can be made in {mount}: {error}; run as root on a host"));
            return None;
        }
        let group = Group { folder, v2 };
        if let Err(error) = group.try_set(50_000) {
            skip(test, &format!("the control group takes no CPU quota: {error}"));
            return None;
        }
        Some(group)
    }

    fn try_set(&self, quota: usize) -> std::io::Result<()> {
        if self.v2 {
            fs::write(self.folder.join("cpu.max"), format!("{quota} 100000"))
        } else {
            fs::write(self.folder.join("cpu.cfs_period_us"), "100000")?;
            fs::write(self.folder.join("cpu.cfs_quota_us"), quota.to_string())
        }
    }

    fn set(&self, quota: usize) {
        self.try_set(quota).expect("a quota");
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
    }
}

#[test]
fn the_quota_is_found_where_a_container_sees_it() {
    let test = "the_quota_is_found_where_a_container_sees_it";
    if cpus() < 2 {
        return skip(test, "one CPU: no quota is tighter");
    }
    let program = fixture("options_show.c", &[]);
    // Version 2: the container's own group is at the mount point, and its path the host's, or "/".
    let v2 = scratch("cgroup");
    fs::write(v2.join("cpu.max"), "50000 100000\n").expect("a file");
    let Some(command) = with_mounts(test, &[(&v2, "/sys/fs/cgroup")]) else { return };
    if fs::read_to_string("/proc/self/cgroup").is_ok_and(|text| text.lines().any(|line| line.starts_with("0::"))) {
        let output = with_defaults(command, &program, "");
        assert!(confirmed(&output, 2).starts_with("\"narenas_ratio:"), "{}", stderr(&output));
        assert_eq!(stdout(&output), "opt.narenas=1\n");
        let none = scratch("cgroup");
        fs::write(none.join("cpu.max"), "max 100000\n").expect("a file");
        let command = with_mounts(test, &[(&none, "/sys/fs/cgroup")]).expect("as before");
        assert_eq!(confirmed(&with_defaults(command, &program, ""), 2), "\"\"");
    } else {
        skip(test, "this kernel has no control groups of version 2");
    }
}

#[test]
fn a_program_with_options_of_its_own_keeps_our_defaults() {
    let test = "a_program_with_options_of_its_own_keeps_our_defaults";
    if cpus() < 2 {
        return skip(test, "one CPU: no quota is tighter");
    }
    let folder = scratch("cgroup");
    fs::write(folder.join("cpu.max"), "50000 100000\n").expect("a file");
    let Some(mut command) = with_mounts(test, &[(&folder, "/sys/fs/cgroup")]) else { return };
    let decay = linked("options_show.c", &["-DPROGRAM_CONF=\"dirty_decay_ms:123\""]);
    let answer = shown(
        {
            command.arg(decay);
            command
        },
        "",
        &["opt.narenas", "opt.dirty_decay_ms"],
    );
    assert_eq!(answer, "opt.narenas=1\nopt.dirty_decay_ms=123\n");
    let arenas = linked("options_show.c", &["-DPROGRAM_CONF=\"narenas:3\""]);
    let mut command = with_mounts(test, &[(&folder, "/sys/fs/cgroup")]).expect("as before");
    assert_eq!(
        shown(
            {
                command.arg(arenas);
                command
            },
            "",
            &["opt.narenas"]
        ),
        "opt.narenas=3\n"
    );
}

/// A program that writes on both streams and exits with 3.
fn speak(mut command: Command) -> (String, Vec<String>, Option<i32>) {
    let output = command.args(["-c", "echo out; echo err >&2; exit 3"]).output().expect("sh");
    (stdout(&output), stderr(&output).lines().map(str::to_owned).collect(), output.status.code())
}

#[test]
fn a_mistake_in_the_options_is_one_line_with_cause_and_remedy() {
    let long = "k".repeat(600) + ":1";
    let very_long = "no_such:".to_owned() + &"v".repeat(6000);
    let mistakes: [(&str, &str); 19] = [
        ("no_such_option:1", "no_such_option:1"),
        ("narenas:3,no_such_option:1,dirty_decay_ms:5", "no_such_option:1"),
        ("narenas:abc", "narenas:abc"),
        ("narenas:", "narenas:"),
        ("narenas", "narenas"),
        ("narenas:3,", "narenas:3,"),
        ("narenas=3", "narenas="),
        (" narenas:3", "Malformed"),
        ("narenas:3 ", "narenas:3 "),
        ("\u{201c}narenas:3\u{201d}", "Malformed"),
        (",", "Malformed"),
        ("junk:maybe", "junk:maybe"),
        ("narenas:3;junk:true", "narenas:3;junk:true"),
        ("dirty_decay_ms:-5", "dirty_decay_ms:-5"),
        ("narenas:99999999999999999999", "narenas:99999999999999999999"),
        ("narenas:3\n", "narenas:3"),
        ("no_such:\u{1b}[31m", "no_such:"),
        (&long, "kkkk"),
        (&very_long, "no_such:vvvv"),
    ];
    let mut wrong = Vec::new();
    for (conf, named) in mistakes {
        let (out, err, code) = speak({
            let mut command = preloaded("sh");
            command.env("MALLOC_CONF", conf);
            command
        });
        assert_eq!((out.as_str(), code), ("out\n", Some(3)), "{conf}");
        let shown: Vec<String> = err.iter().map(|line| line.chars().take(300).collect()).collect();
        let [line, last] = &err[..] else {
            wrong.push(format!("{conf:.40?}: {} lines: {shown:#?}", err.len() - 1));
            continue;
        };
        assert_eq!(last, "err", "{conf}");
        let remedied = line.contains("MALLOC_CONF") && line.contains("jemalloc");
        let clean = !line.chars().any(char::is_control);
        if !line.contains(named) || !remedied || !clean {
            wrong.push(format!("{conf:.40?}: {shown:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn options_without_a_mistake_are_not_spoken_of() {
    for conf in ["", ":", "narenas:3", "narenas:3,dirty_decay_ms:-1", "background_thread:true", "prof:false"] {
        let mut command = preloaded("sh");
        command.env("MALLOC_CONF", conf);
        assert_eq!(speak(command), ("out\n".into(), vec!["err".into()], Some(3)), "{conf}");
    }
}

#[test]
fn a_programs_malloc_message_receives_what_jemalloc_says() {
    let told = |output: &Output| (stdout(output), stderr(output));
    for kind in ["-pie", "-no-pie"] {
        let program = linked("options_messages.c", &[kind, "-fPIE"]);
        let output = succeed(plain(&program).env("MALLOC_CONF", "no_such_option:1"));
        let expected = ("<jemalloc>: Invalid conf pair: no_such_option:1\npassed\n".to_owned(), String::new());
        assert_eq!(told(&output), expected, "{kind}");
        let assigned = linked("options_messages.c", &[kind, "-fPIE", "-DASSIGNED"]);
        assert_eq!(told(&succeed(&mut plain(&assigned))), ("passed\n".into(), String::new()), "{kind}");
    }
}
