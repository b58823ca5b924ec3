//! For shells, which can quote everything but NUL, and no variable holds that.

use super::Variable;
use std::os::unix::ffi::OsStrExt;

/// `NAME='value'`, a line each, in the quotes of POSIX shells.
pub fn assignments(variables: &[Variable]) -> Vec<u8> {
    lines(variables, |line, name, value| {
        line.extend_from_slice(name.as_bytes());
        line.push(b'=');
        posix_quoted(line, value);
    })
}

/// Lines for bash, dash, zsh and other POSIX shells.
pub(super) fn exports(variables: &[Variable]) -> Vec<u8> {
    lines(variables, |line, name, value| {
        line.extend_from_slice(format!("export {name}=").as_bytes());
        posix_quoted(line, value);
    })
}

/// Lines for fish, where a backslash has a meaning in single quotes, too.
pub(super) fn fish(variables: &[Variable]) -> Vec<u8> {
    lines(variables, |line, name, value| {
        line.extend_from_slice(format!("set -gx {name} '").as_bytes());
        for byte in value {
            if matches!(byte, b'\'' | b'\\') {
                line.push(b'\\');
            }
            line.push(*byte);
        }
        line.push(b'\'');
    })
}

fn lines(variables: &[Variable], one: impl Fn(&mut Vec<u8>, &str, &[u8])) -> Vec<u8> {
    let mut text = Vec::new();
    for (name, value) in variables {
        one(&mut text, name, value.as_bytes());
        text.push(b'\n');
    }
    text
}

/// In single quotes, where only the quote itself has a meaning: it is put between two quoted pieces.
fn posix_quoted(line: &mut Vec<u8>, value: &[u8]) {
    line.push(b'\'');
    for byte in value {
        match byte {
            b'\'' => line.extend_from_slice(b"'\\''"),
            byte => line.push(*byte),
        }
    }
    line.push(b'\'');
}
