//! Where the record goes: the path that the user gave, its `%` signs, and what is done when the name is taken.

use core::ffi::CStr;
use jeshim_platform::process;
use jeshim_platform::text::Text;

/// The longest path, NUL included (PATH_MAX).
pub(super) const MAXIMUM: usize = 4096;

/// A path with `%p` (pid) and `%%`; `%e` (file name of the program) is replaced when it is set.
pub(super) struct Template {
    text: [u8; MAXIMUM],
    length: usize,
}

impl Template {
    pub(super) const fn new() -> Self {
        Template { text: [0; MAXIMUM], length: 0 }
    }

    /// Takes the path, made absolute: a forked child may have another working directory.
    ///
    /// # Errors
    /// Cause and remedy, when it cannot be a path.
    pub(super) fn set(&mut self, path: &[u8]) -> Result<(), (&'static str, &'static str)> {
        if path.last() == Some(&b'/') {
            return Err(("it is a directory", "name a file in it, such as record-%p.json"));
        }
        let mut text = Text::new(&mut self.text);
        if path.first() != Some(&b'/') {
            let mut directory = [0; MAXIMUM];
            push_literally(&mut text, process::working_directory(&mut directory));
            text.push(b"/");
        }
        push_path(&mut text, path)?;
        if !text.is_complete() {
            return Err(("the path is too long", "name a shorter path"));
        }
        self.length = text.as_bytes().len();
        Ok(())
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.text.get(..self.length).unwrap_or(&[])
    }

    /// The path of a process. When it is taken, and only then, the pid is appended (attempt 1), and then a number: a
    /// process that replaces itself by exec keeps its pid.
    pub(super) fn expand<'b>(&self, buffer: &'b mut [u8], pid: u32, attempt: u32) -> Option<&'b CStr> {
        let mut text = Text::new(buffer);
        let mut rest = self.as_bytes();
        while let Some((byte, after)) = rest.split_first() {
            rest = after;
            match (*byte, rest.split_first()) {
                (b'%', Some((b'p', after))) => {
                    text.push_number(u64::from(pid));
                    rest = after;
                }
                (b'%', Some((_, after))) => {
                    text.push(b"%");
                    rest = after;
                }
                (other, _) => _ = text.push(&[other]),
            }
        }
        if attempt > 0 {
            text.push(b".").push_number(u64::from(pid));
        }
        if attempt > 1 {
            text.push(b".").push_number(u64::from(attempt));
        }
        // `text` borrows the buffer for as long as it lives; end that before lending it to the caller.
        let length = text.as_c_str()?.count_bytes();
        CStr::from_bytes_with_nul(buffer.get(..=length)?).ok()
    }
}

/// Adds the path, with `%e` replaced and everything else kept for [`Template::expand`].
fn push_path(text: &mut Text, path: &[u8]) -> Result<(), (&'static str, &'static str)> {
    let mut rest = path;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'%' {
            text.push(&[*byte]);
            continue;
        }
        match rest.split_first() {
            Some((b'p', after)) => (_, rest) = (text.push(b"%p"), after),
            Some((b'%', after)) => (_, rest) = (text.push(b"%%"), after),
            Some((b'e', after)) => {
                let mut program = [0; MAXIMUM];
                let program = process::program(&mut program);
                let name = program.rsplit(|byte| *byte == b'/').next().unwrap_or(b"");
                push_literally(text, if name.is_empty() { b"unknown" } else { name });
                rest = after;
            }
            _ => return Err(("a '%' that is none of %p, %e and %%", "write %% for a percent sign")),
        }
    }
    Ok(())
}

/// Adds text in which a '%' is just that.
fn push_literally(text: &mut Text, bytes: &[u8]) {
    for byte in bytes {
        text.push(if *byte == b'%' { b"%%" } else { core::slice::from_ref(byte) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;

    fn expand(path: &str, attempt: u32) -> std::string::String {
        let mut template = Template::new();
        template.set(path.as_bytes()).unwrap();
        let mut buffer = [0; MAXIMUM];
        template.expand(&mut buffer, 42, attempt).unwrap().to_str().unwrap().into()
    }

    #[test]
    fn expands_its_signs() {
        assert_eq!(expand("/tmp/a-%p.json", 0), "/tmp/a-42.json");
        assert_eq!(expand("/tmp/100%%", 0), "/tmp/100%");
        let own = std::env::current_exe().unwrap();
        let own = own.file_name().unwrap().to_str().unwrap();
        assert_eq!(expand("/tmp/%e", 0), std::format!("/tmp/{own}"));
    }

    #[test]
    fn a_taken_name_gets_the_pid_and_then_a_number() {
        assert_eq!(expand("/tmp/a", 1), "/tmp/a.42");
        assert_eq!(expand("/tmp/a", 2), "/tmp/a.42.2");
    }

    #[test]
    fn a_relative_path_is_made_absolute() {
        let directory = std::env::current_dir().unwrap();
        assert_eq!(expand("a", 0), directory.join("a").to_str().unwrap());
    }

    #[test]
    fn what_cannot_be_a_path_is_refused() {
        for path in ["/tmp/%x", "/tmp/%", "/tmp/a%", "/tmp/"] {
            assert!(Template::new().set(path.as_bytes()).is_err(), "{path}");
        }
        assert!(Template::new().set(&[b'/'; MAXIMUM]).is_err());
    }
}
