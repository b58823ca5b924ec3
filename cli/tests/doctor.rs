//! `jeshim doctor` on this machine: real libraries, real limits, real users.

use crate::harness::{compile, jeshim, library, plain, scratch};
use serde_json::Value;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn doctor(library: &Path) -> Command {
    let mut command = jeshim();
    command.args(["doctor", "--json", "--lib"]).arg(library);
    command
}

/// The exit status, and the findings.
fn run(command: &mut Command) -> (i32, Value) {
    let output = command.output().unwrap();
    let Output { status, stdout, stderr } = output;
    let json = serde_json::from_slice(&stdout);
    let json = json.unwrap_or_else(|error| panic!("{error}: {status}, {}", String::from_utf8_lossy(&stderr)));
    (status.code().unwrap(), json)
}

/// "state: message; remedy"
fn said(json: &Value, id: &str) -> String {
    let findings = json["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["id"] == id).unwrap_or_else(|| panic!("no finding {id}"));
    let text = |name: &str| finding[name].as_str().unwrap_or("none").to_owned();
    format!("{}: {}; {}", text("state"), text("message"), text("remedy"))
}

#[track_caller]
fn assert_said(json: &Value, id: &str, parts: &[&str]) {
    let said = said(json, id);
    for part in parts {
        assert!(said.contains(part), "{id} is not {part:?} but {said}");
    }
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().unwrap();
    output.stdout == b"0\n"
}

/// A folder that every user can enter, with the command and the library in it.
fn for_everybody() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let mode = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    mode(folder.path(), 0o755);
    for (from, name) in [(PathBuf::from(env!("CARGO_BIN_EXE_jeshim")), "jeshim"), (library(), "libjeshim.so")] {
        std::fs::copy(from, folder.path().join(name)).unwrap();
        mode(&folder.path().join(name), 0o755);
    }
    let path = folder.path().join("libjeshim.so");
    (folder, path)
}

fn as_nobody(folder: &Path) -> Command {
    let mut command = plain("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(folder.join("jeshim"));
    command.args(["doctor", "--json"]).current_dir("/");
    command
}

#[test]
fn every_check_answers_and_the_library_is_seen_to_serve() {
    let (status, json) = run(&mut doctor(&library()));
    assert_eq!(status, 0, "{json:#}");
    let ids: Vec<&str> = json["findings"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect();
    let expected: Vec<&str> = jeshim_cli::doctor::CHECKS.iter().map(|check| check.id).collect();
    assert_eq!(ids, expected);
    assert_said(&json, "library", &["ok: ", "libjeshim.so: jeshim 0.1.0 with jemalloc 5.3.1"]);
    assert_said(&json, "loads", &["ok: ", "small allocations served"]);
    let facts =
        |id: &str| json["findings"].as_array().unwrap().iter().find(|it| it["id"] == id).unwrap()["facts"].clone();
    assert_eq!(facts("loads")["bound"], facts("loads")["of"]);
    assert!(facts("loads")["small_allocations"].as_u64().unwrap() > 10);
    assert!(facts("arenas")["narenas"].as_u64().unwrap() > 0);
}

#[test]
fn a_line_a_finding_without_colours_when_no_terminal_reads() {
    let output = jeshim().args(["doctor", "--lib"]).arg(library()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains('\x1b'));
    let of_findings = text.lines().filter(|line| line.starts_with("  ")).count();
    assert_eq!(of_findings, jeshim_cli::doctor::CHECKS.len(), "{text}");
    assert!(text.lines().last().unwrap().starts_with("no problem, "), "{text}");
}

#[test]
fn it_takes_less_than_a_fifth_of_a_second() {
    let times = (0..5).map(|_| {
        let began = Instant::now();
        run(&mut doctor(&library()));
        began.elapsed()
    });
    let best = times.min().unwrap();
    assert!(best < Duration::from_millis(200), "{best:?}");
}

#[test]
fn another_user_gets_answers_too() {
    if !is_root() {
        return;
    }
    let (folder, library) = for_everybody();
    let (status, json) = run(&mut as_nobody(folder.path()));
    assert_eq!(status, 0, "{json:#}");
    assert_said(&json, "loads", &["ok: ", "small allocations served"]);
    assert_said(&json, "readable", &["ok: "]);

    std::fs::set_permissions(&library, PermissionsExt::from_mode(0o700)).unwrap();
    let (status, json) = run(as_nobody(folder.path()).arg("--lib").arg(&library));
    assert_eq!(status, 1, "{json:#}");
    assert_said(&json, "library", &["problem: ", "Permission denied"]);
}

#[test]
fn a_library_that_others_cannot_read_or_everybody_can_change_is_noted() {
    let (folder, library) = for_everybody();
    let mode = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    for (path, bits, expected) in [
        (library.as_path(), 0o700, ["note: ", "libjeshim.so has mode 0700", "/usr/local/lib/jeshim"]),
        (library.as_path(), 0o757, ["note: ", "every user can write", "chmod o-w"]),
        (folder.path(), 0o750, ["note: ", "has mode 0750", "/usr/local/lib/jeshim"]),
    ] {
        mode(path, bits);
        let (status, json) = run(&mut doctor(&library));
        mode(path, 0o755);
        assert_eq!(status, 0, "{json:#}");
        assert_said(&json, "readable", &expected);
    }
}

#[test]
fn a_library_of_another_word_size_is_the_loaders_to_refuse() {
    let about = r#"__attribute__((section(".jeshim.about"), used)) static const char about[] =
        "jeshim 0.1.0\njemalloc 5.3.1\npage 4096\n";"#;
    let library = compile(about, &["-m32", "-shared", "-nostdlib"]);
    let (status, json) = run(&mut doctor(&library));
    assert_eq!(status, 1, "{json:#}");
    assert_said(&json, "loads", &["problem: ", "wrong ELF class: ELFCLASS32", "--lib PATH"]);
}

#[test]
fn a_damaged_file_another_library_and_none_are_problems() {
    let folder = scratch("doctor");
    let whole = std::fs::read(library()).unwrap();
    std::fs::write(folder.join("half.so"), &whole[..whole.len() / 2]).unwrap();
    std::fs::write(folder.join("text.so"), "text").unwrap();
    std::fs::write(folder.join("empty.so"), "").unwrap();
    for (path, part) in [
        (folder.join("half.so"), "is not jeshim's library"),
        (folder.join("text.so"), "is not jeshim's library"),
        (folder.join("empty.so"), "is not jeshim's library"),
        (compile("int answer;\n", &["-shared"]), "its section .jeshim.about is missing"),
        (folder.join("none.so"), "No such file"),
        (folder.clone(), "is not a file"),
    ] {
        let (status, json) = run(&mut doctor(&path));
        assert_eq!(status, 1, "{json:#}");
        assert_said(&json, "library", &["problem: ", part, "--lib PATH"]);
        assert_said(&json, "loads", &["unknown: ", "there is no library"]);
    }
    std::fs::copy(env!("CARGO_BIN_EXE_jeshim"), folder.join("jeshim")).unwrap();
    let mut alone = plain(folder.join("jeshim"));
    alone.args(["doctor", "--json"]).current_dir(&folder).env_remove("CARGO_TARGET_DIR");
    let (status, json) = run(&mut alone);
    assert_eq!(status, 1, "{json:#}");
    assert_said(&json, "library", &["problem: no libjeshim.so beside this command", "cargo build --release"]);
}

#[test]
fn a_path_that_ld_preload_cannot_name_is_no_obstacle() {
    let link = scratch("doctor").join("a folder: with blanks");
    std::fs::create_dir(&link).unwrap();
    let copy = link.join("libjeshim.so");
    std::fs::copy(library(), &copy).unwrap();
    let (status, json) = run(&mut doctor(&copy));
    assert_eq!(status, 0, "{json:#}");
    assert_said(&json, "loads", &["ok: ", "small allocations served"]);
}

#[test]
fn small_limits_are_noted() {
    let with = |limit: &str| {
        let mut shell = plain("bash");
        shell.args(["-c", &format!("ulimit {limit}; exec \"$0\" doctor --json --lib \"$1\"")]);
        shell.arg(env!("CARGO_BIN_EXE_jeshim")).arg(library());
        run(&mut shell)
    };
    for (limit, id, part) in [
        ("-v 2000000", "limit_address_space", "limited to 1.91 GiB"),
        ("-d 1000000", "limit_data", "limited to 976.56 MiB"),
        ("-s 255", "limit_stack", "limited to 255.00 KiB"),
        ("-f 4", "limit_file_size", "proof records do not fit"),
    ] {
        let (status, json) = with(limit);
        assert_eq!(status, 0, "{json:#}");
        assert_said(&json, id, &["note: ", part, "ulimit "]);
    }
    let (_, json) = with("-f 0");
    assert_said(&json, "loads", &["note: ", "had it, but no record"]);
    let (_, json) = with("-c 100");
    assert_said(&json, "limit_core", &["ok: ", "KiB"]);
}

#[test]
fn variables_are_judged() {
    let cases: [(&str, &str, &str, &[&str]); 14] = [
        ("MALLOC_CONF", "dirty_decay_ms:1000", "malloc_conf", &["ok: "]),
        ("MALLOC_CONF", "dirty_decay:1000", "malloc_conf", &["problem: ", "dirty_decay_ms"]),
        ("MALLOC_CONF", "narenas=3", "malloc_conf", &["problem: "]),
        ("_RJEM_MALLOC_CONF", "narenas:3", "rjem_malloc_conf", &["note: ", "does not read it; put"]),
        ("JESHIM_CHILDREN", "strip", "jeshim_variables", &["ok: JESHIM_CHILDREN=strip"]),
        ("JESHIM_CHILDREN", "no", "jeshim_variables", &["problem: ", "does not take 'no'", "inherit or strip"]),
        ("JESHIM_REPROT", "/tmp/x", "jeshim_variables", &["note: ", "JESHIM_REPORT"]),
        ("GLIBC_TUNABLES", "glibc.malloc.arena_max=1", "glibc_tunables", &["note: ", "glibc.malloc.arena_max"]),
        ("GLIBC_TUNABLES", "glibc.rtld.nns=4", "glibc_tunables", &["ok: "]),
        ("MALLOC_ARENA_MAX", "2", "glibc_variables", &["note: ", "narenas:N"]),
        ("MALLOC_PERTURB_", "2", "glibc_variables", &["note: ", "junk:true"]),
        ("LD_PRELOAD", "/nowhere/libx.so", "preload", &["problem: ", "/nowhere/libx.so, which is not there"]),
        ("LD_PRELOAD", "libnowhere.so", "preload", &["problem: ", "libnowhere.so, which is not there"]),
        ("LD_PRELOAD", "libc.so.6", "preload", &["ok: LD_PRELOAD names libc.so.6"]),
    ];
    for (name, value, id, expected) in cases {
        let (status, json) = run(doctor(&library()).env(name, value));
        assert_eq!(status, i32::from(expected[0].starts_with("problem")), "{name}={value} {json:#}");
        assert_said(&json, id, expected);
    }
}

#[test]
fn another_allocator_in_the_variable_is_a_problem_only_before_the_library() {
    let folder = scratch("doctor");
    let other = folder.join("libtcmalloc.so.4");
    std::fs::rename(compile("int nothing;\n", &["-shared"]), &other).unwrap();
    let (ours, other) = (library().display().to_string(), other.display().to_string());
    for (value, status, part) in [
        (format!("{other}:{ours}"), 1, "malloc is taken from that"),
        (format!("{ours} {other}"), 0, "ok: LD_PRELOAD names"),
        (other.clone(), 0, "'jeshim run' puts its library before it"),
    ] {
        let (found, json) = run(doctor(&library()).env("LD_PRELOAD", &value));
        assert_eq!(found, status, "{value} {json:#}");
        assert_said(&json, "preload", &[part]);
    }
}

#[test]
fn a_name_of_any_bytes_is_looked_for_as_it_is() {
    use std::os::unix::ffi::OsStringExt;
    let name = b"/other-\xff.so".to_vec();
    let mut other = scratch("bytes").into_os_string();
    other.push(std::ffi::OsString::from_vec(name));
    std::fs::copy(compile("int nothing;\n", &["-shared"]), &other).unwrap();
    let (_, json) = run(doctor(&library()).env("LD_PRELOAD", &other));
    assert_said(&json, "preload", &["ok: "]);
}

#[test]
fn an_auditor_is_a_problem_until_there_is_room_for_it() {
    let auditor = compile("unsigned la_version(unsigned version) { return version; }\n", &["-shared", "-fPIC"]);
    let (status, json) = run(doctor(&library()).env("LD_AUDIT", &auditor));
    assert_eq!(status, 1, "{json:#}");
    assert_said(&json, "loads", &["problem: ", "static TLS block", "glibc.rtld.optional_static_tls=1024"]);
    assert_said(&json, "ld_audit", &["problem: ", "glibc.rtld.optional_static_tls=1024"]);
    let room = "glibc.rtld.optional_static_tls=1024";
    let (status, json) = run(doctor(&library()).env("LD_AUDIT", &auditor).env("GLIBC_TUNABLES", room));
    assert_eq!(status, 0, "{json:#}");
    assert_said(&json, "ld_audit", &["ok: "]);
}

#[test]
fn a_seccomp_filter_is_noted_with_what_it_takes_away() {
    let program = compile(
        &std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/without_perf.c")).unwrap(),
        &[],
    );
    let mut filtered = plain(program);
    filtered.arg(env!("CARGO_BIN_EXE_jeshim")).args(["doctor", "--json", "--lib"]).arg(library());
    let (status, json) = run(&mut filtered);
    assert_eq!(status, 0, "{json:#}");
    assert_said(&json, "sandbox", &["note: a seccomp filter is on, and the test program ran", "no_new_privs is on"]);
    assert_said(
        &json,
        "perf_events",
        &["note: perf_event_open is not allowed (Operation not permitted", "run it as root"],
    );
}

#[test]
fn an_output_that_cannot_be_written_is_a_failure_and_a_reader_that_leaves_is_not() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = doctor(&library()).stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("standard output cannot be written: No space left on device; "), "{message}");
    let script = "\"$0\" doctor --lib \"$1\" | true; exit ${PIPESTATUS[0]}";
    let mut piped = plain("bash");
    piped.args(["-c", script, env!("CARGO_BIN_EXE_jeshim")]).arg(library());
    let output = piped.output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn a_library_by_a_symbolic_link_is_named_by_its_own_path() {
    let link = scratch("doctor").join("link.so");
    symlink(library(), &link).unwrap();
    let (_, json) = run(&mut doctor(&link));
    assert_said(&json, "library", &["libjeshim.so: jeshim"]);
}

#[test]
fn the_trial_leaves_its_record_in_a_temporary_folder_of_any_name() {
    for name in [&b"100%p"[..], b"\xff%"] {
        let folder = scratch("doctor-percent").join(OsStr::from_bytes(name));
        std::fs::create_dir(&folder).unwrap();
        let (_, json) = run(doctor(&library()).env("TMPDIR", &folder));
        let trial = json["findings"].as_array().unwrap().iter().find(|finding| finding["id"] == "loads").unwrap();
        assert_eq!(trial["state"], "ok", "{}: {trial}", folder.display());
        assert!(std::fs::read_dir(&folder).unwrap().next().is_none(), "nothing stays");
    }
}
