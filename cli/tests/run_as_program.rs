//! The program that `jeshim run` puts in its place finds what jeshim was given: pid, arguments, descriptors, signals.

use crate::harness::{compile, jeshim, library, scratch, stdout};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

/// What a shell command prints, with `RUN` in it nothing, `jeshim run`, and `jeshim run --stats`.
fn with_and_without(script: &str) -> [String; 3] {
    ["", "run --", "run --stats --"].map(|run| {
        let jeshim = jeshim();
        let words: Vec<&str> = run.split_inclusive("run").collect();
        let run = match words[..] {
            [run, options] => {
                format!("{} {run} --lib {} {options}", jeshim.get_program().display(), library().display())
            }
            _ => String::new(),
        };
        let output = Command::new("bash").args(["-c", &script.replace("RUN", &run)]).output().expect("bash runs");
        stdout(&output)
    })
}

#[test]
fn it_has_the_same_pid_and_its_own_exit_status() {
    let mut command = jeshim();
    command.arg("run").arg("--lib").arg(library()).args(["--", "sh", "-c", "echo $$; exit 7"]);
    let child = command.stdout(Stdio::piped()).spawn().expect("starts");
    let pid = child.id();
    let output = child.wait_with_output().expect("ends");
    assert_eq!((stdout(&output), output.status.code()), (format!("{pid}\n"), Some(7)));
}

#[test]
fn its_name_and_arguments_are_as_typed() {
    let [plain, run, stats] = with_and_without("RUN sh -c 'tr \"\\0\" \"|\" </proc/$$/cmdline' -- '' '-x' '--' 'a b'");
    assert!(plain.starts_with("sh|-c|") && plain.ends_with("|--||-x|--|a b|"), "{plain}");
    assert_eq!([&run, &stats], [&plain; 2]);
}

#[test]
fn ignored_and_blocked_signals_are_as_they_were() {
    let show = "grep -E '^Sig(Ign|Blk)' /proc/self/status";
    for ignored in ["", "trap '' PIPE;", "trap '' PIPE CHLD INT;", "trap '' HUP TSTP;"] {
        let [plain, run, stats] = with_and_without(&format!("{ignored} RUN {show}"));
        assert!(plain.contains("SigIgn"), "{plain}");
        assert_eq!([&run, &stats], [&plain; 2], "{ignored}");
    }
}

#[test]
fn closed_descriptors_stay_closed_and_no_others_are_open() {
    let program = compile(
        "#include <fcntl.h>\n#include <stdio.h>\n#include <unistd.h>
        int main(void) { char s[64] = \"\"; int n = 0;
            for (int i = 0; i < 60; i++) s[n++] = fcntl(i, F_GETFD) < 0 ? '-' : 'o';
            s[n++] = '\\n'; return write(9, s, n) != n; }",
        &[],
    );
    for closed in ["", "<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
        let script = format!("exec 9>&1 251>&- 10>&-; RUN {} {closed}", program.display());
        let [plain, run, stats] = with_and_without(&script);
        assert!(plain.contains('o'), "{plain}");
        assert_eq!([&run, &stats], [&plain; 2], "{closed}");
    }
}

#[test]
fn a_script_without_a_first_line_runs_as_execvp_runs_it() {
    let script = scratch("run-script").join("script");
    std::fs::write(&script, "echo ran\n").expect("a script");
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).expect("its mode");
    for options in [&[][..], &["--stats"]] {
        let mut command = jeshim();
        command.arg("run").arg("--lib").arg(library()).args(options).arg("--").arg(&script);
        assert_eq!(stdout(&command.output().expect("runs")), "ran\n");
    }
}
