//! `jeshim run`: settings, and what is said about mistakes. How the program finds itself is in `run_as_program`.

use crate::harness::{compile, jeshim, library, plain, scratch, stderr, stdout};
use std::process::Command;

/// `jeshim run --lib LIBRARY` with these arguments.
fn run(arguments: &[&str]) -> Command {
    let mut command = jeshim();
    command.arg("run").arg("--lib").arg(library()).args(arguments);
    command
}

/// What `--print-env` says of a variable, read by a shell.
fn printed(command: &mut Command, variable: &str) -> String {
    let output = command.arg("--print-env").output().expect("it runs");
    assert!(output.status.success(), "{}", stderr(&output));
    let script = format!("{}\nprintf %s \"${variable}\"", stdout(&output));
    let shell = Command::new("dash").env_clear().args(["-c", &script]).output().expect("dash runs");
    assert!(shell.status.success(), "{script}: {}", stderr(&shell));
    stdout(&shell)
}

/// The one line on standard error of a run that did not start anything.
fn refused(command: &mut Command, status: i32) -> String {
    let output = command.output().expect("it runs");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(status), "{said}");
    assert_eq!((stdout(&output).as_str(), said.lines().count()), ("", 1), "{said}");
    said
}

#[test]
fn the_program_is_served() {
    let report = scratch("run-served").join("%e.json");
    let output =
        run(&["--report", report.to_str().expect("UTF-8"), "--", "perl", "-e", "print 1"]).output().expect("runs");
    assert_eq!((stdout(&output).as_str(), stderr(&output).as_str()), ("1", ""));
    let record = std::fs::read_to_string(report.with_file_name("perl.json")).expect("a record");
    assert!(record.contains("\"serving\": true") && record.contains("\"finished\": true"), "{record}");
}

#[test]
fn what_was_preloaded_stays_behind_ours_and_ours_is_named_once() {
    let ours = std::fs::canonicalize(library()).expect("the library");
    let ours = ours.to_str().expect("UTF-8");
    let preloaded = |before: &str| printed(run(&[]).env("LD_PRELOAD", before), "LD_PRELOAD");
    assert_eq!(preloaded("/nonexistent/a.so b.so"), format!("{ours}:/nonexistent/a.so:b.so"));
    assert_eq!(preloaded(&format!("libm.so.6:{ours}")), format!("{ours}:libm.so.6"));
}

#[test]
fn options_are_the_presets_then_the_environments_then_those_typed() {
    let preset = printed(&mut run(&["--preset", "debug"]), "MALLOC_CONF");
    let mut both = run(&["--conf", "narenas:3", "--preset", "debug", "--conf", "tcache:false"]);
    assert_eq!(
        printed(both.env("MALLOC_CONF", "narenas:2"), "MALLOC_CONF"),
        format!("{preset},narenas:2,narenas:3,tcache:false")
    );
    assert_eq!(printed(run(&[]).env("MALLOC_CONF", "narenas:2"), "MALLOC_CONF"), "");
    // jemalloc agrees on who wins.
    let show = compile(
        "#include <stdio.h>\n__attribute__((weak)) int mallctl(const char *, void *, size_t *, void *, size_t);
        int main(void) { unsigned n; size_t s = sizeof n; mallctl(\"opt.narenas\", &n, &s, 0, 0); printf(\"%u\", n); }",
        &[],
    );
    let output = run(&["--conf", "narenas:3", "--"]).arg(show).env("MALLOC_CONF", "narenas:2").output().expect("runs");
    assert_eq!(stdout(&output), "3");
}

#[test]
fn a_report_is_an_absolute_path_in_which_the_folders_percent_sign_means_nothing() {
    let folder = scratch("run-100%p'x");
    let path = printed(run(&["--report", "a-%p"]).current_dir(&folder), "JESHIM_REPORT");
    assert_eq!(path, format!("{}/a-%p", folder.display().to_string().replace('%', "%%")));
    assert_eq!(printed(&mut run(&["--no-children"]), "JESHIM_CHILDREN"), "strip");
    for (report, cause) in [("/tmp/%x", "'%'"), ("/tmp/", "folder"), ("/tmp", "folder")] {
        assert!(refused(&mut run(&["--report", report, "--", "true"]), 125).contains(cause), "{report}");
    }
}

#[test]
fn programs_that_it_starts_do_not_get_the_library_when_so_asked() {
    for (option, count) in [(None, 2), (Some("--no-children"), 1)] {
        let folder = scratch("run-children");
        let mut command = run(&["--report"]);
        command.arg(folder.join("%e-%p")).args(option).args(["--", "bash", "-c", "perl -e 1; true"]);
        assert!(command.status().expect("runs").success());
        let programs: std::collections::BTreeSet<String> = std::fs::read_dir(&folder)
            .expect("records")
            .map(|entry| {
                entry.expect("an entry").file_name().to_string_lossy().split('-').next().unwrap_or("").to_owned()
            })
            .collect();
        assert_eq!(programs.len(), count, "{programs:?}");
    }
}

#[test]
fn mistakes_in_options_are_named_before_the_program_starts() {
    for (conf, cause) in [
        ("dirty_decay:1", "the nearest is 'dirty_decay_ms'"),
        ("tcache_max:1M", "1 MiB as 1048576"),
        ("narenas:2, tcache:true", "a blank"),
        ("\u{201c}narenas:2\u{201d}", "a typographic mark"),
        ("narenas:0", "1 or more, or default"),
        ("narenas=2", "with a colon"),
        ("narenas:2,", "a comma"),
    ] {
        let said = refused(&mut run(&["--conf", conf, "--", "echo", "started"]), 125);
        assert!(said.starts_with("jeshim: --conf: ") && said.contains(cause), "{said}");
    }
    let said = refused(&mut run(&["--preset", "low-rsss", "--", "echo", "started"]), 125);
    assert!(said.contains("the nearest is 'low-rss'") && said.contains("--preset help"), "{said}");
}

#[test]
fn a_mistake_in_the_environments_options_is_no_reason_not_to_start() {
    let start = |arguments: &[&str], conf: &str| {
        let output = run(arguments).args(["--", "sh", "-c", "echo $MALLOC_CONF"]).env("MALLOC_CONF", conf).output();
        let output = output.expect("runs");
        assert!(output.status.success());
        (stdout(&output), stderr(&output))
    };
    let (conf, said) = start(&[], "narenas:2,xyz:1");
    assert_eq!(conf, "narenas:2,xyz:1\n");
    assert!(said.contains("MALLOC_CONF in the environment: 'xyz' is not an option"), "{said}");
    // Behind this one jemalloc would not read what was typed.
    let (conf, said) = start(&["--conf", "narenas:3"], "narenas=2");
    assert_eq!(conf, "narenas:3\n");
    assert!(said.contains("MALLOC_CONF is left out"), "{said}");
}

#[test]
fn every_preset_is_accepted_by_the_library_in_silence() {
    let output = jeshim().args(["run", "--preset", "help"]).output().expect("runs");
    assert!(output.status.success());
    let table = stdout(&output);
    assert!(!table.contains('\u{1b}'), "no colours where no terminal reads: {table:?}");
    for preset in ["default", "low-rss", "throughput", "low-latency", "debug"] {
        assert!(table.contains(&format!(" {preset} ")), "{table}");
        let output = run(&["--preset", preset, "--conf", "abort_conf:true", "--", "perl", "-e", "print 1"]).output();
        let output = output.expect("runs");
        assert_eq!((stdout(&output).as_str(), stderr(&output).as_str()), ("1", ""), "{preset}");
    }
}

#[test]
fn the_debug_preset_shows_bugs_that_otherwise_stay_hidden() {
    let program = compile(
        "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>
        struct node { struct node *next; };
        int main(int c, char **v) {
            struct node *volatile node = malloc(100);
            if (v[1][0] == 'u') { node->next = 0; free((void *)node); }
            if (v[1][0] == 'r') { node->next = 0; puts(realloc((void *)node, 0) ? \"\" : \"\"); return 0; }
            return node->next ? !node->next->next : 0;
        }",
        &["-O0", "-w"],
    );
    for (bug, seen) in [("use after free", 11), ("no initialisation", 11), ("realloc to 0", 6)] {
        for (preset, expected) in [("default", None), ("debug", Some(seen))] {
            let output = run(&["--preset", preset, "--"]).arg(&program).arg(bug).output().expect("runs");
            assert_eq!(std::os::unix::process::ExitStatusExt::signal(&output.status), expected, "{preset}: {bug}");
        }
    }
}

#[test]
fn what_cannot_work_is_an_error_unless_forced() {
    let program = compile("int main(void) { return 4; }", &["-static"]);
    let program = program.to_str().expect("UTF-8");
    let output = run(&["--", program]).output().expect("runs");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("static") && said.contains("--force"), "{said}");
    let output = run(&["--force", "--", program]).output().expect("runs");
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(4), ""));
}

#[test]
fn where_no_rights_are_gained_a_setuid_program_is_served() {
    let folder = scratch("run-no-new-privileges");
    let program = folder.join("perl");
    std::fs::copy("/usr/bin/perl", &program).expect("a copy");
    if std::os::unix::fs::chown(&program, Some(65534), Some(65534)).is_err() {
        println!("only root can give a file away: not tested");
        return;
    }
    for mode in [0o4755, 0o2755] {
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(mode)).expect("a mode");
        let report = folder.join("%p.json");
        let inner = |before: &[&str]| {
            let (first, rest) = before.split_first().expect("a program");
            let mut command = plain(first);
            command.args(rest).args(["run", "--stats", "--lib"]).arg(library()).arg("--report").arg(&report);
            command.arg("--").arg(&program).args(["-e", "print 1"]).output().expect("runs")
        };
        let jeshim = env!("CARGO_BIN_EXE_jeshim");
        assert_eq!(inner(&[jeshim]).status.code(), Some(125));
        let output = inner(&["setpriv", "--no-new-privs", jeshim]);
        assert_eq!(stdout(&output), "1", "{}", stderr(&output));
        assert!(stderr(&output).contains("served by jemalloc"), "{}", stderr(&output));
    }
}

#[test]
fn capabilities_of_a_file_are_in_the_way_also_where_no_rights_are_gained() {
    let folder = scratch("run-capabilities");
    let program = folder.join("perl");
    std::fs::copy("/usr/bin/perl", &program).expect("a copy");
    let jeshim = env!("CARGO_BIN_EXE_jeshim");
    let as_nobody = ["--reuid", "65534", "--no-new-privs", jeshim];
    let may_run =
        plain("setpriv").args(as_nobody).arg("--version").output().is_ok_and(|output| output.status.success());
    let given =
        Command::new("setcap").arg("cap_net_raw+ep").arg(&program).status().is_ok_and(|status| status.success());
    if !may_run || !given {
        println!("only root can give capabilities, and become another: not tested");
        return;
    }
    let run = |options: &[&str]| {
        let mut command = plain("setpriv");
        command.args(as_nobody).args(["run", "--lib"]).arg(library()).args(options).arg("--").arg(&program);
        command.args(["-e", "print exists $ENV{LD_PRELOAD} ? 1 : 0"]).output().expect("runs")
    };
    assert_eq!(run(&[]).status.code(), Some(125), "{}", stderr(&run(&[])));
    // The dynamic linker does not even leave the variable there.
    let forced = run(&["--force"]);
    assert_eq!((stdout(&forced).as_str(), forced.status.code()), ("0", Some(0)), "{}", stderr(&forced));
}

#[test]
fn a_library_that_the_dynamic_linker_cannot_be_told_is_refused() {
    let copy = scratch("run a blank").join("libjeshim.so");
    std::fs::copy(library(), &copy).expect("a copy");
    let mut command = jeshim();
    let said = refused(command.args(["run", "--lib"]).arg(&copy).args(["--", "true"]), 125);
    assert!(said.contains("parts names at blanks") && said.contains("--lib"), "{said}");
}

#[test]
fn what_cannot_be_executed_has_the_shells_status_and_one_line() {
    let folder = scratch("run-cannot");
    let file = |name: &str, text: &str, mode: u32| {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("a file");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(&path, mode).expect("its mode");
        path.to_str().expect("UTF-8").to_owned()
    };
    for (program, status, cause) in [
        ("no-such-program-here".to_owned(), 127, "not found"),
        ("/nonexistent/program".to_owned(), 127, "not found"),
        (folder.to_str().expect("UTF-8").to_owned(), 126, "folder"),
        (file("plain", "echo", 0o644), 126, "chmod +x"),
        (file("lost", "#! /nonexistent/shell -e\n", 0o755), 126, "/nonexistent/shell"),
    ] {
        for options in [&["--force"][..], &["--force", "--stats"]] {
            let said = refused(run(options).args(["--", &program]), status);
            assert!(said.contains(cause), "{program}: {said}");
        }
    }
}
