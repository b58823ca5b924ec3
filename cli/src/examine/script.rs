//! The first line of a script, as the kernel reads it (`load_script` in `fs/binfmt_script.c`).

use jeshim_host::executable::FIRST_LINE;

/// What a file that is no program of the kernel's is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Script {
    /// `#!INTERPRETER ARGUMENT`: the rest of the line is one argument.
    Interpreted {
        /// As written.
        interpreter: Vec<u8>,
        /// Without the blanks around it.
        argument: Option<Vec<u8>>,
    },
    /// Text without such a line, or with one that names nothing: `execvp` hands it to /bin/sh.
    ForShell,
    /// Something else.
    Unknown,
}

/// Reads a file's first bytes.
pub(super) fn read(start: &[u8]) -> Script {
    let blank = |byte: &u8| *byte == b' ' || *byte == b'\t';
    let Some(line) = start.strip_prefix(b"#!") else {
        // A shell, too, looks for a zero in the first line.
        let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
        return if line.contains(&0) { Script::Unknown } else { Script::ForShell };
    };
    let window = line.get(..FIRST_LINE - 2).unwrap_or(line);
    let end = window.iter().position(|byte| *byte == b'\n' || *byte == 0);
    let whole = end.is_some() || line.len() < FIRST_LINE - 2;
    let line = end.and_then(|end| window.get(..end)).unwrap_or(window).trim_ascii();
    let split = line.iter().position(blank);
    let (interpreter, argument) = split.map_or((line, None), |at| {
        let (interpreter, rest) = line.split_at(at);
        (interpreter, Some(rest.trim_ascii()))
    });
    // A name that the window cuts is none; an argument may be cut.
    if interpreter.is_empty() || (!whole && split.is_none()) {
        return Script::ForShell;
    }
    let argument = argument.filter(|argument| !argument.is_empty()).map(<[u8]>::to_vec);
    Script::Interpreted { interpreter: interpreter.to_vec(), argument }
}

/// Whether an interpreter is a shell: what a shell starts is in no file's header.
pub(super) fn is_shell(name: &str) -> bool {
    matches!(
        name,
        "sh" | "dash" | "bash" | "rbash" | "zsh" | "ksh" | "ksh93" | "mksh" | "ash" | "fish" | "csh" | "tcsh"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interpreted(interpreter: &str, argument: Option<&str>) -> Script {
        Script::Interpreted { interpreter: interpreter.into(), argument: argument.map(Into::into) }
    }

    #[test]
    fn the_first_line_is_read_as_the_kernel_does() {
        assert_eq!(read(b"#!/bin/sh\n"), interpreted("/bin/sh", None));
        assert_eq!(read(b"#! \t/bin/sh  -e -u \nx"), interpreted("/bin/sh", Some("-e -u")));
        assert_eq!(read(b"#!/usr/bin/env -S a  b"), interpreted("/usr/bin/env", Some("-S a  b")));
        assert_eq!(read(b"#!\n/bin/sh"), Script::ForShell);
        assert_eq!(read(b"echo hello\n"), Script::ForShell);
        assert_eq!(read(b""), Script::ForShell);
        assert_eq!(read(b"\xcf\xfa\xed\0\n"), Script::Unknown);
    }

    #[test]
    fn a_line_that_is_too_long_names_no_interpreter_but_may_lose_its_argument() {
        let long = format!("#!/{}\n", "x".repeat(FIRST_LINE));
        assert_eq!(read(long.as_bytes()), Script::ForShell);
        let argument = format!("#!/bin/sh {}\n", "x".repeat(FIRST_LINE));
        assert_eq!(read(argument.as_bytes()), interpreted("/bin/sh", Some(&"x".repeat(FIRST_LINE - 10))));
    }
}
