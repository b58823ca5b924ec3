//! The programs of the corpus that Debian does not have ready: compiled here.

use crate::harness::{plain, scratch};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The path of a program that is built, in `folder` where it is a copy; `None` when it cannot be: a compiler, a library or
/// a right is missing.
pub(super) fn program(name: &str, folder: &Path) -> Option<PathBuf> {
    match name {
        "hello" => c("hello.c", &[]),
        "own-malloc" => c("own_malloc.c", &["-fno-builtin"]),
        "daemon" => c("daemon.c", &[]),
        "ends-at-once" => c("ends_at_once.c", &[]),
        "jeshim" => Some(PathBuf::from(env!("CARGO_BIN_EXE_jeshim"))),
        "static" => c("hello.c", &["-static"]),
        "static-pie" => c("hello.c", &["-static-pie"]),
        "32-bit" => c("hello.c", &["-m32"]),
        "x32" => c("hello.c", &["-mx32"]),
        "musl" => compiled("musl-gcc", "hello.c", &[]),
        "musl-static" => compiled("musl-gcc", "hello.c", &["-static"]),
        "asan" => c("hello.c", &["-fsanitize=address"]),
        "asan-static" => c("hello.c", &["-fsanitize=address", "-static-libasan"]),
        "tsan" => c("hello.c", &["-fsanitize=thread"]),
        "lsan" => c("hello.c", &["-fsanitize=leak"]),
        "ubsan" => c("hello.c", &["-fsanitize=undefined"]),
        "jemalloc-static" => c("hello.c", &["-l:libjemalloc.a", "-lstdc++", "-lm"]),
        "jemalloc-dynamic" => c("hello.c", &["-Wl,--no-as-needed", "-ljemalloc"]),
        "tcmalloc-static" => {
            let archive = ["-Wl,--whole-archive", "-l:libtcmalloc_minimal.a", "-Wl,--no-whole-archive"];
            compiled("g++", "hello.c", &archive)
        }
        "tcmalloc-dynamic" => c("hello.c", &["-Wl,--no-as-needed", "-ltcmalloc_minimal"]),
        "mimalloc-dynamic" => c("hello.c", &["-Wl,--no-as-needed", "-lmimalloc"]),
        "rust-system" => compiled("rustc", "rust.rs", &["-O"]),
        "rust-static" => compiled("rustc", "rust.rs", &["-O", "-Ctarget-feature=+crt-static"]),
        "rust-mimalloc" => example("corpus_mimalloc"),
        "rust-jemalloc" => example("corpus_jemalloc"),
        "busybox-ls" => {
            let link = folder.join("ls");
            std::os::unix::fs::symlink("/bin/busybox", &link).ok().filter(|()| link.exists())?;
            Some(link)
        }
        "ls-setuid" => {
            let copy = copy("/bin/ls", folder)?;
            succeeds(plain("chown").arg("daemon:daemon").arg(&copy))?;
            fs::set_permissions(&copy, Permissions::from_mode(0o4755)).ok()?;
            Some(copy)
        }
        "ping-capabilities" => {
            let copy = copy("/bin/ping", folder)?;
            succeeds(plain("/sbin/setcap").arg("cap_net_raw+ep").arg(&copy))?;
            Some(copy)
        }
        _ => panic!("'{name}' is not a program of built.rs"),
    }
}

fn c(source: &str, arguments: &[&str]) -> Option<PathBuf> {
    compiled("cc", source, arguments)
}

/// Without optimisation unless asked for: a compiler that optimises removes pairs of malloc and free.
fn compiled(compiler: &str, source: &str, arguments: &[&str]) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(source);
    let output = scratch("corpus-built").join("program");
    // After the source: libraries are searched for what came before them.
    succeeds(plain(compiler).arg("-o").arg(&output).arg(source).args(arguments))?;
    Some(output)
}

/// A program with dependencies. Cargo builds it with the tests, unless only some of them are asked for.
fn example(name: &str) -> Option<PathBuf> {
    let test = std::env::current_exe().ok()?;
    let profile = test.parent()?.parent()?;
    let path = profile.join("examples").join(name);
    if !path.exists() {
        let release = profile.ends_with("release").then_some("--release");
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let mut build = plain(env!("CARGO"));
        build
            .args(["build", "--quiet", "--locked", "--example", name])
            .args(release)
            .arg("--manifest-path")
            .arg(manifest);
        succeeds(build.env("CARGO_TARGET_DIR", profile.parent()?))?;
    }
    path.exists().then_some(path)
}

fn copy(file: &str, folder: &Path) -> Option<PathBuf> {
    let copy = folder.join(Path::new(file).file_name()?);
    fs::copy(file, &copy).ok()?;
    Some(copy)
}

fn succeeds(command: &mut Command) -> Option<()> {
    command.output().ok()?.status.success().then_some(())
}
