//! Rules of the source that no compiler checks.

use std::fs;
use std::path::{Path, PathBuf};

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Lines of the library's and the command's source, outside of `platform/`, that contain one of the words.
fn lines_with(words: &[&str]) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["src", "workloads", "cli"].map(|name| root.join(name)) {
        if folder.exists() {
            rust_files(&folder, &mut files);
        }
    }
    assert!(files.len() > 10, "{files:?}");
    let mut found = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("UTF-8");
        for (number, line) in text.lines().enumerate() {
            if words.iter().any(|word| line.contains(word)) {
                found.push(format!("{}:{}: {line}", file.display(), number + 1));
            }
        }
    }
    found
}

#[test]
fn the_operating_system_is_asked_about_in_platform_only() {
    assert_eq!(lines_with(&["target_os", "cfg(unix)", "cfg(windows)", "target_env"]), Vec::<String>::new());
}

#[test]
fn no_mutable_statics() {
    assert_eq!(lines_with(&["static mut "]), Vec::<String>::new());
}
