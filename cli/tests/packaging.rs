//! What is installed works where it is installed, and goes away again; completions and manual pages are those of the
//! command.

use crate::harness::{jeshim, plain, scratch, stderr};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/install.sh")
}

/// The folder into which cargo has built for this test: release or debug.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.push(path);
        }
    }
    files
}

/// What is installed beside the library for `jeshim compare`.
const WORKLOADS: [&str; 5] = ["json-rpc", "kv-churn", "io-threads", "block-build", "table-bench"];

#[test]
fn what_is_installed_works_and_can_be_removed() {
    let prefix = scratch("install").join("a prefix");
    // The script looks in `release` of the target folder.
    let target = scratch("install");
    fs::create_dir(target.join("release")).expect("a folder");
    fs::copy(env!("CARGO_BIN_EXE_jeshim"), target.join("release/jeshim")).expect("a copy");
    fs::copy(crate::harness::library(), target.join("release/libjeshim.so")).expect("a copy");
    for workload in WORKLOADS {
        fs::write(target.join("release").join(workload), "#!/bin/sh\n").expect("a file");
    }
    let install = |more: &[&str]| {
        succeed(plain(script()).arg("--prefix").arg(&prefix).args(more).env("CARGO_TARGET_DIR", &target))
    };
    install(&[]);
    // Over a library that is in use, too.
    let before = fs::File::open(prefix.join("lib/jeshim/libjeshim.so")).expect("the library");
    install(&[]);
    use std::os::unix::fs::MetadataExt;
    let now = fs::metadata(prefix.join("lib/jeshim/libjeshim.so")).expect("the library");
    assert_ne!(before.metadata().expect("the old file").ino(), now.ino(), "it was written in place");

    // With a blank in its path it could not be preloaded.
    let plain_prefix = scratch("install");
    succeed(plain(script()).arg("--prefix").arg(&plain_prefix).env("CARGO_TARGET_DIR", &target));
    let check =
        plain(plain_prefix.join("bin/jeshim")).args(["check", "--", "ls", "/"]).current_dir("/").status().expect("it");
    assert_eq!(check.code(), Some(0));

    let installed = files(&prefix);
    assert!(installed.iter().any(|file| file.ends_with("share/man/man1/jeshim-check.1")), "{installed:?}");
    for workload in WORKLOADS {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(prefix.join("lib/jeshim").join(workload)).expect(workload).permissions().mode();
        assert_eq!(mode & 0o777, 0o755, "{workload}");
    }
    install(&["--remove"]);
    assert_eq!(files(&prefix), Vec::<PathBuf>::new());
    let nowhere = plain(script()).args(["--prefix", "/proc/no"]).env("CARGO_TARGET_DIR", &target).output().expect("it");
    assert_eq!(nowhere.status.code(), Some(125));
    assert!(String::from_utf8_lossy(&nowhere.stderr).contains("cannot be written; remedy: "));
}

#[test]
fn shells_take_the_completions() {
    for (shell, check) in [("bash", &["-n"][..]), ("zsh", &["-n"]), ("fish", &["--no-execute"])] {
        let text = succeed(jeshim().args(["completions", shell]));
        let file = scratch("completions").join(shell);
        fs::write(&file, &text).expect("a file");
        if Command::new(shell).arg("--version").output().is_err() {
            eprintln!("SKIPPED: {shell} is not installed");
            continue;
        }
        succeed(Command::new(shell).args(check).arg(&file));
        assert!(text.contains("doctor") && text.contains("preset"), "{shell}");
    }
    let bash = scratch("completions").join("bash");
    fs::write(&bash, succeed(jeshim().args(["completions", "bash"]))).expect("a file");
    let ask = "source \"$0\"; COMP_WORDS=(jeshim ch); COMP_CWORD=1; _jeshim jeshim ch jeshim; echo ${COMPREPLY[@]}";
    assert_eq!(succeed(Command::new("bash").args(["-c", ask]).arg(&bash)), "check\n");
}

#[test]
fn manual_pages_are_ones() {
    let folder = scratch("man").join("man1");
    succeed(jeshim().arg("man").arg(&folder));
    let names: Vec<String> = ["", "-check", "-compare", "-completions", "-doctor", "-env", "-man", "-run"]
        .map(|name| format!("jeshim{name}.1"))
        .into();
    assert_eq!(files(&folder).len(), names.len());
    for name in &names {
        let text = fs::read_to_string(folder.join(name)).expect("a page");
        assert!(text.contains(".TH ") && text.contains(".SH NAME"), "{name}");
    }
    let page = fs::read_to_string(folder.join("jeshim-check.1")).expect("a page");
    assert!(page.contains("could not tell"), "{page}");
}

#[test]
fn a_reader_that_leaves_is_no_error_and_a_full_disk_is() {
    for arguments in [&["completions", "bash"][..], &["run", "--preset", "help"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = jeshim().args(arguments).stdout(writer).output().expect("the command");
        assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()), "{arguments:?}");
        let full = fs::File::options().write(true).open("/dev/full").expect("a device");
        let output = jeshim().args(arguments).stdout(full).output().expect("the command");
        let line = "jeshim: standard output cannot be written: No space left on device; send it elsewhere\n";
        assert_eq!((output.status.code(), stderr(&output)), (Some(125), line.to_owned()), "{arguments:?}");
    }
}
