//! What the tests of the command share.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The command, without variables of the caller's that would change what it does.
pub fn jeshim() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jeshim"));
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if ["LD_PRELOAD", "MALLOC_CONF", "NO_COLOR", "CLICOLOR_FORCE"].contains(&name.as_str())
            || name.starts_with("JESHIM_")
        {
            command.env_remove(name);
        }
    }
    command
}

/// The library that cargo has built beside the tests.
pub fn library() -> PathBuf {
    let own = std::env::current_exe().expect("the test executable has a path");
    own.parent().expect("it is in a folder").join("libjeshim.so")
}

/// A fresh folder.
pub fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a scratch folder can be made");
    folder
}

/// Compiles a C program, given as its text or as the path of its file.
pub fn compile(source: &str, arguments: &[&str]) -> PathBuf {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    (source, arguments, std::process::id(), std::thread::current().id()).hash(&mut hasher);
    let folder = scratch(&format!("compiled-{:x}", hasher.finish()));
    let file = if source.contains('\n') || source.contains('{') {
        let file = folder.join("program.c");
        std::fs::write(&file, source).expect("a source can be written");
        file
    } else {
        PathBuf::from(source)
    };
    let program = folder.join("program");
    let output = Command::new("cc").arg("-o").arg(&program).arg(&file).args(arguments).output().expect("cc runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// What a command said on standard output.
pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What it said on standard error.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
