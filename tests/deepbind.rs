//! Plugins that are opened with RTLD_DEEPBIND get the same malloc and free as the program, and everything else that
//! dlopen promises stays as it is.

use crate::harness::time_limit::{plain, preloaded};
use crate::harness::{fixture, record, recorded, scratch, stderr, stdout, succeed};
use std::path::{Path, PathBuf};
use std::process::Output;

/// The program, and a folder with the plugin, a library that it needs and one that it opens later, found by RUNPATH.
struct Plugins {
    host: PathBuf,
    plugin: PathBuf,
}

impl Plugins {
    fn new() -> Plugins {
        let folder = scratch("deepbind");
        let build = |source: &str, to: &Path, arguments: &[&str]| {
            std::fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
            let built = fixture(source, &[&["-shared", "-fPIC"], arguments].concat());
            std::fs::copy(built, to).expect("a copy");
        };
        let needed = folder.join("needed/libdeepbind_needed.so");
        build("deepbind_library.c", &needed, &["-Wl,-soname,libdeepbind_needed.so"]);
        build("deepbind_library.c", &folder.join("needed/libdeepbind_late.so"), &[]);
        build("deepbind_library.c", &folder.join("needed/libdeepbind_late_other.so"), &[]);
        let plugin = folder.join("plugin.so");
        let arguments = [needed.to_str().expect("UTF-8"), "-Wl,--enable-new-dtags,-rpath,$ORIGIN/needed"];
        build("deepbind_plugin.c", &plugin, &arguments);
        Plugins { host: fixture("deepbind_host.c", &["-rdynamic", "-ldl"]), plugin }
    }

    fn run(&self, what: &str) -> String {
        stdout(&succeed(preloaded(&self.host).arg(what).arg(&self.plugin)))
    }

    fn run_without(&self, what: &str) -> String {
        stdout(&succeed(plain(&self.host).arg(what).arg(&self.plugin)))
    }
}

#[test]
fn memory_crosses_between_plugin_and_program() {
    let plugins = Plugins::new();
    assert_eq!(plugins.run("exchange"), "answer 42\n");
}

#[test]
fn a_plugin_has_the_programs_malloc_and_the_record_says_why() {
    let plugins = Plugins::new();
    let (output, record) = recorded(preloaded(&plugins.host).arg("whose").arg(&plugins.plugin));
    assert_eq!(stdout(&output), "same libjeshim.so\n");
    assert_eq!(record["served"]["deepbind_cleared"], 1, "{record:#}");
    // dlopen(NULL), once without the flag and once with it.
    let (_, record) = recorded(preloaded(&plugins.host).arg("self"));
    assert_eq!(record["served"]["deepbind_cleared"], 1, "{record:#}");
}

#[test]
fn keep_leaves_the_flag() {
    let plugins = Plugins::new();
    let (output, record) =
        recorded(preloaded(&plugins.host).env("JESHIM_DEEPBIND", "keep").arg("whose").arg(&plugins.plugin));
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output), "other libc.so.6\n");
    assert_eq!(record["served"]["deepbind_cleared"], 0, "{record:#}");
}

#[test]
fn libraries_are_found_by_the_runpath_of_the_plugin_that_asks() {
    let plugins = Plugins::new();
    assert_eq!(plugins.run("caller"), "late 42\n");
    assert_eq!(plugins.run_without("caller"), "late 42\n");
}

#[test]
fn everything_else_about_dlopen_is_as_without_the_library() {
    let plugins = Plugins::new();
    for (what, answer) in [("self", "self\n"), ("namespace", "other 42\n"), ("flags", "absent global refused\n")] {
        assert_eq!(plugins.run(what), answer, "{what}");
        assert_eq!(plugins.run_without(what), answer, "{what} without the library");
    }
}

#[test]
fn a_missing_file_is_named() {
    let plugins = Plugins::new();
    let missing = |command: &mut std::process::Command| -> Output {
        succeed(command.args(["missing", "/nowhere/libmissing.so"]))
    };
    let with = stdout(&missing(&mut preloaded(&plugins.host)));
    assert!(with.starts_with("NULL: /nowhere/libmissing.so: "), "{with}");
    assert!(with.ends_with("said once\n"), "{with}");
    assert_eq!(with, stdout(&missing(&mut plain(&plugins.host))));
}

#[test]
fn python_imports_its_extensions_with_the_flag() {
    let script = "import os, sys; sys.setdlopenflags(os.RTLD_NOW | os.RTLD_DEEPBIND); \
                  import json, sqlite3, ssl, ctypes, bz2, lzma, hashlib; \
                  print(json.loads('[1, {\"a\": 2}]'), sqlite3.connect(':memory:').execute('select 6 * 7').fetchone(), \
                  len(bz2.decompress(bz2.compress(b'x' * 100000))), ssl.create_default_context().verify_mode.name)";
    let path = scratch("python").join("record.json");
    let output = succeed(preloaded("/usr/bin/python3").env("JESHIM_REPORT", &path).args(["-c", script]));
    assert_eq!(stdout(&output), "[1, {'a': 2}] (42,) 100000 CERT_REQUIRED\n");
    let record = record(&path);
    assert!(record["served"]["deepbind_cleared"].as_u64() > Some(3), "{record:#}");
}
