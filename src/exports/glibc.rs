//! glibc's control and statistics functions, answered by jemalloc. With upstream's library they speak of glibc's own,
//! unused heap: malloc_trim gives nothing back, mallinfo and malloc_stats say zero (manticoresearch#771).

use crate::statistics::{self, Memory};
use core::ffi::c_int;
use jeshim_platform::process;
use jeshim_platform::text::Text;
use libc::FILE;

/// malloc_trim(3): gives every page that holds no block back to the system, of all arenas and of the calling
/// thread's cache. 1 when some were given back, else 0. The padding has no meaning: there is no top of the heap.
pub(super) extern "C" fn malloc_trim(_pad: usize) -> c_int {
    c_int::from(statistics::purge())
}

/// glibc's `struct mallinfo2` (malloc.h), in bytes.
#[repr(C)]
#[derive(Default)]
pub(super) struct Mallinfo2 {
    arena: usize,
    ordblks: usize,
    smblks: usize,
    hblks: usize,
    hblkhd: usize,
    usmblks: usize,
    fsmblks: usize,
    uordblks: usize,
    fordblks: usize,
    keepcost: usize,
}

/// mallinfo2(3). `arena`: bytes taken from the system, in use or kept for reuse; `uordblks`: bytes in blocks of the
/// program; `fordblks`: the difference; `keepcost`: what malloc_trim would give back. The others have no counterpart
/// (fast bins, blocks outside of arenas, the number of free chunks) and are 0.
pub(super) extern "C" fn mallinfo2() -> Mallinfo2 {
    let memory = Memory::now();
    Mallinfo2 {
        arena: memory.held(),
        uordblks: memory.allocated,
        fordblks: memory.held().saturating_sub(memory.allocated),
        keepcost: memory.kept,
        ..Mallinfo2::default()
    }
}

/// mallinfo(3): the same in `int`. Where that is too small it says INT_MAX; glibc's wraps around.
pub(super) extern "C" fn mallinfo() -> libc::mallinfo {
    let wide = mallinfo2();
    let narrow = |value: usize| c_int::try_from(value).unwrap_or(c_int::MAX);
    libc::mallinfo {
        arena: narrow(wide.arena),
        ordblks: 0,
        smblks: 0,
        hblks: 0,
        hblkhd: 0,
        usmblks: 0,
        fsmblks: 0,
        uordblks: narrow(wide.uordblks),
        fordblks: narrow(wide.fordblks),
        keepcost: narrow(wide.keepcost),
    }
}

/// malloc_stats(3): on stderr, in glibc's form, an arena at a time and all together.
pub(super) extern "C" fn malloc_stats() {
    let total = Memory::now();
    for (arena, memory) in in_use() {
        let mut buffer = [0; 256];
        let mut text = Text::new(&mut buffer);
        text.push(b"Arena ").push_number(arena as u64).push(b":\n");
        say(&mut text, &memory);
    }
    let mut buffer = [0; 256];
    let mut text = Text::new(&mut buffer);
    text.push(b"Total (incl. mmap):\n");
    say(&mut text, &total);
    process::write_to_stderr(b"max mmap regions =          0\nmax mmap bytes   =          0\n");
}

fn say(text: &mut Text, memory: &Memory) {
    text.push(b"system bytes     = ").push_number_aligned(memory.held() as u64, 10);
    text.push(b"\nin use bytes     = ").push_number_aligned(memory.allocated as u64, 10).push(b"\n");
    process::write_to_stderr(text.as_bytes());
}

/// The arenas that were ever used, each with its number.
fn in_use() -> impl Iterator<Item = (usize, Memory)> {
    (0..statistics::arenas()).filter_map(|arena| Some((arena, Memory::of_arena(arena)?)))
}

/// malloc_info(3): glibc's XML, version 1, an element for each arena and then the sums. What jemalloc does not know
/// (the size at its peak) is left out. `options` must be 0, else EINVAL; -1 when the stream could not be written.
pub(super) extern "C" fn malloc_info(options: c_int, stream: *mut FILE) -> c_int {
    if options != 0 {
        return libc::EINVAL;
    }
    let total = Memory::now();
    let mut buffer = [0; 1024];
    let mut text = Text::new(&mut buffer);
    text.push(b"<malloc version=\"1\">\n");
    let mut good = put(stream, &mut text);
    for (arena, memory) in in_use() {
        text.push(b"<heap nr=\"").push_number(arena as u64).push(b"\">\n<sizes>\n</sizes>\n");
        describe(&mut text, &memory);
        text.push(b"</heap>\n");
        good = good && put(stream, &mut text);
    }
    describe(&mut text, &total);
    text.push(b"</malloc>\n");
    if good && put(stream, &mut text) { 0 } else { -1 }
}

fn describe(text: &mut Text, memory: &Memory) {
    let mut line = |start: &[u8], bytes: usize| {
        text.push(start).push_number(bytes as u64).push(b"\"/>\n");
    };
    line(b"<total type=\"fast\" count=\"0\" size=\"", 0);
    line(b"<total type=\"rest\" count=\"0\" size=\"", memory.held().saturating_sub(memory.allocated));
    line(b"<total type=\"mmap\" count=\"0\" size=\"", 0);
    line(b"<system type=\"current\" size=\"", memory.held());
    line(b"<aspace type=\"total\" size=\"", memory.address_space());
    line(b"<aspace type=\"mprotect\" size=\"", memory.held());
}

/// Writes the text to the stream and empties it; whether all went out.
fn put(stream: *mut FILE, text: &mut Text) -> bool {
    let bytes = text.as_bytes();
    // SAFETY: malloc_info's caller gave an open stream; `bytes` is readable for its length.
    let written = unsafe { libc::fwrite(bytes.as_ptr().cast(), 1, bytes.len(), stream) };
    let all = written == bytes.len() && text.is_complete();
    text.truncate(0);
    all
}

/// mallopt(3). What has a meaning in jemalloc is applied, the rest accepted and without effect; always 1. The table
/// for users is in docs/options.md.
pub(super) extern "C" fn mallopt(parameter: c_int, value: c_int) -> c_int {
    if parameter == libc::M_TRIM_THRESHOLD {
        match value {
            // "-1 disables trimming": unused pages are kept for good.
            -1 => statistics::set_dirty_decay(-1),
            // Give back at once.
            0 => statistics::set_dirty_decay(0),
            // A number of bytes at the top of the heap: there is none. Decay by time stays.
            _ => {}
        }
    }
    1
}
