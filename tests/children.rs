//! `JESHIM_CHILDREN`: whether the programs that a program starts have the library too.

use crate::harness;
use crate::harness::time_limit::{preloaded, with_preloads};
use crate::harness::{fixture, library, records, scratch, stderr, stdout, succeed};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

const WAYS: [&str; 8] = ["system", "popen", "exec", "envp", "fork", "vfork", "spawn", "own"];

fn starter() -> PathBuf {
    fixture("children_starter.c", &[])
}

fn other() -> PathBuf {
    fixture("children_other.c", &["-shared", "-fPIC"])
}

/// What LD_PRELOAD is in a child that is started in this way.
fn childs_preloads(libraries: &[&OsStr], way: &str, children: Option<&str>) -> String {
    let mut command = with_preloads(libraries, starter());
    command.arg(way).envs(children.map(|value| ("JESHIM_CHILDREN", value)));
    let output = succeed(&mut command);
    assert_eq!(stderr(&output), "", "{way}");
    stdout(&output).trim_end().to_owned()
}

#[test]
fn children_inherit_the_library_unless_told_otherwise() {
    let ours = library();
    for way in WAYS {
        for children in [None, Some(""), Some("inherit")] {
            assert_eq!(OsString::from(childs_preloads(&[ours.as_os_str()], way, children)), ours, "{way} {children:?}");
        }
    }
}

#[test]
fn strip_removes_the_variable_when_nothing_is_left_in_it() {
    for way in WAYS {
        assert_eq!(childs_preloads(&[library().as_os_str()], way, Some("strip")), "unset", "{way}");
    }
}

#[test]
fn strip_leaves_other_libraries() {
    let (ours, other) = (library(), other());
    let expected = other.to_str().expect("UTF-8");
    let together = [ours.as_os_str(), OsStr::new(" "), other.as_os_str()].join(OsStr::new(""));
    for way in WAYS {
        let strip = |libraries: &[&OsStr]| childs_preloads(libraries, way, Some("strip"));
        assert_eq!(strip(&[ours.as_os_str(), other.as_os_str()]), expected, "{way}");
        assert_eq!(strip(&[other.as_os_str(), ours.as_os_str()]), expected, "{way}");
        assert_eq!(strip(&[together.as_os_str()]), expected, "{way}, parted by a space");
        assert_eq!(strip(&[other.as_os_str(), ours.as_os_str(), other.as_os_str()]), format!("{expected}:{expected}"));
    }
}

#[test]
fn stripped_children_have_no_record() {
    let count = |children: &str| {
        let folder = scratch("children");
        let mut command = preloaded(starter());
        command.arg("spawn").env("JESHIM_CHILDREN", children).env("JESHIM_REPORT", folder.join("%e-%p.json"));
        succeed(&mut command);
        let records = records(&folder);
        let own = records.iter().filter(|record| record["program"].as_str().expect("a path").ends_with("starter"));
        assert_eq!(own.filter(|record| record["finished"] == true).count(), 1);
        records.len()
    };
    // The program, sh and printenv.
    assert_eq!((count("inherit"), count("strip")), (3, 1));
}

#[test]
fn the_process_itself_is_served_all_the_same() {
    let mut command = preloaded(starter());
    let (_, record) = harness::recorded(command.arg("own").env("JESHIM_CHILDREN", "strip"));
    assert_eq!(record["bound"]["names"]["malloc"], true, "{record:#}");
}

#[test]
fn children_of_real_programs() {
    let script = "import subprocess; print(subprocess.run(['printenv', 'LD_PRELOAD']).returncode)";
    let programs: [&[&str]; 3] = [
        &["/usr/bin/python3", "-c", script],
        &["/bin/bash", "-c", "printenv LD_PRELOAD; echo $?"],
        &["/usr/bin/perl", "-e", "print system('printenv', 'LD_PRELOAD') >> 8, qq(\\n)"],
    ];
    for program in programs {
        let output = succeed(preloaded(program[0]).args(&program[1..]).env("JESHIM_CHILDREN", "strip"));
        assert_eq!(stdout(&output), "1\n", "{program:?}");
    }
}
