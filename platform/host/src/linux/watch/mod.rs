//! Two ways to watch: the kernel's own record of forks, executions and mappings (`man 2 perf_event_open`), which is
//! exact and costs the processes next to nothing; and, where that is not allowed, looking at /proc again and again,
//! which can miss a process that lives for a few milliseconds.

mod polling;
mod recording;

use crate::watch::Event;
use polling::Polling;
use recording::Recording;
use std::io;
use std::path::Path;

/// Watches the processes that the calling thread starts from now on, and those that they start.
pub struct Watch(Way);

enum Way {
    Recording(Recording),
    Polling(Polling, io::Error),
}

impl Watch {
    /// Begins. `library` is the file whose mapping is told.
    pub fn begin(library: &Path) -> Watch {
        Watch(match Recording::begin(library) {
            Ok(recording) => Way::Recording(recording),
            Err(error) => Way::Polling(Polling::begin(library), error),
        })
    }

    /// The same, by looking at /proc only.
    pub fn by_polling(library: &Path) -> Watch {
        Watch(Way::Polling(Polling::begin(library), io::ErrorKind::Unsupported.into()))
    }

    /// What has happened since the last time, in order. `root` is the process that was started.
    pub fn events(&mut self, root: u32) -> Vec<Event> {
        match &mut self.0 {
            Way::Recording(recording) => recording.events(root),
            Way::Polling(polling, _) => polling.events(root),
        }
    }

    /// Why the kernel's record is not to be had; `None` when it is.
    pub fn refusal(&self) -> Option<&io::Error> {
        match &self.0 {
            Way::Recording(_) => None,
            Way::Polling(_, error) => Some(error),
        }
    }

    /// Whether nothing can have been missed; if not, why.
    ///
    /// # Errors
    /// Cause and remedy in a sentence.
    pub fn is_exact(&self) -> Result<(), String> {
        match &self.0 {
            Way::Recording(recording) if recording.lost() == 0 => Ok(()),
            Way::Recording(recording) => {
                Err(format!("the kernel dropped {} events, since there were too many at once", recording.lost()))
            }
            Way::Polling(_, error) => Err(format!(
                "processes were looked for in /proc, where one that lives for milliseconds can be missed, since perf_event_open \
                 is not allowed ({error}); run as root or lower kernel.perf_event_paranoid to 2 to see all of them"
            )),
        }
    }
}
