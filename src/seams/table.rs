//! The seams: functions that jemalloc calls across its own object files, or out of itself, and that the linker
//! (`--wrap`) leads to us instead. With them jemalloc is mended without touching its source. One line each: the
//! name, why, and the test that shows it.
//!
//! `build.rs` reads this table and tells the linker. Each name needs a definition, made by `seam!` in one of the
//! files beside this one, and each name belongs to one version of jemalloc: Cargo.toml pins it exactly, and
//! `-z defs` makes a missing definition an error. A name that vanishes from jemalloc is caught by `tests/seams.rs`.

/// One seam.
#[derive(Debug)]
#[allow(dead_code, unreachable_pub)] // build.rs needs the names only.
pub struct Seam {
    /// The function that jemalloc calls.
    pub name: &'static str,
    /// Why it is led to us.
    pub reason: &'static str,
    /// The test that fails without it.
    pub test: &'static str,
}

const fn seam(name: &'static str, reason: &'static str, test: &'static str) -> Seam {
    Seam { name, reason, test }
}

const INTERPOSED: &str = "may be interposed by a library that allocates, while jemalloc holds its init lock";
const ERRNO: &str = "fails inside free, which must not change errno; and may be interposed";
const PRELOADS: &str = "tests/other_preloads.rs";

/// All seams.
///
/// What jemalloc calls besides, and is left to whoever has the name: pthread_key_create, pthread_setspecific,
/// pthread_mutex_lock, pthread_mutex_trylock, pthread_atfork and atexit survive an interposer that allocates (tried, one
/// by one); pthread_mutex_unlock does not (docs/limits.md); pthread_self, sched_getcpu, sigfillset and the like answer
/// from registers and memory, and nobody has reason to allocate in them; the rest (pthread_create, condition variables,
/// thread names) belongs to the background thread, outside of the lock.
#[rustfmt::skip]
#[allow(unreachable_pub)]
pub const SEAMS: &[Seam] = &[
    // Options.
    seam("_rjem_je_malloc_conf_init", "our defaults and the program's malloc_conf, at the moment options are read", "tests/options.rs"),
    seam("secure_getenv", "MALLOC_CONF by its plain name, also before libc knows the environment", "tests/options.rs"),
    seam("readlink", "/etc/malloc.conf by its plain name; interposed by fakechroot", "tests/options.rs"),

    // Sizes.
    seam("_rjem_je_sz_boot", "16-byte alignment of blocks of up to 8 bytes, as glibc and C++17 promise", "tests/semantics.rs"),

    // Start.
    seam("_rjem_je_pages_boot", "without a page of address space left, jemalloc writes to MAP_FAILED", "tests/semantics.rs"),

    // Libraries that need not be loaded.
    seam("log", "libm would be mapped into every process for the heap profiler alone", "tests/exports.rs"),
    seam("exp", "libm would be mapped into every process for the heap profiler alone", "tests/exports.rs"),

    // Threads.
    seam("_rjem_je_tsd_fetch_slow", "a thread past its destructors must not be given full thread data: jemalloc 5.3.1 crashes", "tests/thread_exit.rs"),

    // Evidence.
    seam("_rjem_je_tcache_alloc_small_hard", "shows that small blocks are served, also of a process that never exits or dies", "tests/record.rs"),
    seam("_rjem_je_arena_malloc_hard", "the same for threads without a cache", "tests/record.rs"),

    // Not gettimeofday: only the background thread's sleep asks, outside of the lock, and pthread_cond_timedwait has to
    // be told the time by the same clock, libfaketime's if that is there.

    // Into the kernel, past every library that interposes the call: jemalloc#443, #916, #329, fakechroot#21.
    seam("clock_gettime", INTERPOSED, PRELOADS),        // libfaketime
    seam("syscall", INTERPOSED, PRELOADS),              // torsocks
    seam("close", INTERPOSED, PRELOADS),                // torsocks
    seam("open", INTERPOSED, PRELOADS),                 // fakechroot, eatmydata
    seam("creat", INTERPOSED, PRELOADS),
    seam("getpid", INTERPOSED, PRELOADS),
    seam("sched_getaffinity", INTERPOSED, PRELOADS),
    seam("sched_setaffinity", INTERPOSED, PRELOADS),
    seam("sched_yield", INTERPOSED, PRELOADS),
    seam("mmap", ERRNO, "tests/semantics.rs"),          // and noted: tests/live.rs
    seam("munmap", ERRNO, "tests/semantics.rs"),        // and noted: tests/live.rs
    seam("mprotect", ERRNO, "tests/semantics.rs"),
    seam("madvise", ERRNO, "tests/semantics.rs"),

    // Libc's own business, answered without libc, or by libc itself whoever has interposed the name.
    seam("sysconf", "the page size, asked for under the init lock; other questions go to libc", PRELOADS),
    seam("sbrk", INTERPOSED, PRELOADS),
    seam("pthread_cond_init", "libfaketime allocates in it, under the init lock", PRELOADS),
    seam("pthread_mutexattr_init", INTERPOSED, PRELOADS),
    seam("pthread_mutexattr_settype", INTERPOSED, PRELOADS),
    seam("pthread_mutexattr_destroy", INTERPOSED, PRELOADS),
    seam("pthread_mutex_init", INTERPOSED, PRELOADS),
    seam("dlsym", "jemalloc looks up pthread_create under the init lock; interposed dlsym allocates", PRELOADS),
];
