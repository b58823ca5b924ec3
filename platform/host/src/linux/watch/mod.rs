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

    /// Whether everything that is told is true, and nothing is missing but what [`Watch::missed`] says.
    pub fn is_exact(&self) -> bool {
        matches!(self.0, Way::Recording(_))
    }

    /// What may have been missed, and how to see it, in a sentence; `None` when nothing can have been.
    pub fn missed(&self) -> Option<String> {
        match &self.0 {
            Way::Recording(recording) if recording.lost() > 0 => {
                Some(format!("the kernel dropped {} events, since there were too many at once", recording.lost()))
            }
            Way::Recording(recording) => {
                let dark = recording.dark();
                (!dark.is_empty()).then(|| format!(
                    "the kernel tells nothing more of a process that has executed {}, nor of what it starts: a program with other \
                     rights, or one that this user may not read; check it as root",
                    dark.join(", ")
                ))
            }
            Way::Polling(_, error) => Some(format!(
                "processes were looked for in /proc, where one that lives for milliseconds can be missed, since perf_event_open \
                 is not allowed ({error}); run as root or lower kernel.perf_event_paranoid to 2 to see all of them"
            )),
        }
    }

    /// Whether it would help to ask for events again in a moment: something is on its way.
    pub fn waits(&self) -> bool {
        matches!(&self.0, Way::Recording(recording) if recording.waits())
    }

    /// Processes of which nothing more is told although they may run, and start others.
    pub fn dark(&self) -> Vec<String> {
        match &self.0 {
            Way::Recording(recording) => recording.dark(),
            Way::Polling(..) => Vec::new(),
        }
    }
}
