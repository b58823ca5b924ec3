//! What files tell, over real programs.

use crate::harness::{compile, library, plain, scratch};
use jeshim_cli::examine::{self, Effect, Examination, ExamineError, Surroundings};
use jeshim_cli::library::{Library, System};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

fn ours() -> Library {
    Library::read(&library()).expect("the library")
}

fn variables(library: &Library) -> Vec<(OsString, OsString)> {
    vec![
        ("PATH".into(), "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin".into()),
        ("LD_PRELOAD".into(), library.path.clone().into()),
    ]
}

fn try_command(words: &[&str]) -> Result<Examination, ExamineError> {
    let library = ours();
    let around = Surroundings { library: Some(&library), variables: variables(&library) };
    let arguments: Vec<OsString> = words[1..].iter().map(OsString::from).collect();
    examine::command(words[0].as_ref(), &arguments, &around, examine::Depth::Whole)
}

fn command(words: &[&str]) -> Examination {
    try_command(words).unwrap_or_else(|error| panic!("{words:?}: {error}"))
}

fn try_file(path: impl AsRef<Path>) -> Result<Examination, ExamineError> {
    let library = ours();
    let around = Surroundings { library: Some(&library), variables: variables(&library) };
    examine::file(path.as_ref(), &around)
}

fn file(path: impl AsRef<Path>) -> Examination {
    try_file(&path).unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
}

fn ids(examination: &Examination) -> Vec<(&'static str, Effect)> {
    examination.obstacles.iter().map(|obstacle| (obstacle.id, obstacle.effect)).collect()
}

fn executable(folder: &Path, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).expect("a file");
    fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("a mode");
    path
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

const HELLO: &str =
    "#include <stdio.h>\n#include <stdlib.h>\nint main(void) { puts(\"hello\"); return malloc(9) == 0; }\n";
/// An allocator of the program's own; with HIDDEN, out of other objects' sight.
const OWN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/check_own_malloc.c");
/// With GO, Go's mark.
const MARKED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/check_hello.c");

fn last_step(examination: &Examination) -> &str {
    text(&examination.steps.last().expect("a step").path)
}

#[test]
fn nothing_stands_in_the_way_of_programs_that_take_malloc_from_libc() {
    for program in [
        "/usr/bin/gcc",
        "/usr/bin/git",
        "/usr/bin/node",
        "/usr/bin/java",
        "/usr/bin/perl",
        "/usr/bin/python3",
        "/bin/ls",
        "/bin/bash",
        "/usr/bin/sqlite3",
        "/usr/bin/redis-server",
        "/bin/sh",
        "/usr/bin/env",
        "/usr/bin/vim.tiny",
    ] {
        if Path::new(program).exists() {
            assert_eq!(ids(&file(program)), [], "{program}");
        }
    }
    let redis = file("/usr/bin/redis-server");
    assert!(
        redis.notes.iter().any(|note| note.contains("libjemalloc.so.2; a preloaded library comes before")),
        "{:?}",
        redis.notes
    );
    assert!(matches!(redis.target.expect("a target").system, System::Glibc(Some(_))));
}

#[test]
fn notes_name_the_heaps_beside_malloc() {
    let has = |path: &str, words: &str| file(path).notes.iter().any(|note| note.contains(words));
    assert!(has("/usr/bin/python3", "PYTHONMALLOC=malloc"));
    assert!(has("/usr/bin/node", "garbage-collected heap"));
    assert!(has("/usr/bin/java", "garbage-collected heap"));
    assert!(!has("/bin/bash", "garbage-collected heap") && !has("/bin/bash", "PYTHONMALLOC"));
    let routed = command(&["env", "PYTHONMALLOC=malloc", "/usr/bin/python3"]);
    assert_eq!(routed.notes, [""; 0]);
}

#[test]
fn static_programs_are_named() {
    assert_eq!(ids(&file("/bin/busybox")), [("static", Effect::Prevents)]);
    let pie = file(compile(HELLO, &["-static-pie"]));
    assert_eq!(ids(&pie), [("static", Effect::Prevents)]);
    assert!(pie.obstacles[0].cause.contains("static-pie"), "{}", pie.obstacles[0].cause);
    assert_eq!(ids(&file(compile(MARKED, &["-static", "-DGO"]))), [("go", Effect::Prevents)]);
}

#[test]
fn go_programs_are_told_from_those_with_c_code() {
    let mark = "__attribute__((used, section(\".data\"))) static char mark[] = \"\\xff Go buildinf:\";\n";
    let with_c = file(compile(&format!("{mark}{HELLO}"), &[]));
    assert_eq!(ids(&with_c), [("go", Effect::Part)]);
    let without = file(compile(&format!("{mark}int main(void) {{ return 0; }}\n"), &[]));
    assert_eq!(ids(&without), [("go", Effect::Prevents)]);
    if Path::new("/usr/bin/prometheus").exists() {
        assert_eq!(ids(&file("/usr/bin/prometheus")), [("go", Effect::Part)]);
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn programs_for_other_machines_and_c_libraries_are_named() {
    let small = file(compile(HELLO, &["-m32"]));
    assert_eq!(ids(&small), [("word_size", Effect::Prevents)]);
    assert!(small.obstacles[0].cause.contains("is a 32-bit program"), "{}", small.obstacles[0].cause);
    let mut foreign = fs::read("/bin/true").expect("a program");
    foreign[18..20].copy_from_slice(&183_u16.to_le_bytes()); // EM_AARCH64
    let foreign = file(executable(&scratch("examine"), "foreign", foreign));
    assert_eq!(ids(&foreign), [("architecture", Effect::Prevents)]);
    assert!(foreign.obstacles[0].cause.contains("aarch64"), "{}", foreign.obstacles[0].cause);
    let musl = scratch("examine").join("musl");
    let source = scratch("examine").join("hello.c");
    fs::write(&source, HELLO).expect("a file");
    let built = Command::new("musl-gcc").arg("-o").arg(&musl).arg(&source).status().expect("musl-tools");
    assert!(built.success());
    assert_eq!(ids(&file(&musl)), [("musl", Effect::Breaks)]);
    // Not asked to load the library, it is not broken by it.
    assert_eq!(
        ids(&command(&["env", "-i", text(&musl)])),
        [("environment_cleared", Effect::Prevents), ("musl", Effect::Prevents)]
    );
    let bionic = fs::read("/bin/true").expect("a program");
    let at = bionic.windows(27).position(|bytes| bytes == b"/lib64/ld-linux-x86-64.so.2").expect("its dynamic linker");
    let mut bionic = bionic;
    bionic[at..at + 28].copy_from_slice(b"/system/bin/linker64\0\0\0\0\0\0\0\0");
    assert_eq!(ids(&file(executable(&scratch("examine"), "bionic", bionic))), [("other_linker", Effect::Prevents)]);
}

#[test]
fn a_library_that_asks_for_a_newer_libc_breaks_programs() {
    let folder = scratch("examine");
    let bytes = fs::read(library()).expect("the library");
    let wanted = ours().target.system;
    let System::Glibc(Some((major, minor))) = wanted else { panic!("{wanted:?}") };
    let (old, new) = (format!("GLIBC_{major}.{minor}\0"), format!("GLIBC_{major}.99\0"));
    let mut newer = bytes.clone();
    for at in 0..newer.len() - old.len() {
        if newer[at..].starts_with(old.as_bytes()) {
            newer[at..at + old.len()].copy_from_slice(new.as_bytes());
        }
    }
    let newer = Library::read(&executable(&folder, "libjeshim.so", newer)).expect("the library");
    assert_eq!(newer.target.system, System::Glibc(Some((major, 99))));
    let around = Surroundings { library: Some(&newer), variables: variables(&newer) };
    let found = examine::file(Path::new("/bin/true"), &around).expect("a program");
    assert_eq!(ids(&found), [("glibc_version", Effect::Breaks)]);
    // And so it is.
    let started = plain("/bin/true").env("LD_PRELOAD", &newer.path).output().expect("a program");
    assert!(!started.status.success());
    let large = Library { page_size: 1024, ..ours() };
    let around = Surroundings { library: Some(&large), variables: variables(&large) };
    assert_eq!(
        ids(&examine::file(Path::new("/bin/true"), &around).expect("a program")),
        [("page_size", Effect::Breaks)]
    );
}

#[test]
fn allocators_in_the_executable_are_named() {
    assert_eq!(ids(&file(compile(OWN, &[]))), [("own_allocator", Effect::Prevents)]);
    let hidden = compile(OWN, &["-DHIDDEN"]);
    assert_eq!(ids(&file(&hidden)), [("hidden_allocator", Effect::Unsure)]);
    assert!(Command::new("strip").arg(&hidden).status().expect("binutils").success());
    assert_eq!(ids(&file(&hidden)), [("hidden_allocator", Effect::Unsure)]);
    assert_eq!(ids(&file(compile(MARKED, &["-DMAPS"]))), []);
    assert_eq!(ids(&file(compile(MARKED, &[]))), []);
    let sysroot = plain("rustc").args(["--print", "sysroot"]).output().expect("rustc");
    let rustc = file(Path::new(String::from_utf8_lossy(&sysroot.stdout).trim()).join("bin/rustc"));
    assert_eq!(ids(&rustc), [("own_allocator", Effect::Prevents)]);
    assert!(rustc.obstacles[0].cause.contains(", jemalloc, "), "{}", rustc.obstacles[0].cause);
}

#[test]
fn texts_of_an_allocator_are_not_taken_for_one_too_easily() {
    let program = |constants: &str| {
        compile(
            &format!(
                "#include <sys/mman.h>\nconst char *texts[] = {{ {constants} }};\nvoid *(*map)(void *, unsigned long, int, int, int, long) = (void *)mmap;\n{HELLO}"
            ),
            &["-w"],
        )
    };
    let inside = file(program("\"<jemalloc>: %s\", \"<jemalloc>: Conf string ends with key\\n\""));
    assert_eq!(ids(&inside), [("own_allocator", Effect::Part)]);
    assert!(inside.obstacles[0].cause.contains("jemalloc"), "{}", inside.obstacles[0].cause);
    assert_eq!(
        ids(&file(program("\"mimalloc: error: \", \"mimalloc_\", \"eager_commit\""))),
        [("own_allocator", Effect::Part)]
    );
    for mention in [
        "\"use jemalloc, mimalloc: or tcmalloc\"",
        "\"<jemalloc>: arenas.dirty_decay_ms\"",
        "\"TCMALLOC_SAMPLE_PARAMETER\"",
        "\"PartitionAlloc\"",
    ] {
        assert_eq!(ids(&file(program(mention))), [], "{mention}");
    }
    // This very test executable carries the texts above, and so may jeshim.
    assert_eq!(ids(&file(env!("CARGO_BIN_EXE_jeshim"))), []);
}

#[test]
fn sanitizers_are_told_by_what_they_do_to_the_start() {
    assert_eq!(ids(&file(compile(HELLO, &["-fsanitize=address"]))), [("sanitizer", Effect::Breaks)]);
    assert_eq!(ids(&file(compile(HELLO, &["-fsanitize=thread"]))), [("sanitizer", Effect::Breaks)]);
    assert_eq!(
        ids(&file(compile(HELLO, &["-fsanitize=address", "-static-libasan"]))),
        [("sanitizer", Effect::Prevents)]
    );
    assert_eq!(ids(&file(compile(HELLO, &["-fsanitize=undefined"]))), []);
}

#[test]
fn env_and_its_forms_are_followed() {
    let cleared = [("environment_cleared", Effect::Prevents)];
    for words in [
        &["env", "-i", "/bin/ls"][..],
        &["env", "-u", "LD_PRELOAD", "ls"],
        &["env", "-", "A=1", "ls"],
        &["env", "LD_PRELOAD=", "ls"],
        &["nice", "env", "-S", "-i ls"],
    ] {
        let found = command(words);
        assert_eq!(ids(&found), cleared, "{words:?}");
        assert!(last_step(&found).ends_with("/ls"), "{:?}", found.steps);
    }
    for words in [
        &["env", "ls"][..],
        &["env", "A=1", "-", "ls"][..1],
        &["env", "-u", "A", "--", "ls"],
        &["env", "-S", "nice -n 5 ls"],
    ] {
        assert_eq!(ids(&command(words)), [], "{words:?}");
    }
    let library = library();
    let kept = format!("LD_PRELOAD={}", fs::canonicalize(library).expect("a path").display());
    assert_eq!(ids(&command(&["env", "-i", &kept, "ls"])), []);
    // Whether it is there is seen when it runs.
    let missing = command(&["env", "no-such-program"]);
    assert!(missing.notes.iter().any(|note| note.starts_with("no-such-program is not found here")), "{missing:?}");
}

#[test]
fn wrappers_are_followed_to_what_they_execute() {
    let busybox = "/bin/busybox";
    for words in [
        &["nice", "-n", "5", busybox][..],
        &["timeout", "5", busybox],
        &["setsid", "nohup", busybox],
        &["stdbuf", "-oL", busybox],
        &["taskset", "1", busybox],
        &["/lib64/ld-linux-x86-64.so.2", busybox],
    ] {
        assert_eq!(ids(&command(words)), [("static", Effect::Prevents)], "{words:?}");
    }
    assert_eq!(ids(&command(&[busybox, "nice", "/bin/ls"])), []);
    assert_eq!(ids(&command(&["setpriv", "--reset-env", "/bin/ls"])), [("environment_cleared", Effect::Prevents)]);
    assert_eq!(ids(&command(&["valgrind", "/bin/ls"]))[0], ("valgrind", Effect::Prevents));
}

#[test]
fn scripts_are_followed_to_their_interpreter() {
    let folder = scratch("examine");
    let python = command(&[text(&executable(&folder, "by-env", "#!/usr/bin/env -S /usr/bin/python3 -u\n"))]);
    assert_eq!(ids(&python), []);
    assert!(last_step(&python).contains("/python3."), "{:?}", python.steps);
    let static_one = command(&[text(&executable(&folder, "by-busybox", "#!/bin/busybox sh\n"))]);
    assert_eq!(ids(&static_one), [("static", Effect::Prevents)]);
    let plain = command(&[text(&executable(&folder, "plain", "exec /bin/busybox\n"))]);
    assert_eq!(ids(&plain), []);
    assert!(plain.notes[0].contains("what that starts is seen only when it runs"), "{:?}", plain.notes);
    let link = folder.join("link");
    symlink("/bin/busybox", &link).expect("a link");
    let link = command(&[text(&link)]);
    assert_eq!(ids(&link), [("static", Effect::Prevents)]);
    assert_eq!(link.steps.iter().map(|step| step.because.as_str()).collect::<Vec<_>>(), ["asked for", "symbolic link"]);
}

#[test]
fn interpreters_that_are_scripts_are_followed_as_far_as_the_kernel_does() {
    let folder = scratch("examine");
    let mut before = PathBuf::from("/bin/true");
    for depth in 1..=8 {
        before = executable(&folder, &depth.to_string(), format!("#!{}\n", before.display()));
        let started = Command::new(&before).status();
        let found = ids(&command(&[text(&before)]));
        assert_eq!(started.is_ok(), found.is_empty(), "{depth}: {started:?} {found:?}");
    }
    let circle = folder.join("circle");
    executable(&folder, "circle", format!("#!{}\n", circle.display()));
    assert_eq!(ids(&command(&[text(&circle)])), [("circular", Effect::Unsure)]);
    let by_env = folder.join("by-env");
    executable(&folder, "by-env", format!("#!/usr/bin/env {}\n", by_env.display()));
    assert_eq!(ids(&command(&[text(&by_env)])), [("circular", Effect::Unsure)]);
    let orphan = executable(&folder, "orphan", "#!/no/such/interpreter\n");
    assert_eq!(ids(&command(&[text(&orphan)])), [("interpreter", Effect::Unsure)]);
}

#[test]
fn what_is_no_program_is_said_at_once() {
    let folder = scratch("examine");
    let fifo = folder.join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("coreutils").success());
    let cause = |words: &[&str]| match try_command(words) {
        Err(ExamineError::NotExecutable { cause, .. }) => cause,
        other => panic!("{words:?}: {other:?}"),
    };
    let start = Instant::now();
    assert_eq!(cause(&[text(&fifo)]), "is a FIFO");
    assert!(matches!(try_file(&fifo), Err(ExamineError::NotExecutable { .. })));
    assert_eq!(cause(&["/etc"]), "is a directory");
    assert_eq!(cause(&["/dev/zero"]), "is a device");
    assert_eq!(cause(&["/etc/passwd"]), "is not executable");
    assert!(start.elapsed() < Duration::from_secs(2));
    for missing in ["no-such-program", "/no/such/program", "", "/etc/passwd/x"] {
        assert!(matches!(try_command(&[missing]), Err(ExamineError::NotFound(_))), "{missing}");
    }
}

#[test]
fn hostile_files_are_damaged_or_unknown_and_nothing_worse() {
    let folder = scratch("examine");
    let whole = fs::read("/bin/true").expect("a program");
    let cut = file(executable(&folder, "cut", &whole[..whole.len() / 3]));
    assert!(cut.obstacles.iter().any(|one| (one.id, one.effect) == ("damaged", Effect::Unsure)), "{cut:?}");
    for length in [4, 5, 20, 63, 200] {
        let found = ids(&file(executable(&folder, "short", &whole[..length])));
        assert_eq!(found, [("damaged", Effect::Unsure)], "{length}");
    }
    // A terabyte with nothing in it.
    let huge = folder.join("huge");
    fs::write(&huge, &whole).expect("a file");
    fs::OpenOptions::new().write(true).open(&huge).and_then(|file| file.set_len(1 << 40)).expect("a sparse file");
    let start = Instant::now();
    assert_eq!(ids(&file(&huge)), []);
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(ids(&file(executable(&folder, "noise", [0, 1, 2, 3]))), [("format", Effect::Unsure)]);
    assert_eq!(
        ids(&file(executable(&folder, "appimage", [&whole[..8], b"AI\x02", &whole[11..]].concat()))),
        [("appimage", Effect::Unsure)]
    );
}

#[test]
fn damaged_programs_are_examined_without_panic() {
    let folder = scratch("examine");
    let whole = fs::read("/bin/true").expect("a program");
    let mut random = fastrand::Rng::with_seed(7);
    let library = ours();
    let around = Surroundings { library: Some(&library), variables: variables(&library) };
    for _ in 0..1500 {
        let mut bytes = whole.clone();
        for _ in 0..random.usize(1..6) {
            let at = if random.bool() { random.usize(0..1024) } else { random.usize(0..bytes.len()) };
            bytes[at] = random.u8(..);
        }
        if random.u8(0..4) == 0 {
            bytes.truncate(random.usize(0..whole.len()));
        }
        let path = executable(&folder, "damaged", bytes);
        let _ = examine::file(&path, &around);
    }
}

#[test]
fn privileges_of_others_are_named() {
    let folder = scratch("examine");
    let copy = executable(&folder, "cat", fs::read("/bin/cat").expect("a program"));
    if std::os::unix::fs::chown(&copy, Some(65534), Some(65534)).is_err() {
        println!("only root can give a file away: not tested");
        return;
    }
    let with_mode = |mode| {
        fs::set_permissions(&copy, PermissionsExt::from_mode(mode)).expect("a mode");
        ids(&file(&copy))
    };
    assert_eq!(with_mode(0o4755), [("setuid", Effect::Prevents)]);
    assert_eq!(with_mode(0o2755), [("setgid", Effect::Prevents)]);
    assert_eq!(with_mode(0o755), []);
    // Root gains nothing by what belongs to root.
    assert_eq!(ids(&file("/bin/su")), []);
}

#[test]
fn before_a_start_nothing_is_searched_and_what_prevents_is_known() {
    let library = ours();
    let around = Surroundings { library: Some(&library), variables: variables(&library) };
    let before = |program: &Path| {
        ids(&examine::command(program.as_os_str(), &[], &around, examine::Depth::Tables).expect("a program"))
    };
    assert_eq!(before(&compile(OWN, &[])), [("own_allocator", Effect::Prevents)]);
    assert_eq!(before(Path::new("/bin/busybox")), [("static", Effect::Prevents)]);
    let start = Instant::now();
    assert_eq!(before(Path::new("/usr/bin/node")), []);
    let before = start.elapsed();
    let start = Instant::now();
    assert_eq!(ids(&file("/usr/bin/node")), []);
    assert!(before < start.elapsed(), "{before:?}");
}

#[test]
fn the_examination_is_facts_for_machines() {
    let json = serde_json::to_value(file("/bin/busybox")).expect("JSON");
    assert_eq!(json["obstacles"][0]["id"], "static");
    assert_eq!(json["obstacles"][0]["effect"], "prevents");
    assert!(json["steps"][0]["path"].as_str().is_some_and(|path| path.ends_with("/busybox")));
}
