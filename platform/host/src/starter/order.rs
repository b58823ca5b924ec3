//! What is to be started, on its way to the starter: where the program may be, its words and variables.

use super::Start;
use super::frame::Frame;
use crate::executable::DEFAULT_PATH;
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The kind of frame that an order is.
pub(super) const KIND: u8 = b's';

/// [`Start`], ready for the system.
pub(super) struct Order {
    pub(super) folder: Option<CString>,
    pub(super) input: OsString,
    pub(super) output: OsString,
    pub(super) errors: OsString,
    /// To be tried one after the other.
    pub(super) candidates: Vec<CString>,
    pub(super) words: Vec<CString>,
    pub(super) variables: Vec<CString>,
}

/// The frame that carries an order.
pub(super) fn frame(start: &Start) -> io::Result<Frame> {
    let program = start.words.first().ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))?;
    let bytes = |text: &OsStr| text.as_bytes().to_vec();
    let folder = start.folder.map(|path| bytes(path.as_os_str())).unwrap_or_default();
    let input = start.input.map_or_else(|| b"/dev/null".to_vec(), |path| bytes(path.as_os_str()));
    let files = vec![folder, input, bytes(start.output.as_os_str()), bytes(start.errors.as_os_str())];
    let candidates = candidates(program, start.variables).iter().map(|path| bytes(path)).collect();
    let words = start.words.iter().map(|word| bytes(word)).collect();
    let variables = start.variables.iter().map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat());
    let lists = vec![files, candidates, words, variables.collect()];
    if lists.iter().flatten().any(|text| text.contains(&0)) {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    Ok(Frame { kind: KIND, numbers: Vec::new(), lists })
}

impl Order {
    /// From the frame.
    pub(super) fn read(frame: Frame) -> Option<Order> {
        let [files, candidates, words, variables] = <[_; 4]>::try_from(frame.lists).ok()?;
        let [folder, input, output, errors] = <[_; 4]>::try_from(files).ok()?;
        let texts = |list: Vec<Vec<u8>>| list.into_iter().map(CString::new).collect::<Result<Vec<_>, _>>().ok();
        Some(Order {
            folder: if folder.is_empty() { None } else { CString::new(folder).ok() },
            input: OsString::from_vec(input),
            output: OsString::from_vec(output),
            errors: OsString::from_vec(errors),
            candidates: texts(candidates)?,
            words: texts(words)?,
            variables: texts(variables)?,
        })
    }
}

/// Where a program may be: a path, or a name to look for in PATH, that of the program's own environment, as a shell
/// would that has it.
fn candidates(program: &OsStr, variables: &[(OsString, OsString)]) -> Vec<OsString> {
    if program.is_empty() || program.as_bytes().contains(&b'/') {
        return vec![program.to_owned()];
    }
    let path = variables.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let folders = path.unwrap_or(OsStr::new(DEFAULT_PATH)).as_bytes().split(|byte| *byte == b':');
    let file = |folder: &[u8]| {
        let folder = if folder.is_empty() { b"." } else { folder };
        OsString::from_vec([folder, b"/", program.as_bytes()].concat())
    };
    folders.map(file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_looked_for_in_the_path_that_the_program_gets() {
        let found = |program: &str, path: Option<&str>| {
            let variables: Vec<_> = path.iter().map(|path| ("PATH".into(), path.into())).collect();
            candidates(OsStr::new(program), &variables)
        };
        assert_eq!(found("a", Some("/x::y/")), ["/x/a", "./a", "y//a"]);
        assert_eq!(found("a", None), ["/bin/a", "/usr/bin/a"]);
        assert_eq!(found("./a", Some("/x")), ["./a"]);
        assert_eq!(found("", Some("/x")), [""]);
    }
}
