//! What is wrong is named in one line with its remedy, and the program runs as if it had not been said.

use crate::harness::time_limit::{preloaded, with_preloads};
use crate::harness::{library, recorded, scratch, small_allocations, stderr, stdout};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A program whose output and status are known.
fn run(mut command: Command) -> Output {
    let output = command.args(["-c", "x=out; echo $x; exit 3"]).output().expect("a shell");
    assert_eq!((stdout(&output).as_str(), output.status.code()), ("out\n", Some(3)), "{}", stderr(&output));
    output
}

/// The one line that is said about a value of a variable, without the pid.
fn said_about(name: &str, value: &OsStr) -> Vec<u8> {
    let mut command = preloaded("/bin/dash");
    command.env(name, value);
    let output = run(command);
    let text = output.stderr;
    assert_eq!(text.iter().filter(|byte| **byte == b'\n').count(), 1, "{}", String::from_utf8_lossy(&text));
    assert_eq!(text.last(), Some(&b'\n'));
    let start = text.windows(3).position(|bytes| bytes == b"]: ").expect("whose message it is");
    assert!(text.starts_with(b"jeshim[") && text[7..start].iter().all(u8::is_ascii_digit));
    text[start + 3..text.len() - 1].to_vec()
}

#[test]
fn values_that_are_not_known_are_named_and_the_default_used() {
    for value in ["sometimes", "Strip", "keep ", "1"] {
        let text = String::from_utf8(said_about("JESHIM_DEEPBIND", OsStr::new(value))).expect("UTF-8");
        assert_eq!(text, format!("JESHIM_DEEPBIND='{value}' is not known, 'clear' is used; set it to clear or keep"));
        let text = String::from_utf8(said_about("JESHIM_CHILDREN", OsStr::new(value))).expect("UTF-8");
        assert_eq!(
            text,
            format!("JESHIM_CHILDREN='{value}' is not known, 'inherit' is used; set it to inherit or strip")
        );
    }
}

#[test]
fn values_that_are_known_are_not_talked_about() {
    for (name, value) in [
        ("JESHIM_DEEPBIND", ""),
        ("JESHIM_DEEPBIND", "clear"),
        ("JESHIM_DEEPBIND", "keep"),
        ("JESHIM_CHILDREN", ""),
        ("JESHIM_CHILDREN", "inherit"),
        ("JESHIM_CHILDREN", "strip"),
        ("JESHIM_REPORT", ""),
        ("JESHIM_UNKNOWN", "left for later versions"),
    ] {
        let mut command = preloaded("/bin/dash");
        command.env(name, value);
        assert_eq!(stderr(&run(command)), "", "{name}={value}");
    }
}

#[test]
fn every_variable_that_is_wrong_is_named() {
    let mut command = preloaded("/bin/dash");
    command.env("JESHIM_DEEPBIND", "a").env("JESHIM_CHILDREN", "b").env("JESHIM_REPORT", "/nowhere/record");
    command.env("MALLOC_CONF", "no_such_option:1");
    let text = stderr(&run(command));
    assert_eq!(text.lines().count(), 4, "{text}");
    for name in ["JESHIM_DEEPBIND='a'", "JESHIM_CHILDREN='b'", "JESHIM_REPORT='/nowhere/record'", "no_such_option"] {
        assert_eq!(text.matches(name).count(), 1, "{name}: {text}");
    }
}

#[test]
fn control_characters_are_not_passed_on() {
    for name in ["JESHIM_DEEPBIND", "JESHIM_CHILDREN", "JESHIM_REPORT"] {
        let text = said_about(name, OsStr::from_bytes(b"/nowhere/\x1b[31mred\n\r\x07\x7f\t"));
        assert!(text.windows(20).any(|part| part == b"/nowhere/?[31mred???"), "{}", String::from_utf8_lossy(&text));
        assert!(!text.iter().any(u8::is_ascii_control), "{text:?}");
    }
}

#[test]
fn bytes_that_are_not_utf8_are_shown() {
    let text = said_about("JESHIM_CHILDREN", OsStr::from_bytes(b"\xff"));
    assert!(text.starts_with(b"JESHIM_CHILDREN='\xff' is not known"), "{}", String::from_utf8_lossy(&text));
}

#[test]
fn long_values_are_cut_and_the_remedy_stays() {
    for name in ["JESHIM_DEEPBIND", "JESHIM_CHILDREN", "JESHIM_REPORT"] {
        let text = String::from_utf8(said_about(name, OsStr::new(&"/x".repeat(50_000)))).expect("UTF-8");
        assert!(text.len() < 600 && text.starts_with(name), "{text}");
        assert!(text.contains("; set it to ") || text.ends_with("name a shorter path"), "{text}");
    }
}

/// A copy of the library with one byte changed.
fn damaged(place: usize, byte: u8) -> PathBuf {
    let path = scratch("damaged").join("libjeshim.so");
    let mut contents = fs::read(library()).expect("the library");
    contents[place] = byte;
    fs::write(&path, contents).expect("a file");
    path
}

/// What the dynamic linker itself says about a file that it cannot preload; the program runs without it.
fn linker_says(file: &OsStr) -> String {
    let output = run(with_preloads(&[file], "/bin/dash"));
    let text = stderr(&output);
    // Once for `env`, which starts it, and once for the program.
    let mut lines: Vec<&str> = text.lines().collect();
    lines.dedup();
    assert_eq!(lines.len(), 1, "{text}");
    lines[0].to_owned()
}

#[test]
fn a_library_for_another_architecture_is_named_by_the_linker_and_left_out() {
    // ELF header: class (32 or 64 bits) at 4, machine at 18.
    let other_class = if cfg!(target_pointer_width = "64") { 1 } else { 2 };
    let text = linker_says(damaged(4, other_class).as_os_str());
    assert!(text.contains("libjeshim.so' from LD_PRELOAD cannot be preloaded (wrong ELF class"), "{text}");
    const EM_VAX: u8 = 75;
    let text = linker_says(damaged(18, EM_VAX).as_os_str());
    assert!(text.contains("libjeshim.so' from LD_PRELOAD cannot be preloaded"), "{text}");
    let text = linker_says(OsStr::new("/nowhere/libjeshim.so"));
    assert!(text.contains("'/nowhere/libjeshim.so' from LD_PRELOAD cannot be preloaded (cannot open"), "{text}");
}

#[test]
fn beside_a_library_that_cannot_be_loaded_ours_serves() {
    let wrong = damaged(4, if cfg!(target_pointer_width = "64") { 1 } else { 2 });
    let ours = library();
    for order in [[wrong.as_os_str(), ours.as_os_str()], [ours.as_os_str(), wrong.as_os_str()]] {
        let (output, record) = recorded(with_preloads(&order, "/bin/bash").args(["-c", "x=out; echo $x"]));
        assert_eq!(stdout(&output), "out\n");
        assert!(small_allocations(&record) > 0, "{record:#}");
    }
}
