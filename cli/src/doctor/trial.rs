//! The test program: started with the library preloaded, it writes a proof record, which is what the checks believe.

use super::machine::cause;
use crate::library::{Library, Target};
use crate::records;
use jeshim_host::preload;
use object::read::ReadCache;
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The longest that the test program may take; it needs a few milliseconds.
const TIME_LIMIT: Duration = Duration::from_secs(2);
/// Of what it prints on standard error.
const LONGEST: u64 = 1 << 16;
/// Programs to try when this command is for another C library or processor than the library is, or static.
const OTHERS: [&str; 4] = ["/usr/bin/env", "/bin/sh", "/usr/bin/true", "/bin/ls"];

/// What became of the test program.
#[derive(Debug, Clone)]
pub enum Trial {
    /// There was no library to try.
    NoLibrary,
    /// It could not be started, for this reason.
    NotTried(String),
    /// It ended, and left a record.
    Recorded {
        /// What was started.
        program: PathBuf,
        /// The proof record (docs/proof-record.md).
        record: Value,
    },
    /// It ended without a record.
    Silent {
        /// What was started.
        program: PathBuf,
        /// How it ended.
        status: ExitStatus,
        /// What it, the dynamic linker and the library wrote on standard error.
        messages: String,
    },
    /// It did not end in time.
    TookTooLong {
        /// What was started.
        program: PathBuf,
        /// For how long it was waited.
        limit: Duration,
    },
}

impl Trial {
    /// Starts the test program with these variables, and the library.
    pub fn run(library: &Library, variables: &[(OsString, OsString)]) -> Trial {
        let Some((program, argument)) = program_for(library) else {
            return Trial::NotTried("no program to try the library with".to_owned());
        };
        start(library, variables, &program, argument, TIME_LIMIT).unwrap_or_else(|error| {
            Trial::NotTried(format!("{} as a test program: {}", program.display(), cause(&error)))
        })
    }

    /// A member of the record, by its JSON pointer.
    pub fn recorded(&self, pointer: &str) -> Option<&Value> {
        match self {
            Trial::Recorded { record, .. } => record.pointer(pointer).filter(|value| !value.is_null()),
            _ => None,
        }
    }
}

/// This command, which is there for certain and allocates; else one of the system's.
fn program_for(library: &Library) -> Option<(PathBuf, &'static str)> {
    let this = std::env::current_exe().ok().map(|path| (path, "--version"));
    let others = OTHERS.iter().map(|path| (PathBuf::from(path), "--version"));
    let mut programs: Vec<_> = this.into_iter().chain(others).filter(|(path, _)| path.is_file()).collect();
    let same_kind = programs.iter().position(|(path, _)| is_for(library, path));
    // None of its kind: the dynamic linker's own message then says best what is wrong.
    (!programs.is_empty()).then(|| programs.swap_remove(same_kind.unwrap_or(0)))
}

fn is_for(library: &Library, program: &Path) -> bool {
    let Ok(file) = std::fs::File::open(program) else { return false };
    let cache = ReadCache::new(file);
    let Ok(object) = object::File::parse(&cache) else { return false };
    let target = Target::of(&object);
    std::mem::discriminant(&target.system) == std::mem::discriminant(&library.target.system)
        && (target.architecture, target.bits) == (library.target.architecture, library.target.bits)
}

fn start(
    library: &Library,
    variables: &[(OsString, OsString)],
    program: &Path,
    argument: &str,
    limit: Duration,
) -> std::io::Result<Trial> {
    // The record, and whatever the options let the program write into its folder.
    let folder = match records::Folder::new() {
        Ok(folder) => folder,
        Err(error) => return Ok(Trial::NotTried(format!("{error:#}"))),
    };
    let folder_of_library = folder.path().join(preload::FILE_NAME);
    let mut preloaded = library.path.as_path();
    if !preload::can_name(preloaded) {
        std::os::unix::fs::symlink(preloaded, &folder_of_library)?;
        preloaded = &folder_of_library;
    }
    let variable = |name: &str| variables.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_os_str());
    let mut command = Command::new(program);
    command.arg(argument).env_clear().envs(variables.iter().map(|(name, value)| (name, value)));
    command.env(preload::VARIABLE, preload::put_first(preloaded, variable(preload::VARIABLE)));
    command.env("JESHIM_REPORT", folder.template());
    if let Some(options) = variable("MALLOC_CONF").filter(|options| !options.is_empty()) {
        command.env("MALLOC_CONF", without_files(options));
    }
    command.current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let messages = child.stderr.take().map(|pipe| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            // An end for whatever reason is an end; what came before it counts.
            let _ = pipe.take(LONGEST).read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        })
    });
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if began.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(Trial::TookTooLong { program: program.to_owned(), limit });
        }
        std::thread::sleep(Duration::from_micros(500));
    };
    let report = folder.path().join(child.id().to_string());
    let record = std::fs::read(report).ok().and_then(|text| serde_json::from_slice(&text).ok());
    let program = program.to_owned();
    Ok(match record {
        Some(record) if status.signal().is_none() => Trial::Recorded { program, record },
        _ => {
            let messages = messages.and_then(|thread| thread.join().ok()).unwrap_or_default();
            Trial::Silent { program, status, messages }
        }
    })
}

/// The user's options, without the heap profiles that they may ask for.
fn without_files(options: &OsStr) -> OsString {
    let mut options = options.to_owned();
    options.push(",prof_final:false,prof_leak:false");
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_does_not_end_is_ended() {
        let path = PathBuf::from("/bin/sh");
        let library = Library {
            path: PathBuf::from("/nowhere/libjeshim.so"),
            version: String::new(),
            jemalloc_version: String::new(),
            page_size: 4096,
            options: Vec::new(),
            target: Target {
                system: crate::library::System::Glibc(None),
                architecture: object::Architecture::X86_64,
                sub_architecture: None,
                bits: 64,
                endianness: object::Endianness::Little,
            },
        };
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("sleeps");
        std::fs::write(&script, "exec sleep 60\n").unwrap();
        let began = Instant::now();
        let trial = start(&library, &[], &path, script.to_str().unwrap(), Duration::from_millis(100)).unwrap();
        assert!(matches!(trial, Trial::TookTooLong { .. }), "{trial:?}");
        assert!(began.elapsed() < Duration::from_secs(5));
    }
}
