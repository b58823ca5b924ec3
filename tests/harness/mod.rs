//! What every test needs: the built library, fixtures compiled against nothing but libc, programs run with the
//! library preloaded, and the proof record that shows who served them.

pub(crate) mod time_limit;

use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// The library that `cargo test` built beside this test's executable.
pub(crate) fn library() -> PathBuf {
    let test = std::env::current_exe().expect("the test's own path");
    let library = test.parent().expect("a folder").join("libjeshim.so");
    assert!(library.exists(), "{} is missing: cargo builds it before the tests", library.display());
    library
}

/// A folder of its own for a test, emptied; it stays for a look after a failure.
pub(crate) fn scratch(name: &str) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    folder
}

/// Compiles `tests/fixtures/NAME` (.c, .cpp or .rs) with the given extra arguments; the path of the result. Without
/// optimisation unless asked for: a compiler that optimises removes pairs of malloc and free.
pub(crate) fn fixture(name: &str, arguments: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    let output = scratch("fixture").join(source.file_stem().expect("a file name"));
    let mut compile = match source.extension().and_then(OsStr::to_str) {
        Some("c") => Command::new("cc"),
        Some("cpp") => Command::new("c++"),
        Some("rs") => Command::new("rustc"),
        _ => panic!("{name}: not C, C++ or Rust"),
    };
    // After the source: libraries are searched for what came before them.
    let result = compile.arg("-o").arg(&output).arg(&source).args(arguments).output().expect("a compiler");
    assert!(result.status.success(), "{name}: {}", String::from_utf8_lossy(&result.stderr));
    output
}

/// A command with the library preloaded, before whatever the test adds; the environment is free of jemalloc's and our
/// variables.
pub(crate) fn preloaded(program: impl AsRef<OsStr>) -> Command {
    let mut command = plain(program);
    command.env("LD_PRELOAD", library());
    command
}

/// The same without the library.
pub(crate) fn plain(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for name in ["LD_PRELOAD", "MALLOC_CONF", "JESHIM_REPORT", "JESHIM_CHILDREN", "JESHIM_DEEPBIND"] {
        command.env_remove(name);
    }
    command
}

/// Runs a command to its end and gives its output; fails the test when it did not exit with 0.
pub(crate) fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\nstdout: {}\nstderr: {}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Runs a command with the library and a record; its output and that record, of the first process.
pub(crate) fn recorded(command: &mut Command) -> (Output, Value) {
    let path = scratch("record").join("record.json");
    let output = command.env("JESHIM_REPORT", &path).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    (output, record(&path))
}

/// A proof record.
pub(crate) fn record(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}\n{text}", path.display()))
}

/// All records in a folder.
pub(crate) fn records(folder: &Path) -> Vec<Value> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.iter().map(|path| record(path)).collect()
}

/// The small allocations that the library served, from a finished record.
pub(crate) fn small_allocations(record: &Value) -> u64 {
    record["served"]["small_allocations"].as_u64().unwrap_or_else(|| panic!("not finished: {record:#}"))
}

/// Standard error as text.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Standard output as text.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}
