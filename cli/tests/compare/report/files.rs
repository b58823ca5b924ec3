//! Reports into files: whole, or not at all.

use crate::harness::scratch;
use jeshim_cli::compare::report;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

fn entries(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_report_replaces_an_older_one_and_keeps_its_permissions() {
    let folder = scratch("report-file");
    let file = folder.join("report.md");
    report::write("\u{1b}[1mone\u{1b}[0m\n", &file).expect("written");
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), "one\n");
    let fresh = folder.join("fresh");
    std::fs::write(&fresh, "").expect("a file");
    let mode = |path: &Path| std::fs::metadata(path).expect("a file").permissions().mode();
    assert_eq!(mode(&file), mode(&fresh), "as the umask has it");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).expect("permissions");
    let link = folder.join("link");
    symlink("report.md", &link).expect("a link");
    report::write("two\n", &link).expect("written");
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), "two\n");
    assert_eq!(mode(&file) & 0o777, 0o640);
    assert!(std::fs::symlink_metadata(&link).expect("a link").is_symlink());
    assert_eq!(entries(&folder), ["fresh", "link", "report.md"], "nothing is left over");
}

#[test]
fn what_cannot_be_written_is_said_with_the_file_and_a_remedy() {
    let folder = scratch("report-file");
    let missing = folder.join("missing/report.md");
    let error = report::write("x", &missing).expect_err("no such folder").to_string();
    assert!(error.starts_with(&format!("{} cannot be written: ", missing.display())), "{error}");
    assert!(error.ends_with("; name another file"), "{error}");
    let error = report::write("x", &folder).expect_err("a folder").to_string();
    assert!(error.contains("is a directory"), "{error}");
    let error = report::write("x", Path::new("/dev/full")).expect_err("full").to_string();
    assert_eq!(error, "/dev/full cannot be written: No space left on device; make room, or name a file elsewhere");
    assert!(std::fs::metadata("/dev/full").is_ok_and(|full| !full.is_file()), "it is still the device");
    report::write("x", Path::new("/dev/null")).expect("a device that takes it");
}

#[test]
fn a_full_disk_leaves_the_older_report_as_it_was() {
    let folder = scratch("report-full");
    let mount = |arguments: &[&str]| Command::new("mount").args(arguments).arg(&folder).output();
    let mounted = mount(&["-t", "tmpfs", "-o", "size=64k", "tmpfs"]);
    if !mounted.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no file system can be mounted here");
        return;
    }
    let file = folder.join("report.html");
    let first = report::write("older\n", &file);
    let second = report::write(&"x".repeat(200_000), &file);
    let kept = std::fs::read_to_string(&file);
    let left = entries(&folder);
    let _ = Command::new("umount").arg(&folder).status();
    first.expect("room for this one");
    let error = second.expect_err("no room").to_string();
    assert!(
        error.contains(
            "No space left on device; make room, or name a file elsewhere; the file that was there is as it was"
        ),
        "{error}"
    );
    assert_eq!(kept.expect("the older report"), "older\n");
    assert_eq!(left, ["report.html"], "no half of a file is left");
}
