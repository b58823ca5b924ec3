//! The proof record (`JESHIM_REPORT=path`): what can be known of this process, in a file of its own.
//!
//! "No statistics on stderr" proves nothing (coreutils close it before exit handlers run), "statistics on stderr"
//! little (a library that is loaded and serves nothing prints them too). So three facts are told apart: the library
//! is loaded, since there is a record; the names are bound to it, each one; it served so many allocations, at exit.
//!
//! The file is written when the library is loaded, with room for what is known at exit, and completed through a
//! shared mapping: closed descriptors, a chroot and a full disk do not hinder that. A process that ends by `_exit` or
//! a signal leaves the first part, which says that it is unfinished; but whether jemalloc began to serve is noted at
//! the moment when it does.

mod contents;
mod json;
mod path;

use crate::exports::deepbind;
use crate::message;
use crate::statistics::{self, Served};
use contents::{BODY_SIZE, Places, RECORD_SIZE, SERVED_SIZE};
use core::sync::atomic::{AtomicBool, Ordering};
use jeshim_platform::record::Mapping;
use jeshim_platform::text::Text;
use jeshim_platform::{Errno, process};
use parking_lot::Mutex;
use path::Template;

/// Everything that has to outlive a call, and the buffers, which are too large for the stack of a small thread that
/// forks.
struct State {
    template: Template,
    body: [u8; BODY_SIZE],
    body_length: usize,
    record: [u8; RECORD_SIZE],
    path: [u8; path::MAXIMUM],
    folder: [u8; path::MAXIMUM],
    /// The process that the mapping belongs to.
    pid: u32,
    open: Option<(Mapping, Places)>,
    /// What jemalloc had served before this process began, or for the record itself.
    before: [Served; 2],
}

/// Locked for moments: by the constructor, by a thread that is the first to be served, by the only thread of a forked
/// child, and by the exit handler. All only try, since whoever held it may not exist on this side of a fork.
static STATE: Mutex<State> = Mutex::new(State {
    template: Template::new(),
    body: [0; BODY_SIZE],
    body_length: 0,
    record: [0; RECORD_SIZE],
    path: [0; path::MAXIMUM],
    folder: [0; path::MAXIMUM],
    pid: 0,
    open: None,
    before: [Served::NONE; 2],
});

/// Whether the record waits for the first small block.
static WAITING: AtomicBool = AtomicBool::new(false);

/// Writes the record of this process, and sees to that of its forked children and to the end.
pub(crate) fn begin(path: &[u8]) {
    let Some(mut state) = STATE.try_lock() else { return };
    if let Err(problem) = state.template.set(path) {
        return refuse(path, problem);
    }
    // Before our fork handler is registered: jemalloc registers its own when it starts, and has to come first.
    let start = Served::now(&statistics::reader());
    let mut body = Text::new(&mut state.body);
    contents::write_body(&mut body);
    state.body_length = if body.is_complete() { body.as_bytes().len() } else { 0 };
    if !state.create(false) {
        return;
    }
    // What looking up names may have allocated is not the program's.
    let now = Served::now(&statistics::reader());
    state.before = [now[0].since(start[0]), now[1].since(start[1])];
    // The loader has allocated by now. The program's own first block is to be seen, so it must not come from the cache.
    statistics::empty_cache();
    WAITING.store(true, Ordering::Relaxed);
    // SAFETY: both functions stay, since the library is never unloaded. A failure, for lack of memory, leaves the
    // record unfinished.
    unsafe {
        libc::pthread_atfork(None, None, Some(in_forked_child));
        libc::atexit(complete);
    }
}

fn refuse(path: &[u8], (cause, remedy): (&str, &str)) {
    let (cause, remedy) = (cause.as_bytes(), remedy.as_bytes());
    message::line(&[b"JESHIM_REPORT='", path, b"': ", cause, b"; no record is written; ", remedy]);
}

impl State {
    /// Creates the file under the first free name and maps it, or says why not.
    fn create(&mut self, forked: bool) -> bool {
        self.pid = process::pid();
        self.open = None;
        let body = self.body.get(..self.body_length).unwrap_or(&[]);
        let mut record = Text::new(&mut self.record);
        let places = contents::write_record(&mut record, body, self.pid, forked, &mut self.path);
        let Some(places) = places.filter(|_| !body.is_empty()) else {
            refuse(self.template.as_bytes(), ("it is larger than expected", "report this as a defect of jeshim"));
            return false;
        };
        let mut problem = Errno(libc::ENAMETOOLONG);
        for attempt in 0..1000 {
            let Some(name) = self.template.expand(&mut self.path, self.pid, attempt) else { break };
            match Mapping::create(name, record.as_bytes(), &mut self.folder) {
                Ok(mapping) => {
                    self.open = Some((mapping, places));
                    return true;
                }
                Err(error) => problem = error,
            }
            if problem != Errno(libc::EEXIST) {
                break;
            }
        }
        // A forked child says nothing: a daemon's descriptor 2 may be a file of its own by now.
        if !forked {
            refuse(self.template.as_bytes(), problem.cause_and_remedy());
        }
        false
    }
}

/// A forked child gets a record of its own. Runs after jemalloc's own handler, which was registered before.
unsafe extern "C" fn in_forked_child() {
    let Some(mut state) = STATE.try_lock() else { return };
    let Some((parents, _)) = state.open.take() else { return };
    parents.unmap();
    state.before = Served::now(&statistics::reader());
    let created = state.create(true);
    WAITING.store(created, Ordering::Relaxed);
}

/// jemalloc hands out small blocks, by its slow path. The first time this is noted in the record, at once: a process
/// that ends by `_exit`, by a signal or by exec has proven it all the same. After that it costs a look at a variable.
#[cfg(elf)]
pub(crate) fn serves() {
    if WAITING.load(Ordering::Relaxed) {
        note_serving();
    }
}

#[cfg(elf)]
#[cold]
fn note_serving() {
    let Some(state) = STATE.try_lock() else { return };
    // A child of vfork or of a raw clone has nothing to say in its parent's record, and its parent waits still.
    if state.pid != process::pid() {
        return;
    }
    WAITING.store(false, Ordering::Relaxed);
    if let Some((mapping, places)) = &state.open {
        let _ = mapping.write(places.serving, b"true ");
    }
}

fn wait_a_moment<T>() -> Option<T> {
    core::hint::spin_loop();
    None
}

/// At exit: what was served.
extern "C" fn complete() {
    // A moment's patience: another thread may be noting that it is served.
    let Some(mut state) = (0..10_000).find_map(|_| STATE.try_lock().or_else(wait_a_moment)) else { return };
    // A child of a raw clone or of _Fork has the parent's mapping, and nothing to say in the parent's record.
    if state.pid != process::pid() {
        return;
    }
    let Some((mapping, places)) = state.open.take() else { return };
    // Until all is written: another thread's purge would refresh the figures in between.
    let reader = statistics::reader();
    let now = Served::now(&reader);
    let served = [now[0].since(state.before[0]), now[1].since(state.before[1])];
    let mut buffer = [0; SERVED_SIZE];
    let mut text = Text::new(&mut buffer);
    if contents::write_served(&mut text, &reader, served, deepbind::times_cleared()) {
        // In this order: a reader that sees "finished" sees all of it.
        let _ = mapping.write(places.served, text.as_bytes()) && mapping.write(places.finished, b"true ");
    }
}
