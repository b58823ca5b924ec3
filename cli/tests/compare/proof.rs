//! Who serves: of real programs and of programs that deceive, under every allocator that is here.

use super::allocators::{OWN, installed, shared, skip};
use crate::harness::{compile, library, scratch};
use jeshim_cli::compare::allocators::{Allocator, Kind, base_environment, parse};
use jeshim_cli::compare::breakdown;
use jeshim_cli::compare::proof::{Judgement, Watching};
use jeshim_cli::compare::results::Served;
use jeshim_host::launch::Ended;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn allocator(spec: &str) -> Allocator {
    parse(&[spec.to_owned()], Some(&library())).unwrap_or_else(|error| panic!("{spec}: {error:#}")).remove(0)
}

/// Runs a command as the command does before it measures, and judges.
fn judge(allocator: &Allocator, words: &[&str]) -> Judgement {
    let watching = Watching::begin(allocator).expect("a folder");
    let (mut variables, _) = base_environment();
    variables.extend(allocator.variables.iter().cloned());
    variables.extend(watching.variables());
    let folder = scratch("judged");
    let child = Command::new(words[0])
        .args(&words[1..])
        .env_clear()
        .envs(variables.iter().cloned())
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{words:?}: {error}"));
    let pid = child.id();
    let output = child.wait_with_output().expect("its end");
    let ended = match (output.status.code(), output.status.signal()) {
        (Some(code), _) => Ended::Exited(code.to_le_bytes()[0]),
        (None, signal) => Ended::Killed(signal.expect("a signal")),
    };
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    let judgement = watching.judge(allocator, &words, ended, pid, &output.stderr, &variables);
    assert!(!judgement.because.is_empty() && !judgement.because.contains('\n'), "{judgement:?}");
    judgement
}

/// Programs of Debian's that are here.
fn programs<'a>(words: &[&[&'a str]]) -> Vec<Vec<&'a str>> {
    let (here, missing): (Vec<&[&str]>, Vec<&[&str]>) = words.iter().partition(|words| which(words[0]).is_some());
    for words in missing {
        skip(&format!("{} is not installed", words[0]));
    }
    here.into_iter().map(|words| words.to_vec()).collect()
}

fn which(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file());
    path.filter(|_| !program.contains('/')).or_else(|| Some(PathBuf::from(program)).filter(|path| path.is_file()))
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A program that is served by what is preloaded, and by nothing else.
const PLAIN: &str = "
#include <stdlib.h>
#include <string.h>
int main(void) {
    for (int i = 0; i < 1000; i++) {
        char *block = realloc(calloc(1, 10), 100);
        memset(block, 1, 100);
        if (i % 2) free(block);
    }
    return 0;
}
";

#[test]
fn programs_that_take_malloc_from_libc_are_served_by_whatever_is_preloaded() {
    let programs = programs(&[
        // Its address of malloc is in the executable, which is not position-independent.
        &["/usr/bin/python3", "-c", "print([str(i) for i in range(1000)])"],
        // Linked with an allocator of its own, which comes second.
        &["redis-server", "--version"],
        // Starts others.
        &["gcc", "-x", "c", "-c", "-o", "/dev/null", "/dev/null"],
        &["/bin/sh", "-c", "exec /usr/bin/python3 -c 1"],
        &["timeout", "60", "/usr/bin/python3", "-c", "1"],
        &["env", "A=1", "/usr/bin/python3", "-c", "1"],
    ]);
    let mut allocators = vec![allocator("jeshim")];
    allocators.extend(installed());
    for words in programs {
        for allocator in &allocators {
            let found = judge(allocator, &words);
            assert_eq!(found.served, Served::Yes, "{words:?} {}: {found:?}", allocator.label);
            let file = allocator.kind.library().and_then(|path| path.file_name()).expect("a file");
            let by = found.by.expect("who");
            assert!(by.contains(file.to_str().expect("UTF-8")), "{words:?}: {by}");
        }
    }
}

#[test]
fn which_allocator_the_system_brings_is_told() {
    let system = allocator("system");
    let glibc = judge(&system, &[text(&compile(PLAIN, &[]))]);
    assert_eq!((glibc.served, glibc.because.as_str()), (Served::Yes, "malloc of program is bound to libc.so.6"));
    assert!(glibc.by.as_deref().is_some_and(|by| by.starts_with("glibc 2.")), "{glibc:?}");
    let own = judge(&system, &[text(&compile(&format!("{OWN}{PLAIN}"), &["-fno-builtin"]))]);
    assert_eq!((own.served, own.by.as_deref()), (Served::Yes, Some("its own")), "{own:?}");
    assert!(own.because.contains("has a malloc of its own in its executable"), "{own:?}");
    let whole = judge(&system, &[text(&compile(PLAIN, &["-static"]))]);
    assert_eq!((whole.served, whole.by.as_deref()), (Served::Yes, Some("its own")), "{whole:?}");
    assert!(whole.because.contains("is a static program"), "{whole:?}");
}

#[test]
fn an_allocator_that_a_program_is_linked_with_is_told() {
    let system = allocator("system");
    let library = shared(OWN, &["-Wl,-soname,libown.so.7"]);
    let folder = library.parent().expect("a folder");
    std::fs::copy(&library, folder.join("libown.so.7")).expect("a copy");
    let search = format!("-Wl,-rpath,{}", folder.display());
    let file = folder.join("libown.so.7");
    let program = compile(PLAIN, &["-Wl,--no-as-needed", text(&file), &search]);
    let found = judge(&system, &[text(&program)]);
    assert_eq!(found.by.as_deref(), Some("libown.so.7, which the program is linked with"), "{found:?}");
    for words in programs(&[&["redis-server", "--version"]]) {
        let found = judge(&system, &words);
        let linked = Command::new("ldd").arg(which(words[0]).expect("a path")).output().expect("ldd");
        if String::from_utf8_lossy(&linked.stdout).contains("libjemalloc.so.2") {
            assert_eq!(found.by.as_deref(), Some("libjemalloc.so.2, which the program is linked with"), "{found:?}");
        }
    }
}

/// A library that serves, under another name than those of real ones.
fn other() -> Allocator {
    let path = shared(OWN, &[]);
    let named = path.with_file_name("libother.so");
    std::fs::rename(&path, &named).expect("another name");
    allocator(&format!("other={}", named.display()))
}

#[test]
fn programs_that_nothing_can_be_preloaded_into_are_not_served() {
    let fixed = compile(PLAIN, &["-static"]);
    let own = compile(&format!("{OWN}{PLAIN}"), &["-fno-builtin"]);
    for allocator in [other(), allocator("jeshim")] {
        let found = judge(&allocator, &[text(&fixed)]);
        assert_eq!((found.served, found.by.as_deref()), (Served::No, None));
        assert!(found.because.contains("is a static program") && found.because.contains("; use a "), "{found:?}");
        let found = judge(&allocator, &[text(&own)]);
        assert_eq!(found.served, Served::No, "{found:?}");
        assert!(found.because.contains("has a malloc of its own in its executable"), "{found:?}");
    }
}

#[test]
fn what_starts_a_program_is_not_taken_for_it() {
    let fixed = compile(PLAIN, &["-static"]);
    for allocator in [other(), allocator("jeshim")] {
        let found = judge(&allocator, &["timeout", "60", text(&fixed)]);
        assert_eq!(found.served, Served::Part, "{found:?}");
        assert!(found.because.contains("is a static program"), "{found:?}");
        let found = judge(&allocator, &["/usr/bin/env", "-i", "/bin/sh", "-c", ":"]);
        assert_ne!(found.served, Served::Yes, "{found:?}");
        assert!(found.because.contains("starts the program without LD_PRELOAD; leave out"), "{found:?}");
    }
}

#[test]
fn a_child_with_an_allocator_of_its_own_takes_part_away() {
    let own = compile(&format!("{OWN}{PLAIN}"), &["-fno-builtin"]);
    let script = format!("{}; true", own.display());
    for allocator in [other(), allocator("jeshim")] {
        let found = judge(&allocator, &["/bin/sh", "-c", &script]);
        assert_eq!(found.served, Served::Part, "{found:?}");
        assert!(found.because.contains("own"), "{found:?}");
    }
}

#[test]
fn a_plugin_that_was_loaded_apart_takes_part_away() {
    let plugin = shared("#include <stdlib.h>\nvoid *volatile kept;\nvoid use(void) { kept = malloc(10); }\n", &[]);
    let source = "#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
int main(int count, char **arguments) {
    void *volatile block = malloc(10);
    void *plugin = dlopen(arguments[1], RTLD_NOW | RTLD_DEEPBIND);
    if (!block || !plugin) return 1;
    ((void (*)(void))dlsym(plugin, \"use\"))();
    for (int i = 0; i < 1000; i++) free(malloc(100));
    return 0;
}
";
    let program = compile(source, &["-ldl"]);
    let found = judge(&other(), &[text(&program), text(&plugin)]);
    assert_eq!(found.served, Served::Part, "{found:?}");
    assert!(
        found.because.contains("malloc of program is bound to libc.so.6: it was loaded with RTLD_DEEPBIND"),
        "{found:?}"
    );
    // Ours takes the flag away.
    let found = judge(&allocator("jeshim"), &[text(&program), text(&plugin)]);
    assert_eq!(found.served, Served::Yes, "{found:?}");
}

#[test]
fn a_setuid_program_is_not_served() {
    let program = compile(PLAIN, &[]);
    let shell = format!("chown 65534 '{0}' && chmod 4755 '{0}'", program.display());
    let done = Command::new("sh").args(["-c", &shell]).output().expect("a shell");
    // Its user must be able to reach it.
    let reached = Command::new(&program).status().is_ok_and(|status| status.success());
    if !done.status.success() || !reached {
        return skip("a setuid program: only root can make one");
    }
    for allocator in [other(), allocator("jeshim")] {
        let found = judge(&allocator, &[text(&program)]);
        assert_eq!(found.served, Served::No, "{found:?}");
        assert!(found.because.contains("setuid"), "{found:?}");
    }
}

#[test]
fn what_the_dynamic_linker_says_is_told() {
    let program = compile(PLAIN, &[]);
    let gone = other();
    std::fs::remove_file(gone.kind.library().expect("a library")).expect("gone");
    let found = judge(&gone, &[text(&program)]);
    assert_eq!(found.served, Served::No, "{found:?}");
    assert!(
        found
            .because
            .starts_with("libother.so was not loaded: the dynamic linker says 'cannot open shared object file'; "),
        "{found:?}"
    );
}

#[test]
fn a_program_that_calls_no_malloc_is_not_said_to_be_served() {
    let source = "
#include <sys/mman.h>
int main(void) {
    char *pages = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pages[0] = 1;
    return pages[0] != 1;
}
";
    let found = judge(&other(), &[text(&compile(source, &[]))]);
    assert_eq!(found.served, Served::Unknown, "{found:?}");
    assert!(found.because.contains("may have an allocator of its own"), "{found:?}");
    // All it has is one large block.
    let large = "#include <stdlib.h>\nint main(void) { void *volatile block = malloc(1 << 22); return !block; }\n";
    let large = compile(large, &[]);
    assert_eq!(judge(&other(), &[text(&large)]).served, Served::Yes);
    let found = judge(&allocator("jeshim"), &[text(&large)]);
    assert_eq!(found.served, Served::Unknown, "{found:?}");
}

#[test]
fn where_the_memory_was_is_told_for_jemalloc() {
    let mut allocators = installed();
    allocators.retain(|allocator| matches!(allocator.kind, Kind::Jemalloc(_)));
    allocators.push(allocator("jeshim,conf=dirty_decay_ms:-1"));
    let program = compile(PLAIN, &[]);
    for allocator in &allocators {
        let memory = judge(allocator, &[text(&program)]).memory.unwrap_or_else(|| panic!("{allocator:?}"));
        // 500 blocks of 112 bytes are kept.
        assert!(memory.usable > 50_000 && memory.usable < 200_000, "{memory:?}");
        assert!(memory.allocations >= 2_000 && memory.allocations < 3_000, "{memory:?}");
        let parts = memory.usable + memory.thread_caches + memory.slab_free + memory.dirty + memory.metadata;
        assert_eq!(parts, memory.resident, "{memory:?}");
    }
    // Nobody else tells.
    assert_eq!(judge(&other(), &[text(&program)]).memory, None);
}

#[test]
fn the_share_that_was_asked_for_comes_from_a_run_of_its_own() {
    let source =
        "#include <stdlib.h>\nint main(void) { for (int i = 0; i < 100000; i++) *(char *)malloc(33) = 1; return 0; }\n";
    let program = compile(source, &["-O0"]);
    let memory = |spec: &str| judge(&allocator(spec), &[text(&program)]).memory.expect("a finished record");
    let plain = memory("jeshim");
    let profiled = memory(&format!("jeshim,conf={}", breakdown::REQUESTED_CONF));
    assert_eq!(plain.requested, None);
    let requested = breakdown::with_requested(plain, &profiled).requested.expect("a share");
    let share = requested as f64 / plain.usable as f64;
    assert!((share / (33.0 / 48.0) - 1.0).abs() < 0.02, "{share}: {plain:?} {profiled:?}");
    // The profiler's own waste is not in it.
    assert!((plain.usable as f64 / 4_800_000.0 - 1.0).abs() < 0.02, "{plain:?}");
}
