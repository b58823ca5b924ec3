//! `env`: its options, its variables, and the splitting of `-S`, as in GNU coreutils.

use super::wrapper::argument;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// What an `env` was told.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Env {
    /// -i.
    pub(super) cleared: bool,
    /// -u, in the order given.
    pub(super) removed: Vec<OsString>,
    /// NAME=VALUE, in the order given.
    pub(super) set: Vec<(OsString, OsString)>,
    /// -C.
    pub(super) folder: Option<PathBuf>,
    /// The program and its arguments; empty for an `env` that prints.
    pub(super) command: Vec<OsString>,
}

impl Env {
    /// What becomes of the variables.
    pub(super) fn apply(&self, variables: &mut Vec<(OsString, OsString)>) {
        if self.cleared {
            variables.clear();
        }
        variables.retain(|(name, _)| !self.removed.contains(name));
        for (name, value) in &self.set {
            variables.retain(|(known, _)| known != name);
            variables.push((name.clone(), value.clone()));
        }
    }
}

/// Reads the arguments of an `env`.
pub(super) fn read(arguments: &[OsString]) -> Env {
    let mut env = Env::default();
    // In reverse, to take from and to put before: -S puts its words in its own place.
    let mut left: Vec<OsString> = arguments.iter().rev().cloned().collect();
    while let Some(option) = left.pop() {
        let bytes = option.as_bytes();
        if bytes == b"--" {
            break;
        } else if bytes == b"-" {
            env.cleared = true;
        } else if let Some(long) = bytes.strip_prefix(b"--") {
            let mut parts = long.splitn(2, |byte| *byte == b'=');
            let (name, value) = (parts.next().unwrap_or_default(), parts.next().map(argument));
            let mut value = || value.clone().or_else(|| left.pop()).unwrap_or_default();
            match name {
                b"ignore-environment" => env.cleared = true,
                b"unset" => env.removed.push(value()),
                b"chdir" => env.folder = Some(value().into()),
                b"argv0" => drop(value()),
                b"split-string" => {
                    let text = value();
                    left.extend(split(text.as_bytes()).into_iter().rev());
                }
                _ => {}
            }
        } else if let Some(cluster) = bytes.strip_prefix(b"-") {
            for (at, letter) in cluster.iter().enumerate() {
                if !b"uCSa".contains(letter) {
                    env.cleared |= *letter == b'i';
                    continue;
                }
                // The value is the rest of this argument, or the next one.
                let attached = cluster.get(at + 1..).filter(|rest| !rest.is_empty()).map(argument);
                let value = attached.or_else(|| left.pop()).unwrap_or_default();
                match letter {
                    b'u' => env.removed.push(value),
                    b'C' => env.folder = Some(value.into()),
                    b'S' => left.extend(split(value.as_bytes()).into_iter().rev()),
                    _ => {}
                }
                break;
            }
        } else {
            left.push(option);
            break;
        }
    }
    while let Some(word) = left.pop() {
        match word.as_bytes().iter().position(|byte| *byte == b'=') {
            Some(at) => {
                let (name, value) = word.as_bytes().split_at(at);
                env.set.push((argument(name), argument(value.get(1..).unwrap_or_default())));
            }
            None => {
                env.command.push(word);
                env.command.extend(left.drain(..).rev());
            }
        }
    }
    env
}

/// Splits the text of `-S` into words. Variables in it (`${NAME}`) stay as they are written.
fn split(text: &[u8]) -> Vec<OsString> {
    let (mut words, mut word) = (Vec::new(), None::<Vec<u8>>);
    let mut quote = None;
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\'' | b'"', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (_, Some(open)) if byte == open => quote = None,
            (b'\\', _) if quote != Some(b'\'') || matches!(bytes.peek(), Some(b'\\' | b'\'')) => {
                let escaped = bytes.next();
                match escaped {
                    // The end of the text, as if the rest were not there.
                    Some(b'c') => break,
                    Some(b'_') if quote.is_none() => words.extend(word.take().map(|word| argument(&word))),
                    Some(other) => word.get_or_insert_default().push(match other {
                        b'_' => b' ',
                        b'n' => b'\n',
                        b't' => b'\t',
                        b'r' => b'\r',
                        b'f' => 12,
                        b'v' => 11,
                        other => other,
                    }),
                    None => {}
                }
            }
            (b' ' | b'\t' | b'\n' | 11 | 12 | b'\r', None) => words.extend(word.take().map(|word| argument(&word))),
            (b'#', None) if word.is_none() => break,
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word.map(|word| argument(&word)));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(arguments: &[&str]) -> Env {
        read(&arguments.iter().map(OsString::from).collect::<Vec<_>>())
    }

    fn words(texts: &[&str]) -> Vec<OsString> {
        texts.iter().map(OsString::from).collect()
    }

    #[test]
    fn the_program_is_found_behind_options_and_variables() {
        for arguments in [
            &["prog", "-x"][..],
            &["--", "prog", "-x"],
            &["A=1", "B=", "prog", "-x"],
            &["-u", "A", "-uB", "--unset=C", "--unset", "D", "prog", "-x"],
            &["-C", "/", "--chdir=/", "prog", "-x"],
            &["-S", "prog -x"],
            &["-S prog -x"],
            &["-S", "prog", "-x"],
            &["-vS", "-u A B=2 'prog' \"-x\""],
            &["--split-string=prog\\_-x # a comment"],
        ] {
            assert_eq!(env(arguments).command, words(&["prog", "-x"]), "{arguments:?}");
        }
        assert_eq!(env(&["-S", r#"a\ b "c d" 'e\f' ''"#]).command, words(&["a b", "c d", "e\\f", ""]));
        // Not split: the kernel hands the rest of a first line over as one argument.
        assert_eq!(env(&["prog -x"]).command, words(&["prog -x"]));
        assert_eq!(env(&[]).command, words(&[]));
    }

    #[test]
    fn what_becomes_of_the_variables_is_known() {
        let after = |arguments: &[&str]| {
            let mut variables = vec![("LD_PRELOAD".into(), "lib.so".into()), ("A".into(), "1".into())];
            env(arguments).apply(&mut variables);
            variables.iter().map(|(name, value)| format!("{}={}", name.display(), value.display())).collect::<Vec<_>>()
        };
        assert_eq!(after(&["prog"]), ["LD_PRELOAD=lib.so", "A=1"]);
        for clearing in [&["-i", "prog"][..], &["-", "prog"], &["--ignore-environment", "prog"], &["-vi", "prog"]] {
            assert_eq!(after(clearing), [""; 0], "{clearing:?}");
        }
        assert_eq!(after(&["-i", "B=2", "prog"]), ["B=2"]);
        assert_eq!(after(&["-u", "LD_PRELOAD", "prog"]), ["A=1"]);
        assert_eq!(after(&["-S-i", "prog"]), [""; 0]);
        assert_eq!(after(&["A=2", "prog", "C=3"]), ["LD_PRELOAD=lib.so", "A=2"]);
    }
}
