//! What every test of the command needs: the command, the library, programs compiled for the test.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// The command, in an environment without anything that the library or jemalloc reads.
pub(crate) fn jeshim() -> Command {
    plain(env!("CARGO_BIN_EXE_jeshim"))
}

/// A program in such an environment.
pub(crate) fn plain(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    for name in ["LD_PRELOAD", "MALLOC_CONF", "JESHIM_REPORT", "JESHIM_CHILDREN", "JESHIM_DEEPBIND"] {
        command.env_remove(name);
    }
    // Whoever runs the tests in the background ignores them.
    let signals = [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP, libc::SIGTERM];
    let as_usual = move || {
        for signal in signals {
            // SAFETY: no handler is installed.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: only system calls between fork and exec.
    unsafe { command.pre_exec(as_usual) };
    command
}

/// The library that cargo built beside this test's executable.
pub(crate) fn library() -> PathBuf {
    let test = std::env::current_exe().expect("the test's own path");
    let library = test.parent().expect("a folder").join("libjeshim.so");
    assert!(library.exists(), "{} is missing: cargo builds it before the tests", library.display());
    library
}

/// A folder of its own for a test; it stays for a look after a failure.
pub(crate) fn scratch(name: &str) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    folder
}

/// Compiles a file (a path with .c, .cpp), or the text of a C program, with further arguments; the path of the result.
pub(crate) fn compile(source: &str, arguments: &[&str]) -> PathBuf {
    let folder = scratch("compiled");
    let file = if source.contains('\n') || !Path::new(source).exists() {
        let file = folder.join("source.c");
        std::fs::write(&file, source).expect("a source file");
        file
    } else {
        PathBuf::from(source)
    };
    let output = folder.join("program");
    let compiler = if file.extension().is_some_and(|end| end == "cpp") { "c++" } else { "cc" };
    let result = Command::new(compiler).arg("-o").arg(&output).arg(&file).args(arguments).output().expect("a compiler");
    assert!(result.status.success(), "{source}: {}", String::from_utf8_lossy(&result.stderr));
    output
}

/// What a command said on standard output.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What it said on standard error.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
