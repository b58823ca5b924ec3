//! Putting jemalloc in place: on macOS it is made the first malloc zone.
//!
//! Not by symbol interposition: programs bind `malloc` to libSystem by name *and* library (two-level namespaces), and
//! from macOS 14 on they call `malloc_type_malloc` where the source says malloc. Every one of these ends in zone 0.
//!
//! jemalloc has two constructors: one starts it, which is when it reads its options; the other, `zone_register`
//! (zone.c), puts its zone first. Both are called from here, before or after they run by themselves:
//!
//! - Options can be given only before jemalloc starts. The library's own object files come before jemalloc's archive
//!   on the linker's command line, and linkers keep that order among initialisers (seen with LLVM's: this one,
//!   `jemalloc_constructor`, `zone_register`), so this code is first. It does not trust that: jemalloc's state is looked
//!   at, and options that would be late are not given.
//! - `zone_register` may run twice. The first time it makes jemalloc's zone the first one. The second time zone 0 is
//!   not called "DefaultMallocZone" any more, and it returns having changed nothing but a variable (`default_zone`)
//!   that only the rest of itself reads. Where it declines, since zone 0 is someone else's, it does so both times.
//! - It is called from here, and not left to its own turn, since what this library's constructor does next is to look
//!   whether the zone is in place, for the proof record. The call is also the reference without which the linker
//!   would leave zone.o, and with it the constructor, in the archive; no `#[used]` is needed.
//!
//! The program has one thread at that time when the library is inserted at launch: dyld runs the initialisers of
//! inserted libraries after those of libSystem and before all others. Blocks that the system's zone gave out earlier
//! stay its own: jemalloc's zone asks of each pointer whether it is jemalloc's, and passes on what is not.
//!
//! Fork: libSystem calls `force_lock`, `force_unlock` and `reinit_lock` of each zone's introspection table around it,
//! and jemalloc's prepare and recover there (zone.c). There are no `pthread_atfork` handlers of jemalloc's.

use super::process;
use crate::Start;
use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU8, Ordering};
use tikv_jemalloc_sys as je;

unsafe extern "C" {
    // jemalloc's own variables, under the prefix that it was built with. Atomics have the layout of what they hold.
    #[link_name = "_rjem_malloc_conf"]
    static CONF: AtomicPtr<c_char>;
    #[link_name = "_rjem_malloc_conf_2_conf_harder"]
    static CONF_HARDER: AtomicPtr<c_char>;
    #[link_name = "_rjem_malloc_message"]
    static MESSAGE: AtomicPtr<c_void>;
    /// An enumeration (jemalloc_internal_types.h).
    #[link_name = "_rjem_je_malloc_init_state"]
    static STATE: AtomicI32;
    /// The size class of a small size: one entry for 0, one for 1 to 8, one for 9 to 16 bytes, and so on (sz.c); this
    /// is its start.
    #[link_name = "_rjem_je_sz_size2index_tab"]
    static CLASS_OF_SIZE: [AtomicU8; 3];

    #[link_name = "_rjem_je_zone_register"]
    fn zone_register();
}

/// `malloc_init_uninitialized`.
const NOT_STARTED: c_int = 3;

/// Starts jemalloc with the options that `start` composes, when given what `/etc/malloc.conf` points to, and makes it
/// the zone that serves malloc. Whether the options were in time; `start` is not called when they were not.
///
/// To be called first thing in the library's constructor.
pub fn install(start: impl FnOnce(Option<&[u8]>) -> Start) -> bool {
    // SAFETY: jemalloc defines it.
    let in_time = unsafe { &STATE }.load(Ordering::Relaxed) == NOT_STARTED;
    if in_time {
        // PATH_MAX, as jemalloc has it.
        let mut target = [0; 1024];
        let start = start(process::read_link(c"/etc/malloc.conf", &mut target));
        // SAFETY: jemalloc defines the three, reads them when it starts, and their types are those of `Start`.
        unsafe {
            MESSAGE.store(start.message as *mut c_void, Ordering::Relaxed);
            CONF.store(start.conf, Ordering::Relaxed);
            CONF_HARDER.store(start.conf_harder, Ordering::Relaxed);
        }
    }
    // Starts jemalloc, without allocating. 0 when it cannot, as when it was built for a smaller page than the system's.
    // SAFETY: any size may be asked about.
    if unsafe { je::nallocx(1, 0) } != 0 {
        align_smallest();
        // SAFETY: see above: it may run more than once.
        unsafe { zone_register() };
    }
    in_time
}

/// Gives sizes of up to 8 bytes the class of 16: the system's malloc aligns every block to 16 bytes, and jemalloc has
/// a class of 8. On Linux a seam does the same (`src/seams/size_classes.rs`).
fn align_smallest() {
    // SAFETY: jemalloc defines the table, and has filled it when it started. There is one thread.
    let [zero, up_to_8, up_to_16] = unsafe { &CLASS_OF_SIZE };
    let class = up_to_16.load(Ordering::Relaxed);
    zero.store(class, Ordering::Relaxed);
    up_to_8.store(class, Ordering::Relaxed);
}
