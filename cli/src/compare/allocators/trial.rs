//! Whether a library loads: tried with a small program of this machine, since a library that the dynamic linker cannot
//! take leaves the program running without it (glibc), and whether it can, no file tells.

use super::{Allocator, Kind, base_environment};
use crate::elf::Elf;
use crate::library::Target;
use crate::terminal::printable;
use anyhow::{Context, bail};
use jeshim_host::executable;
use jeshim_host::launch::signal_name;
use object::read::ReadCache;
use std::ffi::OsString;
use std::io::{Read, Seek};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The longest that the program may take; it needs a few milliseconds.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// The signal that ends it then.
const KILLED: i32 = 9;
/// Of what it prints on standard error.
const LONGEST: u64 = 1 << 16;
/// Programs to try when this command is static, or for another C library than most are.
const OTHERS: [&str; 4] = ["/usr/bin/env", "/bin/sh", "/usr/bin/true", "/bin/ls"];

/// Programs that can be tried with a preloaded library, each with what it is for; the first is what this machine's are.
pub(super) fn programs() -> impl Iterator<Item = (PathBuf, Target)> {
    let this = std::env::current_exe().ok();
    this.into_iter().chain(OTHERS.map(PathBuf::from)).filter_map(|path| {
        let program = Elf::read(&ReadCache::new(executable::open(&path).ok()?)).ok()?;
        let is_dynamic = !program.is_static();
        is_dynamic.then(|| (path, program.target()))
    })
}

/// Tries to load an allocator's library, with its settings.
///
/// # Errors
/// What the dynamic linker says, or how the program ended; what jemalloc says of its options. With a remedy, in a line.
pub(super) fn loads(allocator: &Allocator) -> anyhow::Result<()> {
    let Some(library) = allocator.kind.library() else { return Ok(()) };
    let Some(program) = programs().map(|(path, _)| path).find(|program| ends_well(program)) else { return Ok(()) };
    let (status, said) = run(&program, &allocator.variables)?;
    let name = printable(library.file_name().unwrap_or(library.as_os_str()));
    if let Some(message) = refusal(&said, library) {
        bail!("{name} does not load: {message}; install what it needs, or use another build of it");
    }
    if !status.success() {
        let last = said
            .lines()
            .rfind(|line| !line.trim().is_empty())
            .map_or(String::new(), |line| format!(" ({})", printable(line.trim())));
        let program = printable(&program);
        bail!("{program} with {name} preloaded {}{last}; use another build of it, or other settings", ended(status));
    }
    if let Kind::Jemalloc(_) = allocator.kind
        && let Some(complaint) = said.lines().find_map(|line| line.strip_prefix("<jemalloc>: "))
    {
        bail!("{name} says of its options: {}; 'man 3 jemalloc' has those of its version", printable(complaint.trim()));
    }
    Ok(())
}

/// What the dynamic linker says when it goes on without the library.
pub(in crate::compare) fn refusal(said: &str, library: &Path) -> Option<String> {
    // "ERROR: ld.so: object '/a.so' from LD_PRELOAD cannot be preloaded (wrong ELF class: ELFCLASS32): ignored."
    let library = library.to_string_lossy();
    let line = said.lines().find(|line| line.contains("cannot be preloaded") && line.contains(&*library))?;
    let (_, after) = line.split_once("cannot be preloaded")?;
    let reason = after.trim().trim_end_matches(": ignored.");
    let reason = reason.strip_prefix('(').and_then(|reason| reason.strip_suffix(')')).unwrap_or(reason);
    let reason = if reason.is_empty() { "cannot be preloaded" } else { reason };
    Some(format!("the dynamic linker says '{}'", printable(reason)))
}

fn ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with status {code}"),
        (None, Some(KILLED)) => {
            format!("was ended by SIGKILL, as it is when it takes longer than {} s", TIME_LIMIT.as_secs())
        }
        (None, Some(signal)) => format!("was ended by {}", signal_name(signal)),
        (None, None) => "ended".to_owned(),
    }
}

/// Whether the program does what it is to do when nothing is preloaded.
fn ends_well(program: &Path) -> bool {
    run(program, &[]).is_ok_and(|(status, _)| status.success())
}

/// Runs the program: how it ended, and what was said on standard error.
fn run(program: &Path, variables: &[(OsString, OsString)]) -> anyhow::Result<(ExitStatus, String)> {
    let mut said =
        tempfile::tempfile().context("no temporary file; set TMPDIR to a folder that this user may write")?;
    let (base, _) = base_environment();
    let mut command = Command::new(program);
    command.arg("--version").env_clear().envs(base).envs(variables.iter().cloned());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::from(said.try_clone()?));
    let mut child = command.spawn().with_context(|| format!("{} as a test program", printable(program)))?;
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if began.elapsed() > TIME_LIMIT {
            child.kill()?;
            break child.wait()?;
        }
        std::thread::sleep(Duration::from_micros(500));
    };
    said.rewind()?;
    let mut bytes = Vec::new();
    said.take(LONGEST).read_to_end(&mut bytes)?;
    Ok((status, String::from_utf8_lossy(&bytes).into_owned()))
}
