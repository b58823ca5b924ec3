//! The names of functions that say something about memory.

/// A name that is of interest in a table of dynamic symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Name {
    /// malloc itself.
    Malloc,
    /// The rest of malloc's family, and C++'s operators.
    Family,
    /// Functions of the C library that allocate for their caller.
    Allocates,
    /// What an allocator gets its memory with.
    Maps,
    /// A function of an allocator under its own name, such as mi_malloc.
    Prefixed(&'static str),
    /// A sanitizer's start.
    Sanitizer(&'static str),
    /// A language whose objects live elsewhere.
    Runtime(Runtime),
}

/// Runtimes that keep a heap of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Runtime {
    /// CPython.
    Python,
    /// V8: Node, Electron.
    V8,
    /// The Java virtual machine's launcher.
    Java,
    /// PHP.
    Php,
}

impl Name {
    /// How those names of C++'s namespaces begin that say something.
    pub(super) const BEGINNINGS: [&[u8]; 2] = [b"_ZN2v87Isolate", b"_ZN8snmalloc"];

    /// What a symbol's name says; `None` for the many that say nothing.
    pub fn of(symbol: &[u8]) -> Option<Name> {
        Some(match symbol {
            b"malloc" => Name::Malloc,
            b"calloc" | b"realloc" | b"reallocarray" | b"free" | b"posix_memalign" | b"aligned_alloc" | b"memalign"
            | b"valloc" | b"pvalloc" | b"cfree" => Name::Family,
            b"strdup" | b"__strdup" | b"strndup" | b"__strndup" | b"wcsdup" | b"asprintf" | b"vasprintf"
            | b"__asprintf_chk" | b"__vasprintf_chk" | b"getline" | b"getdelim" | b"__getdelim" | b"open_memstream"
            | b"fopen" | b"fopen64" | b"fdopen" | b"opendir" | b"getaddrinfo" | b"setlocale" | b"scandir"
            | b"scandir64" | b"realpath" | b"dlopen" => Name::Allocates,
            b"mmap" | b"mmap64" | b"sbrk" | b"brk" | b"syscall" => Name::Maps,
            b"mi_malloc" | b"mi_heap_malloc" | b"mi_new" => Name::Prefixed("mimalloc"),
            b"je_malloc" | b"je_mallocx" | b"_rjem_malloc" | b"_rjem_mallocx" => Name::Prefixed("jemalloc"),
            b"tc_malloc" | b"tc_new" => Name::Prefixed("tcmalloc"),
            b"rpmalloc" => Name::Prefixed("rpmalloc"),
            b"sn_malloc" | b"sn_rust_alloc" => Name::Prefixed("snmalloc"),
            b"scalable_malloc" => Name::Prefixed("TBB's allocator"),
            // A sanitizer inside of an executable looks for the program's hooks.
            b"__sanitizer_malloc_hook" => Name::Sanitizer("a sanitizer"),
            b"__asan_init" => Name::Sanitizer("AddressSanitizer"),
            b"__hwasan_init" => Name::Sanitizer("HWAddressSanitizer"),
            b"__tsan_init" => Name::Sanitizer("ThreadSanitizer"),
            b"__msan_init" => Name::Sanitizer("MemorySanitizer"),
            b"Py_BytesMain" | b"Py_Main" | b"Py_RunMain" => Name::Runtime(Runtime::Python),
            b"JLI_Launch" | b"JNI_CreateJavaVM" => Name::Runtime(Runtime::Java),
            b"_emalloc" | b"zend_startup" => Name::Runtime(Runtime::Php),
            _ if symbol.starts_with(b"_ZnwSt") || symbol.starts_with(b"_ZnaSt") => return None,
            _ if [b"_Znw", b"_Zna"].iter().any(|operator| symbol.starts_with(*operator)) && symbol.len() < 40 => {
                Name::Family
            }
            _ if symbol.starts_with(b"_ZN2v87Isolate") => Name::Runtime(Runtime::V8),
            _ if symbol.starts_with(b"_ZN8snmalloc") => Name::Prefixed("snmalloc"),
            _ => return None,
        })
    }

    /// Whether who takes this name from another object asks malloc for memory, at once or through the C library.
    pub fn asks_malloc(self) -> bool {
        matches!(self, Name::Malloc | Name::Family | Name::Allocates)
    }
}
