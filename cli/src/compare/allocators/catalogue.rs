//! The allocators that are known by name, and what their files are called.

use std::path::Path;

/// An allocator whose library may be installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// As typed.
    pub name: &'static str,
    /// What its files are called before `.so`, best first. With a star: how they begin.
    pub files: &'static [&'static str],
    /// Debian's and Ubuntu's package.
    pub package: Option<&'static str>,
    /// Where its source is.
    pub source: &'static str,
}

/// All but the system's and ours.
pub const KNOWN: [Known; 8] = [
    Known {
        name: "jemalloc",
        files: &["libjemalloc"],
        package: Some("libjemalloc2"),
        source: "https://github.com/jemalloc/jemalloc",
    },
    Known {
        name: "mimalloc",
        files: &["libmimalloc"],
        package: Some("libmimalloc2.0"),
        source: "https://github.com/microsoft/mimalloc",
    },
    // The other one has a heap profiler and a heap checker, too, and asks for libunwind.
    Known {
        name: "tcmalloc",
        files: &["libtcmalloc_minimal", "libtcmalloc"],
        package: Some("libtcmalloc-minimal4"),
        source: "https://github.com/gperftools/gperftools",
    },
    // libtbbmalloc itself has no malloc.
    Known {
        name: "tbbmalloc",
        files: &["libtbbmalloc_proxy"],
        package: Some("libtbbmalloc2"),
        source: "https://github.com/uxlfoundation/oneTBB",
    },
    Known {
        name: "snmalloc",
        files: &["libsnmallocshim", "libsnmallocshim-checks", "libsnmallocshim-rust"],
        package: None,
        source: "https://github.com/microsoft/snmalloc",
    },
    Known {
        name: "rpmalloc",
        files: &["librpmallocwrap", "librpmalloc"],
        package: None,
        source: "https://github.com/mjansson/rpmalloc",
    },
    Known {
        name: "scudo",
        files: &["libclang_rt.scudo_standalone*", "libscudo_standalone", "libscudo"],
        package: Some("libclang-rt-dev"),
        source: "https://llvm.org/docs/ScudoHardenedAllocator.html",
    },
    Known {
        name: "hardened_malloc",
        files: &["libhardened_malloc", "libhardened_malloc-light"],
        package: None,
        source: "https://github.com/GrapheneOS/hardened_malloc",
    },
];

/// An allocator by its name.
pub fn find(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == name)
}

impl Known {
    /// What to do where it is not installed, without a full stop.
    pub fn remedy(&self) -> String {
        match self.package {
            Some(package) if Path::new("/usr/bin/apt").exists() => format!("apt install {package}"),
            _ => format!("install or build it ({}), or name its library: {}=PATH", self.source, self.name),
        }
    }

    /// How good a file's name is for it: 0 for the best, `None` when it is not one of its names.
    pub fn rank(&self, file: &str) -> Option<usize> {
        let (stem, end) = file.split_once(".so")?;
        let is_end = end.is_empty() || end.starts_with('.');
        let fits = |name: &str| match name.strip_suffix('*') {
            Some(beginning) => stem.starts_with(beginning),
            None => stem == name,
        };
        if is_end { self.files.iter().position(|name| fits(name)) } else { None }
    }
}
