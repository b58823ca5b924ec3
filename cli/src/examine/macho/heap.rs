//! Where the memory of a program comes from, as far as its file tells: an allocator of its own, a sanitizer, Go, or an
//! interpreter with a heap of its own. Libraries that it loads are judged by their names, and not opened.

use memchr::memmem;

/// How an allocator shows.
struct Allocator {
    name: &'static str,
    /// Functions that it defines, as C sees them.
    functions: &'static [&'static str],
    /// A part of the mangled names of its C++ classes; empty when it has none.
    mangled: &'static str,
    /// Parts of the names of libraries that hold it.
    libraries: &'static [&'static str],
    /// What it says in its messages, for programs without symbols; empty when nothing is its own.
    text: &'static str,
}

const ALLOCATORS: &[Allocator] = &[
    Allocator {
        name: "jemalloc",
        functions: &["mallocx", "je_mallocx", "je_malloc", "_rjem_malloc", "_rjem_mallocx"],
        mangled: "",
        libraries: &["libjemalloc"],
        text: "<jemalloc>: ",
    },
    Allocator {
        name: "mimalloc",
        functions: &["mi_malloc", "mi_malloc_aligned"],
        mangled: "",
        libraries: &["libmimalloc"],
        text: "mimalloc: warning: ",
    },
    Allocator {
        name: "tcmalloc",
        functions: &["tc_malloc", "TCMallocInternalMalloc"],
        mangled: "8tcmalloc",
        libraries: &["libtcmalloc"],
        text: "tcmalloc.max_total_thread_cache_bytes",
    },
    Allocator {
        name: "PartitionAlloc",
        functions: &[],
        mangled: "15partition_alloc",
        libraries: &[
            "Electron Framework",
            "Chromium Framework",
            "Chromium Embedded Framework",
            "Google Chrome Framework",
        ],
        text: "partition_alloc/partitions",
    },
    Allocator {
        name: "snmalloc",
        functions: &["sn_malloc", "sn_rust_alloc"],
        mangled: "8snmalloc",
        libraries: &["libsnmalloc"],
        text: "",
    },
    Allocator {
        name: "scudo",
        functions: &["scudo_malloc"],
        mangled: "N5scudo",
        libraries: &["libclang_rt.scudo"],
        text: "Scudo ERROR: ",
    },
    Allocator { name: "rpmalloc", functions: &["rpmalloc"], mangled: "", libraries: &["librpmalloc"], text: "" },
    Allocator { name: "oneTBB's allocator", functions: &[], mangled: "", libraries: &["libtbbmalloc_proxy"], text: "" },
    Allocator { name: "mozjemalloc", functions: &[], mangled: "", libraries: &["libmozglue.dylib"], text: "" },
];

/// Libraries that take malloc for themselves, to watch it.
const SANITIZERS: &[(&str, &str)] = &[
    ("libclang_rt.asan", "AddressSanitizer"),
    ("libasan.", "AddressSanitizer"),
    ("libclang_rt.tsan", "ThreadSanitizer"),
    ("libclang_rt.lsan", "LeakSanitizer"),
];

const PYTHON: &str =
    "CPython serves blocks of up to 512 bytes from its own arenas; PYTHONMALLOC=malloc sends them here";
const V8: &str = "V8 keeps the objects of JavaScript in a heap of its own";
const JVM: &str = "the JVM keeps the objects of Java in a heap of its own";

/// What is known of a program's memory.
#[derive(Debug, Clone, Default)]
pub(super) struct Heap {
    /// An allocator of its own, and by what it shows.
    pub(super) allocator: Option<(&'static str, String)>,
    pub(super) sanitizer: Option<&'static str>,
    /// Written in Go.
    pub(super) is_go: bool,
    /// Whether it calls the system's malloc, or C++'s operator new, itself.
    pub(super) calls_malloc: bool,
    /// An interpreter that has a heap of its own beside malloc's.
    pub(super) interpreter: Option<&'static str>,
}

impl Heap {
    /// Takes note of a library that the program needs, by its install name.
    pub(super) fn see_library(&mut self, name: &[u8]) {
        let name = String::from_utf8_lossy(name);
        if let Some((_, sanitizer)) = SANITIZERS.iter().find(|(part, _)| name.contains(part)) {
            self.sanitizer = Some(sanitizer);
        }
        let holds = |allocator: &&Allocator| allocator.libraries.iter().any(|part| name.contains(part));
        if let Some(allocator) = ALLOCATORS.iter().find(holds) {
            self.allocator = Some((allocator.name, format!("it needs {name}")));
        }
        let file = name.rsplit('/').next().unwrap_or_default();
        if file == "Python" || file == "Python3" || file.starts_with("libpython") {
            self.interpreter = Some(PYTHON);
        } else if file == "libjli.dylib" {
            self.interpreter = Some(JVM);
        }
    }

    /// Looks through symbols, and where they tell nothing, through the constants.
    pub(super) fn look(&mut self, symbols: &Symbols, texts: &[&[u8]]) {
        self.calls_malloc = symbols.imports.iter().any(|name| {
            matches!(*name, b"_malloc" | b"_calloc" | b"_realloc" | b"_posix_memalign" | b"__Znwm")
                || name.starts_with(b"_malloc_type_")
        });
        let is_python = |name: &&[u8]| matches!(*name, b"_Py_BytesMain" | b"_Py_RunMain" | b"_Py_Main");
        if symbols.imports.iter().chain(&symbols.definitions).any(is_python) {
            self.interpreter = Some(PYTHON);
        } else if symbols.defines_part("2v88internal") {
            self.interpreter = Some(V8);
        }
        if self.allocator.is_some() {
            return;
        }
        self.allocator = ALLOCATORS.iter().find_map(|allocator| {
            let function = symbols.definitions.iter().find(|name| {
                name.strip_prefix(b"_").is_some_and(|name| allocator.functions.iter().any(|f| f.as_bytes() == name))
            });
            if let Some(function) = function {
                let function = String::from_utf8_lossy(function.strip_prefix(b"_").unwrap_or(function));
                return Some((allocator.name, format!("it defines {function}")));
            }
            if symbols.defines_part(allocator.mangled) {
                return Some((allocator.name, format!("it defines classes of {}", allocator.name)));
            }
            None
        });
        if self.allocator.is_none() {
            self.allocator = ALLOCATORS.iter().filter(|allocator| !allocator.text.is_empty()).find_map(|allocator| {
                let finder = memmem::Finder::new(allocator.text);
                let found = texts.iter().any(|text| finder.find(text).is_some());
                found.then(|| (allocator.name, format!("it contains the text '{}'", allocator.text.trim_end())))
            });
        }
    }
}

/// Of longer names the beginning is read: all symbols of a hostile file may point at the same endless one.
const LONGEST_NAME: usize = 1024;

/// The names in a symbol table.
#[derive(Default)]
pub(super) struct Symbols<'data> {
    /// All names, one after the other.
    table: &'data [u8],
    definitions: Vec<&'data [u8]>,
    imports: Vec<&'data [u8]>,
}

impl<'data> Symbols<'data> {
    /// From the table of names, and for each symbol the offset of its name and whether it is defined here. Symbols
    /// whose names are not in the table are left out.
    pub(super) fn new(table: &'data [u8], symbols: impl Iterator<Item = Option<(u32, bool)>>) -> Symbols<'data> {
        let mut found = Symbols { table, ..Symbols::default() };
        for (at, is_defined) in symbols.flatten() {
            let Some(rest) = table.get(at as usize..).filter(|rest| !rest.is_empty()) else { continue };
            let rest = rest.get(..LONGEST_NAME).unwrap_or(rest);
            let name = memchr::memchr(0, rest).and_then(|end| rest.get(..end)).unwrap_or(rest);
            if is_defined { found.definitions.push(name) } else { found.imports.push(name) }
        }
        found
    }

    /// Whether the name of something that is defined here contains this.
    fn defines_part(&self, part: &str) -> bool {
        if part.is_empty() {
            return false;
        }
        let finder = memmem::Finder::new(part);
        // Most tables do not contain it at all, which is seen sooner in one run over the table.
        finder.find(self.table).is_some() && self.definitions.iter().any(|name| finder.find(name).is_some())
    }
}
