//! Whose a piece of a process's memory is, as far as its place, size and neighbours tell.

use super::objects::Object;
use jeshim_host::live::{Mapping, Process};
use std::collections::HashSet;
use std::ops::Range;

/// Who has memory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// Mapped by jemalloc.
    Jemalloc,
    /// jemalloc's and somebody else's in one mapping, and the kernel did not tell them apart.
    Mixed,
    /// `brk`, and glibc's arenas.
    GlibcHeap,
    /// Stacks of threads.
    Stacks,
    /// What is loaded of program and libraries and not written.
    Code,
    /// What is loaded of them and written, and their zeroed data.
    Data,
    /// Other files.
    Files,
    /// Written and executed, without a file.
    Jit,
    /// Of the JVM.
    Java,
    /// Of V8.
    V8,
    /// Of CPython.
    Python,
    /// Named by the program (`prctl`, PR_SET_VMA_ANON_NAME).
    Named(String),
    /// Nothing tells.
    Other,
}

impl Owner {
    /// For machines.
    pub fn id(&self) -> &'static str {
        match self {
            Owner::Jemalloc => "jemalloc",
            Owner::Mixed => "jemalloc_and_others",
            Owner::GlibcHeap => "glibc_heap",
            Owner::Stacks => "stacks",
            Owner::Code => "code",
            Owner::Data => "data",
            Owner::Files => "files",
            Owner::Jit => "jit",
            Owner::Java => "java_heap",
            Owner::V8 => "v8_heap",
            Owner::Python => "python_arenas",
            Owner::Named(_) => "named",
            Owner::Other => "other",
        }
    }

    /// For people.
    pub fn words(&self) -> String {
        match self {
            Owner::Jemalloc => "jemalloc".into(),
            Owner::Mixed => "jemalloc and others in one mapping".into(),
            Owner::GlibcHeap => "heap of brk, arenas of glibc".into(),
            Owner::Stacks => "stacks of threads".into(),
            Owner::Code => "code and constants of program and libraries".into(),
            Owner::Data => "data of program and libraries".into(),
            Owner::Files => "other mapped files".into(),
            Owner::Jit => "code made at run time".into(),
            Owner::Java => "Java heap and classes (by address)".into(),
            Owner::V8 => "heap of V8 (by address)".into(),
            Owner::Python => "arenas of CPython (by size)".into(),
            Owner::Named(name) => format!("named {name}"),
            Owner::Other => "other anonymous memory".into(),
        }
    }
}

/// glibc gives each heap of an arena so much address space, and begins it at a multiple of that (malloc/arena.c,
/// HEAP_MAX_SIZE on 64-bit machines), in bytes.
const GLIBC_HEAP: u64 = 64 << 20;
/// The JVM puts a heap with compressed pointers, and its classes, below that address: 32 GiB, and 4 GiB for classes.
const JAVA_END: u64 = 36 << 30;
/// V8 asks for random addresses of 46 bits (base/platform, GetRandomMmapAddr); the kernel places everything else higher.
const V8_END: u64 = 1 << 46;

/// What is known of a process for telling owners.
pub struct Known<'a> {
    objects: &'a [Object<'a>],
    stacks: HashSet<u64>,
    stack_sizes: HashSet<u64>,
    stack_size: Option<u64>,
    java: bool,
    v8: bool,
    /// Size of an arena, in bytes.
    python: Option<u64>,
}

impl<'a> Known<'a> {
    /// Looks at what is loaded, and where the stacks of threads are.
    pub fn new(process: &Process, mappings: &[Mapping], objects: &'a [Object<'a>]) -> Known<'a> {
        let names: Vec<_> = objects.iter().map(|object| object.name().to_string_lossy()).collect();
        let any = |prefixes: &[&str]| names.iter().any(|name| prefixes.iter().any(|prefix| name.starts_with(prefix)));
        let mut known = Known {
            objects,
            stacks: HashSet::new(),
            stack_sizes: HashSet::new(),
            stack_size: process.stack_size(),
            java: any(&["libjvm.so"]),
            v8: any(&["libnode.so", "libv8.so"])
                || names.first().is_some_and(|name| {
                    ["node", "nodejs", "deno", "electron", "chrome", "chromium"].contains(&&**name)
                }),
            python: names.iter().find_map(|name| python_arena(name)),
        };
        for pointer in process.stack_pointers() {
            let index = mappings.partition_point(|mapping| mapping.end <= pointer);
            if let Some(mapping) =
                mappings.get(index).filter(|mapping| mapping.start <= pointer && mapping.is_anonymous())
                && guard(mappings, index).is_some()
            {
                known.stacks.insert(mapping.start);
                known.stack_sizes.insert(mapping.size());
            }
        }
        known
    }

    /// Whose a piece of a mapping is that is not jemalloc's.
    pub fn owner(&self, mappings: &[Mapping], index: usize, piece: &Range<u64>) -> Owner {
        let Some(mapping) = mappings.get(index) else { return Owner::Other };
        let name = mapping.name.to_string_lossy();
        if let Some(name) = name.strip_prefix("[anon:").and_then(|name| name.strip_suffix(']')) {
            return match name.trim() {
                // With GLIBC_TUNABLES=glibc.mem.decorate_maps=1.
                name if name.contains("pthread stack") => Owner::Stacks,
                name if name.starts_with("glibc: malloc") => Owner::GlibcHeap,
                name => Owner::Named(name.to_owned()),
            };
        }
        match &*name {
            "[stack]" => return Owner::Stacks,
            "[heap]" => return Owner::GlibcHeap,
            _ => {}
        }
        let loaded = self.objects.iter().any(|object| object.contains(piece.start));
        if mapping.inode != 0 {
            return match (loaded, mapping.writable) {
                (true, true) => Owner::Data,
                (true, false) => Owner::Code,
                (false, _) => Owner::Files,
            };
        }
        if loaded {
            return Owner::Data;
        }
        if mapping.executable {
            return Owner::Jit;
        }
        if self.is_stack(mappings, index) {
            return Owner::Stacks;
        }
        if is_glibc_heap(mappings, index) {
            return Owner::GlibcHeap;
        }
        if self.java && piece.start < JAVA_END {
            return Owner::Java;
        }
        if self.v8 && piece.start < V8_END {
            return Owner::V8;
        }
        if self.python.is_some_and(|arena| (piece.end - piece.start).is_multiple_of(arena)) {
            return Owner::Python;
        }
        Owner::Other
    }

    /// A guard below, and a thread's stack pointer inside, or the size of such a stack.
    fn is_stack(&self, mappings: &[Mapping], index: usize) -> bool {
        let (Some(mapping), Some(guard)) = (mappings.get(index), guard(mappings, index)) else { return false };
        self.stacks.contains(&mapping.start)
            || self.stack_sizes.contains(&mapping.size())
            || self.stack_size.is_some_and(|size| guard.checked_add(mapping.size()) == Some(size))
    }
}

/// The size of the guard right below a mapping.
fn guard(mappings: &[Mapping], index: usize) -> Option<u64> {
    let (mapping, below) = (mappings.get(index)?, mappings.get(index.checked_sub(1)?)?);
    (below.end == mapping.start && below.is_forbidden() && below.is_anonymous()).then(|| below.size())
}

/// The used part of a heap at a multiple of its size, and behind it the part that is only reserved.
fn is_glibc_heap(mappings: &[Mapping], index: usize) -> bool {
    let (Some(mapping), Some(next)) = (mappings.get(index), mappings.get(index + 1)) else { return false };
    let end = mapping.start.saturating_add(GLIBC_HEAP);
    mapping.start.is_multiple_of(GLIBC_HEAP)
        && mapping.end < end
        && next.start == mapping.end
        && next.is_forbidden()
        && next.is_anonymous()
        && next.end >= end
}

/// CPython's arenas have 1 MiB since 3.10, 256 KiB before (Objects/obmalloc.c).
fn python_arena(name: &str) -> Option<u64> {
    let version = name.strip_prefix("libpython").or_else(|| name.strip_prefix("python"))?.strip_prefix("3.")?;
    let minor: u32 = version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?;
    Some(if minor < 10 { 256 << 10 } else { 1 << 20 })
}
