//! jemalloc's own integration tests pass on the library, linked and preloaded (docs/jemalloc-own-tests.md). Under the default
//! options only; the script without `--quick` goes through upstream's other option strings too, and takes minutes.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// The library that cargo built for this test run: beside the test's own executable.
fn library() -> PathBuf {
    let executable = env::current_exe().expect("the path of this test");
    let library = executable.with_file_name("libjeshim.so");
    assert!(
        library.is_file(),
        "{} is missing: cargo builds it for this test as long as `crate-type` in Cargo.toml names cdylib",
        library.display()
    );
    library
}

fn run_against(library: &Path) -> Output {
    let output = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/jemalloc-tests.sh"))
        .arg("--quick")
        .arg(library)
        .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("jemalloc-tests"))
        .output()
        .expect("scripts/jemalloc-tests.sh starts");
    // Shown by cargo when the test fails, or with --nocapture.
    println!("{}", String::from_utf8_lossy(&output.stdout));
    eprintln!("{}", String::from_utf8_lossy(&output.stderr));
    output
}

#[test]
fn every_result_is_as_the_table_of_exceptions_says() {
    let output = run_against(&library());
    assert!(
        output.status.success(),
        "jemalloc's own tests: {}; the lines above that begin with FAIL or SKIP say which",
        output.status
    );
}

/// What the test above is worth: with a library that allocates nothing, not one of jemalloc's tests is taken for passed.
#[test]
fn a_library_that_serves_nothing_passes_none() {
    let nothing = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libnothing.so");
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut words = compiler.split_whitespace();
    let status = Command::new(words.next().expect("CC names a compiler"))
        .args(words)
        .args(["-shared", "-fPIC", "-x", "c", "/dev/null", "-o"])
        .arg(&nothing)
        .status()
        .expect("the C compiler starts");
    assert!(status.success(), "compiling an empty library: {status}");

    let output = run_against(&nothing);
    assert_eq!(output.status.code(), Some(1), "the script's verdict");
    let results = String::from_utf8_lossy(&output.stdout);
    assert!(results.lines().any(|line| line.starts_with("FAIL malloc preloaded")), "no line for the test `malloc`");
    assert!(
        !results.lines().any(|line| line.starts_with("PASS") || line.starts_with("EXPECTED")),
        "a result that the empty library cannot have"
    );
}
