//! Whether a server is ready.

use super::running::Running;
use super::{INTERVAL, Step};
use crate::compare::plan::Ready;
use crate::terminal::printable;
use jeshim_host::ports;
use regex::Regex;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Instant;

/// So much of a log is looked at in one turn, in bytes, and so long may a line be that is not over yet.
const AT_ONCE: u64 = 1 << 20;

impl Running<'_, '_> {
    /// Waits for it, as long as that may take.
    pub(super) fn wait_until_ready(&mut self, output: &Path, errors: &Path) -> Step<()> {
        let driver = self.driver;
        let patience = driver.server.ready_timeout;
        let until = Instant::now().checked_add(patience);
        let mut logs = [Log::of(output), Log::of(errors)];
        loop {
            let left = until.map_or(patience, |until| until.saturating_duration_since(Instant::now()));
            let ready = match &driver.server.ready {
                Ready::Port(port) => ports::takes_connections(*port),
                Ready::Log(line) => logs.iter_mut().any(|log| log.has(line)),
                Ready::Command(command) => {
                    let what = "the readiness command";
                    self.shell(command, what, left.max(INTERVAL), "--ready-timeout")?.is_ok()
                }
            };
            // In this order: a server that printed its line and died is not ready.
            if let Err(failure) = self.is_there("before it was ready", INTERVAL)? {
                return Ok(Err(failure));
            }
            if ready {
                return Ok(Ok(()));
            }
            if left.is_zero() {
                let what = match &driver.server.ready {
                    Ready::Port(port) => format!("nobody took connections on port {port}"),
                    Ready::Log(line) => format!("no line that it printed matched '{}'", printable(line.as_str())),
                    Ready::Command(command) => format!("'{}' did not succeed", printable(command)),
                };
                return Ok(Err(format!(
                    "the server was not ready after {patience:?}: {what}; give it longer with --ready-timeout, or look at what it says"
                )));
            }
        }
    }
}

/// A file that grows, of which each byte is read once.
struct Log<'a> {
    path: &'a Path,
    at: u64,
    /// The line that is not over yet.
    line: Vec<u8>,
}

impl Log<'_> {
    fn of(path: &Path) -> Log<'_> {
        Log { path, at: 0, line: Vec::new() }
    }

    /// Whether a line matches among those that are new, the last one included.
    fn has(&mut self, pattern: &Regex) -> bool {
        loop {
            let Ok(read) = self.read() else { return false };
            if pattern.is_match(&String::from_utf8_lossy(&self.line)) {
                return true;
            }
            match self.line.iter().rposition(|byte| *byte == b'\n') {
                Some(end) => drop(self.line.drain(..=end)),
                None if self.line.len() as u64 > AT_ONCE => self.line.clear(),
                None => {}
            }
            if read < AT_ONCE {
                return false;
            }
        }
    }

    fn read(&mut self) -> std::io::Result<u64> {
        let mut file = File::open(self.path)?;
        file.seek(SeekFrom::Start(self.at))?;
        let read = file.take(AT_ONCE).read_to_end(&mut self.line)? as u64;
        self.at = self.at.saturating_add(read);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_line_is_found_that_comes_in_parts_and_nothing_is_read_twice() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        let path = file.path().to_owned();
        let pattern = regex::RegexBuilder::new("^ready now$").multi_line(true).build().expect("a pattern");
        let mut log = Log::of(&path);
        assert!(!log.has(&pattern));
        file.write_all(&vec![b'x'; 3 << 20]).and_then(|()| file.write_all(b"\nrea")).expect("room");
        assert!(!log.has(&pattern));
        assert_eq!((log.at, log.line.as_slice()), ((3 << 20) + 4, &b"rea"[..]));
        file.write_all(b"dy now\nmore\n").expect("room");
        assert!(log.has(&pattern));
    }
}
