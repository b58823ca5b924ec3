//! How one image stands: from whom its objects take the functions that allocate and free.

use super::bindings::{self, Image};
use crate::terminal::printable;
use std::collections::BTreeSet;
use std::path::Path;

/// How an image stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    /// All that was bound is the library's; of so many objects, the C library not counted.
    Served(u64),
    /// A part of it is; what is not.
    Part(String),
    /// Nothing is; what is bound to whom instead.
    Not(String),
    /// Nothing was bound.
    Nothing,
}

/// Looks at images with a library in mind.
pub(super) struct Look<'a> {
    pub(super) image: &'a Image,
    /// The library that was preloaded.
    pub(super) library: &'a Path,
    /// Whether the file of the executable has a malloc in it.
    pub(super) own_malloc: bool,
}

/// Who has a name, in the end.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owner {
    /// The executable, which has the function in it.
    Executable,
    /// Another object: its path.
    Object(String),
}

/// From whom an object takes a name. Where the executable is not position-independent and uses the address of a function,
/// others take that address, which leads on to whomever the executable takes the function from: where that was not
/// bound yet, nobody is known.
pub(super) fn owners(image: &Image, own_malloc: bool, object: &str, name: &str) -> BTreeSet<Owner> {
    let program = image.program.as_deref().unwrap_or_default();
    let mut found = BTreeSet::new();
    for owner in image.owners(object, name) {
        if owner != program {
            found.insert(Owner::Object(owner.to_owned()));
            continue;
        }
        let onwards: Vec<&str> = image.owners(program, name).filter(|onward| *onward != program).collect();
        if onwards.is_empty() && own_malloc {
            found.insert(Owner::Executable);
        }
        found.extend(onwards.into_iter().map(|onward| Owner::Object(onward.to_owned())));
    }
    found
}

/// What an object is called in a sentence.
pub(super) fn short(object: &str) -> String {
    printable(Path::new(object).file_name().unwrap_or(object.as_ref()))
}

/// Whether an object is the C library or the dynamic linker.
pub(super) fn is_c_library(object: &str) -> bool {
    let name = short(object);
    ["libc.so.6", "libpthread.so.0", "libc.musl-"].iter().any(|library| name.starts_with(library))
        || name.starts_with("ld-linux")
        || name.starts_with("ld64.so")
        || name.starts_with("ld.so.1")
}

/// Whether it is a C++ runtime, whose operators call malloc.
fn is_cxx_runtime(object: &str) -> bool {
    let name = short(object);
    ["libstdc++.so", "libc++.so", "libc++abi.so"].iter().any(|library| name.starts_with(library))
}

impl Look<'_> {
    /// How it stands.
    pub(super) fn standing(&self) -> Standing {
        let mut served: BTreeSet<&str> = BTreeSet::new();
        let mut operators_only = true;
        let mut elsewhere: Vec<(&str, &str, Owner)> = Vec::new();
        for (object, names) in self.image.bindings.iter().filter(|(object, _)| !self.is_library(object)) {
            for name in names.keys() {
                for owner in owners(self.image, self.own_malloc, object, name) {
                    match &owner {
                        Owner::Object(path) if self.is_library(path) => {
                            served.insert(object);
                            operators_only &= bindings::is_operator(name);
                        }
                        // What the C library allocates for itself is not the program's.
                        _ if is_c_library(object) || self.is_neutral(name, &owner) => {}
                        _ => elsewhere.push((object, name, owner)),
                    }
                }
            }
        }
        let objects = served.iter().filter(|object| !is_c_library(object)).count() as u64;
        // A library with operators of C++ has those even where malloc is somebody else's.
        match (operators_only, elsewhere.first()) {
            (true, None) if served.is_empty() => self.of_the_c_library(),
            (true, Some(first)) => Standing::Not(self.words(first)),
            (false, Some(first)) => Standing::Part(self.words(first)),
            (_, None) => Standing::Served(objects),
        }
    }

    /// Of a program that was seen to bind nothing itself, the C library shows whether another comes first.
    fn of_the_c_library(&self) -> Standing {
        let c_library = self.image.bindings.keys().find(|object| is_c_library(object));
        let owner = c_library.and_then(|object| {
            let owners = owners(self.image, self.own_malloc, object, "malloc");
            owners.into_iter().next().map(|owner| (object.as_str(), "malloc", owner))
        });
        owner.map_or(Standing::Nothing, |owner| Standing::Not(self.words(&owner)))
    }

    /// An operator of C++ that is not the library's is nobody else's allocator when it gets its memory from the library.
    fn is_neutral(&self, name: &str, owner: &Owner) -> bool {
        let giver = match owner {
            _ if !bindings::is_operator(name) => return false,
            Owner::Executable => self.image.program.as_deref().unwrap_or_default(),
            Owner::Object(path) => path,
        };
        let takes_ours = || {
            bindings::FAMILY.iter().flat_map(|name| self.image.owners(giver, name)).any(|owner| self.is_library(owner))
        };
        is_cxx_runtime(giver) || takes_ours()
    }

    fn is_library(&self, object: &str) -> bool {
        let path = Path::new(object);
        path == self.library
            || (path.is_absolute()
                && path.file_name() == self.library.file_name()
                && std::fs::canonicalize(path).ok() == std::fs::canonicalize(self.library).ok())
    }

    fn words(&self, (object, name, owner): &(&str, &str, Owner)) -> String {
        let object = short(object);
        match owner {
            Owner::Executable => format!("{name} of {object} is the executable's own"),
            Owner::Object(owner) if short(owner) == object => format!("{object} has a {name} of its own"),
            Owner::Object(owner) if is_c_library(owner) => {
                format!(
                    "{name} of {object} is bound to {}: it was loaded with RTLD_DEEPBIND, or apart from the others",
                    short(owner)
                )
            }
            Owner::Object(owner) => format!("{name} of {object} is bound to {}", short(owner)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBRARY: &str = "/lib/libours.so";

    fn image(bindings: &[(&str, &str, &str)]) -> Image {
        let mut image = Image { program: Some("prog".to_owned()), ..Image::default() };
        for (object, name, owner) in bindings {
            let names = image.bindings.entry((*object).to_owned()).or_default();
            names.entry((*name).to_owned()).or_default().insert((*owner).to_owned());
        }
        image
    }

    fn standing(own_malloc: bool, bindings: &[(&str, &str, &str)]) -> Standing {
        Look { image: &image(bindings), library: Path::new(LIBRARY), own_malloc }.standing()
    }

    #[test]
    fn objects_that_take_all_from_the_library_are_served() {
        let all = [
            ("/l/libc.so.6", "malloc", LIBRARY),
            ("prog", "malloc", LIBRARY),
            ("prog", "free", LIBRARY),
            ("/l/liba.so", "free", LIBRARY),
            // Its own, and what the C library keeps to itself.
            (LIBRARY, "free", "/l/libc.so.6"),
            ("/l/libc.so.6", "free", "/l/libc.so.6"),
            ("/l64/ld-linux-x86-64.so.2", "malloc", "/l/libc.so.6"),
        ];
        assert_eq!(standing(false, &all), Standing::Served(2));
        assert_eq!(standing(false, &all[..1]), Standing::Served(0));
        assert_eq!(standing(false, &[]), Standing::Nothing);
    }

    #[test]
    fn what_is_bound_elsewhere_is_named() {
        let part = [("prog", "malloc", LIBRARY), ("/l/plugin.so", "malloc", "/l/libc.so.6")];
        assert_eq!(
            standing(false, &part),
            Standing::Part(
                "malloc of plugin.so is bound to libc.so.6: it was loaded with RTLD_DEEPBIND, or apart from the others"
                    .to_owned()
            )
        );
        assert_eq!(
            standing(false, &[("prog", "free", "/l/libother.so")]),
            Standing::Not("free of prog is bound to libother.so".to_owned())
        );
        assert_eq!(
            standing(false, &[("/l/a.so", "mallocx", "/l/a.so"), ("prog", "free", LIBRARY)]),
            Standing::Part("a.so has a mallocx of its own".to_owned())
        );
        assert_eq!(
            standing(false, &[("/l/libc.so.6", "malloc", "/l/libc.so.6")]),
            Standing::Not("libc.so.6 has a malloc of its own".to_owned())
        );
    }

    #[test]
    fn an_address_in_the_executable_leads_on() {
        let canonical = [("/l/libc.so.6", "malloc", "prog"), ("/l/a.so", "malloc", "prog"), ("prog", "malloc", "prog")];
        assert_eq!(standing(false, &canonical), Standing::Nothing, "it was not called yet");
        assert_eq!(standing(true, &canonical), Standing::Not("malloc of a.so is the executable's own".to_owned()));
        let mut called = canonical.to_vec();
        called.push(("prog", "malloc", LIBRARY));
        assert_eq!(standing(false, &called), Standing::Served(2));
        // A malloc of its own that hands on what it is asked for.
        assert_eq!(standing(true, &called), Standing::Served(2));
    }

    #[test]
    fn operators_count_by_whom_they_ask() {
        let runtime = [("prog", "_Znwm", "/l/libstdc++.so.6"), ("/l/libstdc++.so.6", "malloc", LIBRARY)];
        assert_eq!(standing(false, &runtime), Standing::Served(1));
        let replaced = [("/l/a.so", "_ZdlPv", "prog"), ("prog", "free", LIBRARY)];
        assert_eq!(standing(true, &replaced), Standing::Served(1));
        let foreign = [("/l/a.so", "_Znwm", "/l/pool.so"), ("/l/a.so", "free", LIBRARY)];
        assert_eq!(standing(false, &foreign), Standing::Part("_Znwm of a.so is bound to pool.so".to_owned()));
        let only = [("/l/a.so", "_Znwm", LIBRARY), ("/l/a.so", "malloc", "prog")];
        assert_eq!(standing(true, &only), Standing::Not("malloc of a.so is the executable's own".to_owned()));
        assert_eq!(standing(false, &only[..1]), Standing::Served(1));
        let asks = [("/l/a.so", "_Znwm", "/l/pool.so"), ("/l/pool.so", "malloc", LIBRARY)];
        assert_eq!(standing(false, &asks), Standing::Served(1));
    }
}
