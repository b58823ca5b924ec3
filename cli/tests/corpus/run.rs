//! Runs a program of the corpus under the command, and compares the verdicts.

use super::Outcome;
use super::built;
use super::program::Program;
use crate::harness::{library, plain, scratch};
use serde_json::Value;
use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Checks one program.
pub(super) fn outcome(program: &Program) -> Outcome {
    if program.user.is_some() && !is_root() {
        return Outcome::Skipped("only root can test it".to_owned());
    }
    let folder = folder(program);
    let mut words = Vec::new();
    for word in &program.run {
        match word.strip_prefix('{').and_then(|word| word.strip_suffix('}')) {
            Some(name) if is_name(name) => match built::program(name, &folder) {
                Some(path) => words.push(path.into_os_string()),
                None => return Outcome::Skipped(format!("it cannot be built here ({})", program.package)),
            },
            _ => words.push(OsString::from(replaced(word, &folder))),
        }
    }
    let first = words[0].to_string_lossy().into_owned();
    let needs = program.needs.clone().unwrap_or(vec![first.clone()]);
    if let Some(missing) = needs.iter().find(|name| found(name, &folder).is_none()) {
        return Outcome::Skipped(format!("{missing} is not installed ({})", program.package));
    }
    let mut wrong = Vec::new();
    if let Some(expected) = &program.check {
        let follow = program.follow.iter().flat_map(|time| ["--for", time]).map(OsString::from);
        let arguments = follow.chain([OsString::from("--")]).chain(words.iter().cloned());
        let answer = Answer::of(program, &folder, arguments.collect());
        if answer.verdict != *expected {
            wrong.push(format!("check says '{}', and not '{expected}'\n{}", answer.verdict, answer.details()));
        }
    }
    if let (Some(expected), Some(path)) = (&program.file, found(&first, &folder)) {
        let answer = Answer::of(program, &folder, vec!["--file".into(), path.into_os_string()]);
        let said = answer.of_file();
        if said != *expected {
            wrong.push(format!("check --file says '{said}', and not '{expected}'\n{}", answer.details()));
        }
    }
    if wrong.is_empty() { Outcome::Right } else { Outcome::Wrong(wrong) }
}

/// What the command said.
struct Answer {
    verdict: String,
    /// The report in JSON, null when there is none.
    report: Value,
    stderr: String,
}

impl Answer {
    fn of(program: &Program, folder: &Path, arguments: Vec<OsString>) -> Answer {
        let (report, messages) = (folder.join("report.json"), folder.join("messages"));
        let (jeshim, library) = match program.user.as_deref() {
            Some("nobody") => (public().join("jeshim"), public().join("libjeshim.so")),
            _ => (PathBuf::from(env!("CARGO_BIN_EXE_jeshim")), library()),
        };
        let mut command = match program.user.as_deref() {
            Some("nobody") => {
                let mut command = plain("setpriv");
                command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "timeout"]);
                command
            }
            _ => plain("timeout"),
        };
        let seconds = program.seconds.unwrap_or(20).to_string();
        command.args(["-s", "KILL", &seconds]).arg(jeshim).args(["check", "--json", "--lib"]).arg(library);
        command.arg("--output").arg(&report).args(arguments);
        let _ = fs::remove_file(&report);
        let stderr = File::create(&messages).expect("a file for messages");
        let status = command
            .current_dir(folder)
            .env("PATH", path())
            // With another locale even `true` asks for blocks.
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr)
            .status()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let verdict = match status.code() {
            Some(0) => "served".to_owned(),
            Some(1) => "not served".to_owned(),
            Some(2) => "in part".to_owned(),
            Some(3) => "could not tell".to_owned(),
            Some(137) | None => format!("nothing within {seconds} s"),
            Some(other) => format!("exit status {other}"),
        };
        let report = fs::read_to_string(&report).ok().and_then(|text| serde_json::from_str(&text).ok());
        let stderr = fs::read(&messages).unwrap_or_default();
        let stderr = String::from_utf8_lossy(&stderr).into_owned();
        Answer { verdict, report: report.unwrap_or(Value::Null), stderr }
    }

    /// `clear`, or the verdict and the worst obstacle.
    fn of_file(&self) -> String {
        let obstacle = &self.report["file"]["obstacles"][0]["id"];
        match (self.verdict.as_str(), obstacle.as_str()) {
            ("could not tell", None) if self.report["file"].is_object() => "clear".to_owned(),
            (verdict, obstacle) => format!("{verdict}: {}", obstacle.unwrap_or("-")),
        }
    }

    fn details(&self) -> String {
        let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let mut lines = vec![format!("    cause: {}", text(&self.report["cause"]))];
        for row in self.report["processes"].as_array().into_iter().flatten() {
            let reason = text(&row["reason"]["cause"]);
            let program = text(&row["program"]);
            lines.push(format!(
                "    {} {program} {} {}: {reason}",
                row["pid"],
                text(&row["standing"]),
                text(&row["end"])
            ));
        }
        lines.extend(self.stderr.lines().rev().take(4).map(|line| format!("    | {line}")));
        lines.join("\n")
    }
}

/// A folder of its own for a program, with copies of the files of the corpus; one that `nobody` may use, for nobody.
fn folder(program: &Program) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let folder = match program.user.as_deref() {
        Some("nobody") => {
            let folder = public().join(COUNT.fetch_add(1, Ordering::Relaxed).to_string());
            fs::create_dir(&folder).expect("a folder");
            fs::set_permissions(&folder, Permissions::from_mode(0o777)).expect("a mode");
            folder
        }
        _ => scratch("corpus"),
    };
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/files");
    for entry in fs::read_dir(files).expect("the files of the corpus").flatten() {
        fs::copy(entry.path(), folder.join(entry.file_name())).expect("a copy");
    }
    folder
}

/// A folder below the one for temporary files, with the command and the library: every user may read it.
fn public() -> &'static Path {
    PUBLIC.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("jeshim-corpus-{}", std::process::id()));
        fs::create_dir(&folder).expect("a folder of our own");
        fs::copy(env!("CARGO_BIN_EXE_jeshim"), folder.join("jeshim")).expect("a copy");
        fs::copy(library(), folder.join("libjeshim.so")).expect("a copy");
        for file in ["", "jeshim", "libjeshim.so"] {
            fs::set_permissions(folder.join(file), Permissions::from_mode(0o755)).expect("a mode");
        }
        folder
    })
}

static PUBLIC: OnceLock<PathBuf> = OnceLock::new();

/// Removes what lies outside of cargo's folder.
pub(super) fn clean_up() {
    if let Some(folder) = PUBLIC.get() {
        let _ = fs::remove_dir_all(folder);
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}

fn is_name(text: &str) -> bool {
    let of_a_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.chars().all(of_a_name) && text != "dir"
}

fn replaced(word: &str, folder: &Path) -> String {
    let word = word.replace("{dir}", &folder.to_string_lossy());
    if !word.contains("{sysroot}") {
        return word;
    }
    let sysroot = plain("rustc").args(["--print", "sysroot"]).output().map(|output| output.stdout);
    word.replace("{sysroot}", String::from_utf8_lossy(&sysroot.unwrap_or_default()).trim())
}

/// The caller's, and the folders for administrators.
fn path() -> String {
    format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default())
}

fn found(name: &str, folder: &Path) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(folder.join(name)).filter(|path| path.exists());
    }
    path().split(':').map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
}
