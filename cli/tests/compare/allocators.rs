//! Allocators by name and by path: those that this machine has are found and load, and what cannot serve is refused
//! before anything runs, with what to do.

use crate::harness::{compile, library, scratch};
use jeshim_cli::compare::allocators::{Allocator, Kind, list, parse};
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A library with a malloc and free of its own, which is all that it takes to be an allocator's.
pub(super) const OWN: &str = "
#include <stddef.h>
#include <string.h>
static char room[1 << 26];
static size_t used;
void *malloc(size_t size) {
    size_t start = __atomic_fetch_add(&used, (size + 31) / 16 * 16, __ATOMIC_RELAXED);
    if (start + size + 32 > sizeof room) return 0;
    *(size_t *)(room + start) = size;
    return room + start + 16;
}
void free(void *block) { (void)block; }
void *calloc(size_t count, size_t size) { return malloc(count * size); }
void *realloc(void *block, size_t size) {
    void *other = malloc(size);
    if (other && block) {
        size_t before = *(size_t *)((char *)block - 16);
        memcpy(other, block, before < size ? before : size);
    }
    return other;
}
";

pub(super) fn shared(source: &str, arguments: &[&str]) -> PathBuf {
    let mut all = vec!["-shared", "-fPIC", "-fno-builtin"];
    all.extend(arguments);
    compile(source, &all)
}

fn parsed(spec: &str) -> anyhow::Result<Allocator> {
    parse(&[spec.to_owned()], Some(&library())).map(|mut allocators| allocators.remove(0))
}

fn refused(spec: impl AsRef<Path>) -> String {
    let spec = spec.as_ref().to_str().expect("UTF-8");
    let message = format!("{:#}", parsed(spec).expect_err(spec));
    assert!(!message.contains('\n') && message.contains("; "), "cause, then remedy, in a line: {message}");
    message
}

/// Says, past the test harness, what was not tested; with `CORPUS_COMPLETE=1` that is a failure.
pub(super) fn skip(what: &str) {
    let _ = writeln!(std::io::stderr(), "NOT TESTED: {what}");
    assert!(std::env::var_os("CORPUS_COMPLETE").is_none(), "not tested: {what}");
}

/// The allocators of Debian's packages that are here.
pub(super) fn installed() -> Vec<Allocator> {
    let names = ["jemalloc", "mimalloc", "tcmalloc", "tbbmalloc"];
    let here = list(Some(&library()));
    let is_here = |name: &str| here.iter().any(|entry| entry.name == name && entry.place.is_ok());
    let (found, missing): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|name| is_here(name));
    if !missing.is_empty() {
        skip(&format!("not installed: {}", missing.join(", ")));
    }
    found.into_iter().map(|name| parsed(name).unwrap_or_else(|error| panic!("{name}: {error:#}"))).collect()
}

#[test]
fn what_is_installed_is_found_and_loads() {
    for allocator in installed() {
        let path = allocator.kind.library().expect("a library");
        assert!(path.is_absolute() && path.is_file(), "{allocator:?}");
        assert_eq!(allocator.variables, [("LD_PRELOAD".into(), path.as_os_str().to_owned())]);
        assert_eq!(allocator.label, allocator.name);
        let version = allocator.version.as_deref().unwrap_or_default();
        assert!(version.starts_with(|first: char| first.is_ascii_digit()), "{allocator:?}");
        assert_eq!(matches!(allocator.kind, Kind::Jemalloc(_)), allocator.name == "jemalloc", "{allocator:?}");
        if allocator.name == "jemalloc" {
            assert!(version.split('.').count() == 3, "the version of jemalloc, not that of its soname: {version}");
        }
    }
}

#[test]
fn without_names_the_system_and_jeshim_take_part() {
    let allocators = parse(&[], Some(&library())).expect("both");
    let labels: Vec<&str> = allocators.iter().map(|allocator| allocator.label.as_str()).collect();
    assert_eq!(labels, ["system", "jeshim"]);
    assert_eq!((&allocators[0].kind, allocators[0].variables.len()), (&Kind::System, 0));
    assert_eq!(allocators[1].kind, Kind::Jeshim(std::fs::canonicalize(library()).expect("a path")));
    assert!(allocators[1].version.as_deref().is_some_and(|version| version.contains("(jemalloc 5.3.1)")));
}

#[test]
fn options_of_jeshim_are_composed_and_checked() {
    let conf = |spec: &str| {
        let allocator = parsed(spec).unwrap_or_else(|error| panic!("{spec}: {error:#}"));
        let found = allocator.variables.iter().find(|(name, _)| name == OsStr::new("MALLOC_CONF"));
        found.map(|(_, value)| value.to_str().expect("UTF-8").to_owned())
    };
    assert_eq!(conf("jeshim,conf=narenas:2,dirty_decay_ms:0,A=1").as_deref(), Some("narenas:2,dirty_decay_ms:0"));
    assert_eq!(
        conf("x=jeshim,conf=narenas:2,preset=low-latency").as_deref(),
        Some("oversize_threshold:1073741824,dirty_decay_ms:-1,narenas:2")
    );
    assert_eq!(conf("jeshim,preset=default"), None);
    assert_eq!(conf(&format!("x={},conf=narenas:1", library().display())).as_deref(), Some("narenas:1"));
    for (spec, part) in [
        ("jeshim,conf=narena:2", "conf=: 'narena' is not an option of jemalloc 5.3.1"),
        ("jeshim,MALLOC_CONF=narenas:x", "MALLOC_CONF=: narenas does not take 'x'"),
        ("jeshim,preset=lowrss", "'lowrss' is not a preset; the nearest is 'low-rss'"),
        ("jeshim,conf=narenas:2,MALLOC_CONF=narenas:1", "are one thing; keep one"),
    ] {
        assert!(refused(spec).contains(part), "{}", refused(spec));
    }
}

#[test]
fn what_another_jemalloc_says_of_its_options_is_told() {
    if !installed().iter().any(|allocator| allocator.name == "jemalloc") {
        return;
    }
    let right = parsed("jemalloc,conf=narenas:2,dirty_decay_ms:0").expect("options of jemalloc");
    assert!(right.variables.contains(&("MALLOC_CONF".into(), "narenas:2,dirty_decay_ms:0".into())));
    let said = refused("jemalloc,conf=narenasx:2");
    assert!(said.contains("says of its options: Invalid conf pair: narenasx:2"), "{said}");
    assert!(refused("jemalloc,preset=debug").contains("presets are jeshim's; write the options"));
}

#[test]
fn a_library_by_its_path_takes_part() {
    let path = shared(OWN, &[]);
    let named = path.with_file_name("libown.so.1.2");
    std::fs::rename(&path, &named).expect("another name");
    let allocator = parsed(&format!("{},ROOM=1", named.display())).expect("it loads");
    assert_eq!((allocator.label.as_str(), allocator.name.as_str()), ("libown.so.1.2", "libown.so.1.2"));
    assert_eq!((allocator.kind, allocator.version.as_deref()), (Kind::Other(named.clone()), Some("1.2")));
    assert_eq!(allocator.variables[1], ("ROOM".into(), "1".into()));
    assert_eq!(parsed(&format!("mine={}", named.display())).expect("it loads").label, "mine");
}

#[test]
fn what_cannot_serve_is_refused_before_anything_runs() {
    let folder = scratch("refused");
    let text = folder.join("text.so");
    std::fs::write(&text, "INPUT(libfoo.so)").expect("a file");
    let program = compile("int main(void) { return 0; }\n", &[]);
    let fixed = compile("int main(void) { return 0; }\n", &["-no-pie"]);
    let nothing = shared("int nothing;\n", &[]);
    for (path, part) in [
        (folder.join("none.so"), "is not there; look at the spelling"),
        (folder.clone(), "is not a file; name a shared library"),
        (PathBuf::from("/dev/null"), "is not a file"),
        (text, "is not a shared library: it is "),
        (program, "is not a shared library, but a program"),
        (fixed, "is not a shared library, but a program"),
        (nothing, "has no malloc to offer"),
    ] {
        assert!(refused(&path).contains(part), "{}", refused(&path));
    }
}

#[test]
fn a_path_that_cannot_be_preloaded_is_refused() {
    let folder = scratch("two words");
    let path = folder.join("libown.so");
    std::fs::copy(shared(OWN, &[]), &path).expect("a copy");
    let folder = folder.with_file_name(format!("a b {}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::rename(&path, folder.join("libown.so")).expect("another place");
    assert!(refused(folder.join("libown.so")).contains("cannot be preloaded: the dynamic linker parts names"));
}

#[test]
fn a_library_of_another_word_size_is_refused() {
    let folder = scratch("word-size");
    let source = folder.join("own.c");
    std::fs::write(&source, "void *malloc(unsigned long n) { return 0; }\n").expect("a file");
    let output = folder.join("own.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-m32", "-shared", "-nostdlib", "-fno-builtin", "-o"]);
    let status = compiler_status(compiler.arg(&output).arg(&source));
    if !status {
        return skip("no compiler for programs of 32 bits");
    }
    let said = refused(&output);
    assert!(said.contains("is for i386 (32 bits) programs, and this machine's are x86_64 (64 bits)"), "{said}");
}

fn compiler_status(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

#[test]
fn a_library_that_does_not_load_is_refused_with_what_the_dynamic_linker_says() {
    // It needs a library that is gone.
    let needed = shared("int needed(void) { return 0; }\n", &["-Wl,-soname,libgone.so"]);
    let folder = needed.parent().expect("a folder");
    std::fs::rename(&needed, folder.join("libgone.so")).expect("another name");
    let search = format!("-L{}", folder.display());
    let source = format!("{OWN}\nint needed(void);\nint use(void) {{ return needed(); }}\n");
    let path = shared(&source, &[&search, "-lgone"]);
    std::fs::remove_file(folder.join("libgone.so")).expect("gone");
    let said = refused(&path);
    // glibc says it and goes on without the library; or ends the program.
    assert!(said.contains("libgone.so") && said.contains("use another build of it"), "{said}");
}

#[test]
fn a_library_that_programs_do_not_survive_is_refused() {
    let crashes =
        shared(&format!("{OWN}\n__attribute__((constructor)) void crash(void) {{ __builtin_trap(); }}\n"), &[]);
    let said = refused(&crashes);
    assert!(said.contains(" preloaded was ended by SIG"), "{said}");
    let fails = shared(
        &format!(
            "#include <stdio.h>\n#include <unistd.h>\n{OWN}\n__attribute__((constructor)) void fail(void) {{ dprintf(2, \"no room\\n\"); _exit(3); }}\n"
        ),
        &[],
    );
    let said = refused(&fails);
    assert!(said.contains(" preloaded ended with status 3 (no room); use another build"), "{said}");
}
