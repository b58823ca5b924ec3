//! From the command that was typed to the program that runs: links, first lines of scripts, programs that start others.

use super::open::{self, Opened};
use super::script::{self, Script};
use super::wrapper::{self, Does};
use super::{Depth, Effect, Examination, ExamineError, Surroundings, environment, program};
use crate::terminal::printable;
use jeshim_host::executable::{self, MOST_INTERPRETERS, Privilege};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Longer ways are taken to lead nowhere.
const MOST_PROGRAMS: usize = 40;

/// A command on its way.
pub(super) struct Walk<'a> {
    pub(super) around: &'a Surroundings<'a>,
    /// As they are at this point of the way.
    pub(super) variables: Vec<(OsString, OsString)>,
    pub(super) found: Examination,
    /// Whether the library is still asked for at this point.
    pub(super) preloads: bool,
    /// Whether constants and libraries are looked into.
    pub(super) depth: Depth,
}

/// What comes after a file.
enum Next {
    /// This is the one.
    Here,
    /// Nothing more can be said.
    Nothing,
    /// Another file, the arguments for it, and why.
    File(PathBuf, Vec<OsString>, String),
}

impl Walk<'_> {
    /// Follows a command to its end and examines what is there.
    pub(super) fn follow(&mut self, first: PathBuf, arguments: &[OsString]) -> Result<(), ExamineError> {
        let (mut path, mut arguments, mut because) = (first, arguments.to_vec(), "asked for".to_owned());
        let mut interpreters = 0;
        for _ in 0..MOST_PROGRAMS {
            let file = open::open(&path, &because, &mut self.found.steps)?;
            self.store(&path, &file);
            let next = match script::read(&file.start) {
                _ if file.file.is_none() => {
                    self.unreadable(&file);
                    Next::Nothing
                }
                _ if program::has_magic(&file.start) => {
                    interpreters = 0;
                    self.privilege(&file);
                    self.wrapped(&file, &arguments)?
                }
                Script::Interpreted { .. } if interpreters == MOST_INTERPRETERS => {
                    self.circular(&file);
                    Next::Nothing
                }
                Script::Interpreted { interpreter, argument } => {
                    // valgrind and xvfb-run are scripts.
                    match self.wrapped(&file, &arguments)? {
                        next @ Next::File(..) => next,
                        _ => {
                            interpreters += 1;
                            self.interpreter(&file, &path, &interpreter, argument, &arguments)
                        }
                    }
                }
                Script::ForShell if executable::may_execute(&file.path) && !self.found.steps.is_empty() => {
                    self.for_shell(&file, &path, &arguments)
                }
                _ => {
                    self.unknown(&file);
                    Next::Nothing
                }
            };
            match next {
                Next::Here => {
                    program::examine(self, &file);
                    return Ok(());
                }
                Next::Nothing => return Ok(()),
                Next::File(next_path, next_arguments, next_because) => {
                    (path, arguments, because) = (next_path, next_arguments, next_because);
                }
            }
        }
        let cause = format!("{} leads through more than {MOST_PROGRAMS} programs, or back to itself", printable(&path));
        self.found.add("circular", Effect::Unsure, cause, "name the program that is to run in the end");
        Ok(())
    }

    fn interpreter(
        &mut self,
        script: &Opened,
        as_named: &Path,
        name: &[u8],
        argument: Option<Vec<u8>>,
        arguments: &[OsString],
    ) -> Next {
        let interpreter = PathBuf::from(wrapper::argument(name));
        let mut all: Vec<OsString> = argument.map(|argument| wrapper::argument(&argument)).into_iter().collect();
        all.push(as_named.as_os_str().to_owned());
        all.extend_from_slice(arguments);
        let usable = open::find(interpreter.as_os_str(), &self.variables);
        // Without a slash it is looked for in the current folder, not by PATH.
        if usable.is_err() || !interpreter.exists() {
            let why = usable.err().map_or("it is not found".to_owned(), |error| error.to_string());
            let cause = format!(
                "{} asks for the interpreter {}, which cannot run it: {why}",
                printable(&script.path),
                printable(&interpreter)
            );
            self.found.add("interpreter", Effect::Unsure, cause, "correct the first line of the script");
            return Next::Nothing;
        }
        self.shell_note(&interpreter, &script.path);
        Next::File(interpreter, all, format!("interpreter of {}", printable(&script.name)))
    }

    fn for_shell(&mut self, script: &Opened, as_named: &Path, arguments: &[OsString]) -> Next {
        let mut all = vec![as_named.as_os_str().to_owned()];
        all.extend_from_slice(arguments);
        let shell = PathBuf::from("/bin/sh");
        self.shell_note(&shell, &script.path);
        Next::File(shell, all, format!("runs {}, which names no interpreter", printable(&script.name)))
    }

    fn shell_note(&mut self, interpreter: &Path, script: &Path) {
        let name = interpreter.file_name().unwrap_or_default().to_string_lossy();
        if script::is_shell(&name) {
            self.found
                .notes
                .push(format!("{} is run by a shell: what that starts is seen only when it runs", printable(script)));
        }
    }

    /// What a program that starts another would start.
    fn wrapped(&mut self, file: &Opened, arguments: &[OsString]) -> Result<Next, ExamineError> {
        let mut name = file.name.to_string_lossy().into_owned();
        let mut arguments = arguments;
        let real = file.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some((applet, rest)) = wrapper::applet(&name, arguments) {
            (name, arguments) = (applet.to_string_lossy().into_owned(), rest);
        }
        let (command, folder) = if name == "env" {
            let env = environment::read(arguments);
            let had = self.variables.clone();
            env.apply(&mut self.variables);
            if !env.command.is_empty() {
                self.after_env(&file.path, &env, &had);
            }
            (env.command, env.folder)
        } else if let Some(wrapped) = wrapper::unwrap(&name, arguments).or_else(|| wrapper::unwrap(&real, arguments)) {
            self.after_wrapper(&file.path, &name, wrapped.does);
            (wrapped.command, None)
        } else {
            self.proxy_note(&name, &real);
            return Ok(Next::Here);
        };
        let Some((program, rest)) = command.split_first() else { return Ok(Next::Here) };
        let inside = folder.filter(|_| program.as_bytes().contains(&b'/')).map(|folder| folder.join(program));
        // The dynamic linker opens its program itself, without PATH, and no right to execute is asked for.
        let path = match inside {
            None if wrapper::is_linker(&name) => PathBuf::from(program),
            inside => {
                let sought = inside.as_deref().map_or(program.as_os_str(), Path::as_os_str);
                // Options that are read wrongly here, or another root, are no reason to say that it cannot start.
                let Ok(path) = open::find(sought, &self.variables) else {
                    self.found.notes.push(format!(
                        "{} is not found here: what {} starts is seen only when it runs",
                        printable(sought),
                        printable(&name)
                    ));
                    return Ok(Next::Here);
                };
                path
            }
        };
        Ok(Next::File(path, rest.to_vec(), format!("started by {}", printable(&name))))
    }

    fn after_env(&mut self, path: &Path, env: &environment::Env, had: &[(OsString, OsString)]) {
        let variable = jeshim_host::preload::VARIABLE;
        let of = |variables: &[(OsString, OsString)]| {
            variables.iter().find(|(name, _)| name == variable).map(|(_, value)| value.clone())
        };
        let now = of(&self.variables);
        let asked = self.around.library.is_some_and(|library| names(now.as_deref(), library.path.as_os_str()));
        let sets = env.set.iter().any(|(name, _)| name == variable);
        let lost = env.cleared || env.removed.iter().any(|name| name == variable) || (sets && now != of(had));
        if lost && !asked {
            let cause = if sets {
                format!("{} sets {variable} to something else", printable(path))
            } else {
                format!("{} starts the program without {variable}", printable(path))
            };
            self.cleared(cause, "leave out what clears it (-i, -u), or put jeshim after it: env -i jeshim run -- CMD");
        } else if asked {
            self.preloads = true;
        }
    }

    fn after_wrapper(&mut self, path: &Path, name: &str, does: Does) {
        let path = printable(path);
        match does {
            Does::Passes | Does::ClearsWith(..) => {}
            Does::Clears(why) => {
                self.cleared(format!("{path} {why}"), "put jeshim after it: sudo jeshim run -- CMD");
            }
            Does::Elsewhere => {
                let cause = format!("{path} starts the program among other files, where the library may not be found");
                self.found.add("other_root", Effect::Unsure, cause, "copy the library there, under the same path");
            }
            Does::Outside(id, remedy) => {
                let cause =
                    format!("{path} starts the program outside of this environment, which {name} does not pass on");
                self.found.add(id, Effect::Prevents, cause, remedy);
                self.preloads = false;
            }
            Does::Valgrind => {
                let cause = format!("{path} replaces malloc in the program that it runs");
                self.found.add(
                    "valgrind",
                    Effect::Prevents,
                    cause,
                    "run it without valgrind, or with --soname-synonyms=somalloc=nouserintercepts",
                );
            }
        }
    }

    fn cleared(&mut self, cause: String, remedy: &str) {
        self.found.add("environment_cleared", Effect::Prevents, cause, remedy);
        self.preloads = false;
    }

    /// Programs that find by their own name what they start.
    fn proxy_note(&mut self, name: &str, real: &str) {
        if name != real && matches!(real, "rustup" | "volta-shim" | "mise" | "update-java-alternatives") {
            self.found
                .notes
                .push(format!("{} starts another program by that name: it is seen only when it runs", printable(real)));
        }
    }

    /// The dynamic linker of such a file ignores preloaded libraries, and takes the variable out for what it starts.
    fn privilege(&mut self, file: &Opened) {
        let path = printable(&file.path);
        let ignores = "the dynamic linker ignores LD_PRELOAD for it";
        let (id, cause, remedy) = match executable::privilege(&file.path, &file.metadata) {
            None => return,
            Some(Privilege::User(user)) => (
                "setuid",
                format!("{path} is a setuid program of another user (uid {user}): {ignores}"),
                "run it as that user, or set LD_PRELOAD for what it starts",
            ),
            Some(Privilege::Group(group)) => (
                "setgid",
                format!("{path} is a setgid program of another group (gid {group}): {ignores}"),
                "run it in that group, or set LD_PRELOAD for what it starts",
            ),
            Some(Privilege::Capabilities) => (
                "capabilities",
                format!("{path} has file capabilities: {ignores}"),
                "run it as root, or run a copy (cp leaves the capabilities behind)",
            ),
        };
        self.found.add(id, Effect::Prevents, cause, remedy);
        self.preloads = false;
    }

    /// Links that flatpak and snap make for what they installed.
    fn store(&mut self, path: &Path, file: &Opened) {
        let path = std::path::absolute(path).unwrap_or(path.to_owned());
        let (id, name) = if path.starts_with("/snap/bin") || path.starts_with("/var/lib/snapd/snap/bin") {
            ("snap", "snap")
        } else if path.to_string_lossy().contains("/flatpak/exports/bin/") {
            ("flatpak", "flatpak")
        } else {
            return;
        };
        let cause = format!(
            "{} is started by {name} inside of a sandbox, which does not pass LD_PRELOAD on",
            printable(&file.name)
        );
        self.found.add(id, Effect::Prevents, cause, "use a package of the system's own");
        self.preloads = false;
    }

    fn unreadable(&mut self, file: &Opened) {
        let cause = format!("{} may not be read by this user", printable(&file.path));
        self.found.add("unreadable", Effect::Unsure, cause, "examine it as root, or run it");
    }

    fn circular(&mut self, file: &Opened) {
        let cause = format!(
            "{} is run by a script, which is run by a script, and so on: the kernel follows {MOST_INTERPRETERS} at most",
            printable(&file.path)
        );
        self.found.add("circular", Effect::Unsure, cause, "name a program, not a script, in the first line");
    }

    fn unknown(&mut self, file: &Opened) {
        let cause = format!("{} is neither ELF nor Mach-O nor a script", printable(&file.path));
        self.found.add("format", Effect::Unsure, cause, "name a program");
    }
}

/// Whether the variable names the library.
fn names(value: Option<&OsStr>, library: &OsStr) -> bool {
    let parts =
        |value: &OsStr| value.as_bytes().split(|byte| b": \t\n".contains(byte)).any(|part| part == library.as_bytes());
    value.is_some_and(parts)
}
