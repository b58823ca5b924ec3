//! Where the memory of a program comes from, as far as its file tells: an allocator of its own, a sanitizer, Go, or an
//! interpreter with a heap of its own. Libraries that it loads are judged by their names, and not opened.

use super::symbols::{Name, Symbols};
use memchr::memmem;

/// How an allocator shows.
struct Allocator {
    name: &'static str,
    /// Functions that it defines, as C sees them.
    functions: &'static [&'static str],
    /// The namespace of its C++ classes, as in mangled names.
    namespace: Option<&'static str>,
    /// Parts of the names of libraries that hold it.
    libraries: &'static [&'static str],
    /// What it says in its messages, for programs without symbols.
    text: Option<&'static str>,
}

const ALLOCATORS: &[Allocator] = &[
    Allocator {
        name: "jemalloc",
        functions: &["mallocx", "je_mallocx", "je_malloc", "_rjem_malloc", "_rjem_mallocx"],
        namespace: None,
        libraries: &["libjemalloc"],
        text: Some("<jemalloc>: "),
    },
    Allocator {
        name: "mimalloc",
        functions: &["mi_malloc", "mi_malloc_aligned"],
        namespace: None,
        libraries: &["libmimalloc"],
        text: Some("mimalloc: warning: "),
    },
    Allocator {
        name: "tcmalloc",
        functions: &["tc_malloc", "TCMallocInternalMalloc"],
        namespace: Some("8tcmalloc"),
        libraries: &["libtcmalloc"],
        text: Some("tcmalloc.max_total_thread_cache_bytes"),
    },
    Allocator {
        name: "PartitionAlloc",
        functions: &[],
        namespace: Some("15partition_alloc"),
        libraries: &[
            "Electron Framework",
            "Chromium Framework",
            "Chromium Embedded Framework",
            "Google Chrome Framework",
        ],
        text: Some("partition_alloc/partitions"),
    },
    Allocator {
        name: "snmalloc",
        functions: &["sn_malloc", "sn_rust_alloc"],
        namespace: Some("8snmalloc"),
        libraries: &["libsnmalloc"],
        text: None,
    },
    Allocator {
        name: "scudo",
        functions: &["scudo_malloc"],
        namespace: Some("5scudo"),
        libraries: &["libclang_rt.scudo"],
        text: Some("Scudo ERROR: "),
    },
    Allocator { name: "rpmalloc", functions: &["rpmalloc"], namespace: None, libraries: &["librpmalloc"], text: None },
    Allocator {
        name: "oneTBB's allocator",
        functions: &[],
        namespace: None,
        libraries: &["libtbbmalloc_proxy"],
        text: None,
    },
    Allocator { name: "mozjemalloc", functions: &[], namespace: None, libraries: &["libmozglue.dylib"], text: None },
];

/// Libraries that take malloc for themselves, to watch it.
const SANITIZERS: &[(&str, &str)] = &[
    ("libclang_rt.asan", "AddressSanitizer"),
    ("libasan.", "AddressSanitizer"),
    ("libclang_rt.tsan", "ThreadSanitizer"),
    ("libclang_rt.lsan", "LeakSanitizer"),
];

/// Whoever imports one of these allocates by it.
const MALLOC: &[&str] = &["malloc", "calloc", "realloc", "posix_memalign", "_Znwm", "malloc_type_malloc"];
const PYTHON_MAIN: &[&str] = &["Py_BytesMain", "Py_RunMain", "Py_Main"];
const V8_CLASSES: Name = Name::Namespace("2v88internal");

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
        let functions = ALLOCATORS.iter().flat_map(|allocator| allocator.functions).copied().map(Name::C);
        let namespaces = ALLOCATORS.iter().filter_map(|allocator| allocator.namespace).map(Name::Namespace);
        let others = MALLOC.iter().chain(PYTHON_MAIN).copied().map(Name::C);
        let wanted: Vec<_> = functions.chain(namespaces).chain(others).chain([V8_CLASSES]).collect();
        let found = symbols.find(&wanted);
        self.calls_malloc = MALLOC.iter().any(|name| found.contains(&(Name::C(name), false)));
        if found.iter().any(|(name, _)| PYTHON_MAIN.iter().any(|main| *name == Name::C(main))) {
            self.interpreter = Some(PYTHON);
        } else if found.contains(&(V8_CLASSES, true)) {
            self.interpreter = Some(V8);
        }
        if self.allocator.is_none() {
            self.allocator = ALLOCATORS.iter().find_map(|allocator| {
                let is_defined = |name| found.contains(&(name, true));
                if let Some(function) = allocator.functions.iter().find(|name| is_defined(Name::C(name))) {
                    return Some((allocator.name, format!("it defines {function}")));
                }
                let has_classes = allocator.namespace.is_some_and(|part| is_defined(Name::Namespace(part)));
                has_classes.then(|| (allocator.name, format!("it defines classes of {}", allocator.name)))
            });
        }
        if self.allocator.is_none() {
            self.allocator = in_texts(texts);
        }
    }
}

/// The allocator whose messages are among a program's constants.
fn in_texts(texts: &[&[u8]]) -> Option<(&'static str, String)> {
    ALLOCATORS.iter().find_map(|allocator| {
        let text = allocator.text?;
        let finder = memmem::Finder::new(text);
        let is_there = texts.iter().any(|constants| finder.find(constants).is_some());
        is_there.then(|| (allocator.name, format!("it contains the text '{}'", text.trim_end())))
    })
}
