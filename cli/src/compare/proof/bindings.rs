//! What glibc's dynamic linker writes with LD_DEBUG=bindings,files (elf/dl-lookup.c, elf/dl-map.c): from which object each
//! object takes a name, when it is bound. At the start that is what data refers to, and calls where a program has them
//! bound at once; other calls follow when they are first made. From 2.31 on, malloc, calloc, realloc and free are always told
//! of the executable, whether it calls them or not: the dynamic linker looks them up for itself in its place
//! (elf/dl-minimal.c, `__rtld_malloc_init_real`).

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

/// The names that allocate and free.
pub(super) const FAMILY: [&str; 6] = ["malloc", "free", "calloc", "realloc", "posix_memalign", "aligned_alloc"];
/// jemalloc's own names for it: whoever calls these has an allocator besides malloc's.
const EXTENDED: [&str; 4] = ["mallocx", "rallocx", "dallocx", "sdallocx"];
/// How C++'s operators begin.
const OPERATORS: [&str; 4] = ["_Znw", "_Zna", "_Zdl", "_Zda"];

/// One program in one process, from its execution to its end, or to the next execution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Image {
    /// The name that it was started under (`argv[0]`); `None` when it ended before it began.
    pub(super) program: Option<String>,
    /// By object, then by name: the objects whose function it takes. The executable goes by the name that it was started
    /// under.
    pub(super) bindings: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
}

impl Image {
    /// The objects from which an object takes a name.
    pub(super) fn owners(&self, object: &str, name: &str) -> impl Iterator<Item = &str> {
        self.bindings.get(object).and_then(|names| names.get(name)).into_iter().flatten().map(String::as_str)
    }
}

/// Whether a name is one of C++'s operators.
pub(super) fn is_operator(name: &str) -> bool {
    OPERATORS.iter().any(|beginning| name.starts_with(beginning))
}

fn is_wanted(name: &str) -> bool {
    FAMILY.contains(&name) || EXTENDED.contains(&name) || is_operator(name)
}

/// Reads one process's file: its images, in their order. What it does not understand, and what cannot be read, it leaves
/// out.
pub(super) fn read(mut file: impl BufRead) -> Vec<Image> {
    let mut images: Vec<Image> = Vec::new();
    let mut image = Image::default();
    let mut line = Vec::new();
    while file.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        let text = String::from_utf8_lossy(&line);
        // "     27769:\tbinding file …"
        let said = text.split_once(":\t").map_or("", |(_, said)| said.trim_end());
        if begins_image(said) {
            images.push(std::mem::take(&mut image));
        } else if let Some(program) = said.strip_prefix("initialize program: ") {
            image.program = Some(program.to_owned());
        } else if let Some((object, owner, name)) = binding(said) {
            let names = image.bindings.entry(object.to_owned()).or_default();
            names.entry(name.to_owned()).or_default().insert(owner.to_owned());
        }
        line.clear();
    }
    images.push(image);
    // What came before the first one began is none.
    images.retain(|image| *image != Image::default());
    images
}

/// The C library is mapped once in an image, and before anything is bound.
fn begins_image(said: &str) -> bool {
    said.strip_prefix("file=libc.so.6 [0];").is_some_and(|rest| rest.trim_start().starts_with("generating link map"))
}

/// "binding file OBJECT [0] to OWNER [0]: normal symbol `NAME' [VERSION]": object, owner, name, when it is wanted.
fn binding(said: &str) -> Option<(&str, &str, &str)> {
    let rest = said.strip_prefix("binding file ")?;
    let (objects, symbol) = rest.rsplit_once("]: ")?;
    let (kind, name) = symbol.split_once(" symbol `")?;
    let name = name.split('\'').next().filter(|name| is_wanted(name))?;
    let (object, owner) = objects.rsplit_once("] to ")?;
    if matches!(kind, "normal" | "protected") { Some((path(object)?, path(owner)?, name)) } else { None }
}

/// Takes the namespace off: "/lib/libc.so.6 [0".
fn path(object: &str) -> Option<&str> {
    object.rfind(" [").and_then(|end| object.get(..end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners(image: &Image, object: &str, name: &str) -> Vec<String> {
        image.owners(object, name).map(str::to_owned).collect()
    }

    #[test]
    fn bindings_are_read_image_by_image() {
        let text = "     7:\tfile=/l/libm.so [0];  needed by sh [0]
     7:\tfile=libc.so.6 [0];  needed by sh [0]
     7:\tfile=libc.so.6 [0];  generating link map
     7:\tbinding file sh [0] to /l/libm.so [0]: normal symbol `malloc' [GLIBC_2.2.5]
     7:\tinitialize program: sh
     7:\tbinding file sh [0] to /l/libm.so [0]: normal symbol `printf' [GLIBC_2.2.5]
     7:\tbinding file sh [0] to /l/libm.so [0]: normal symbol `free'
     7:\tfile=libc.so.6 [0];  generating link map
     7:\tbinding file a b [1] c [0] to /l/x y.so [0]: protected symbol `_Znwm'
     7:\tbinding file p [0] to p [0]: normal symbol `mallocx'
     7:\tbinding file p [0] to q [0]: normal symbol `mallocx'
     7:\tinitialize program: ./p q
     7:\tfile=libc.so.6 [1];  generating link map
broken
     7:\tbinding file p [0] to q [0: normal sym";
        let images = read(text.as_bytes());
        assert_eq!(images.len(), 2, "{images:#?}");
        assert_eq!(images[0].program.as_deref(), Some("sh"));
        assert_eq!(owners(&images[0], "sh", "malloc"), ["/l/libm.so"]);
        assert_eq!(owners(&images[0], "sh", "free"), ["/l/libm.so"]);
        assert_eq!(images[0].bindings["sh"].len(), 2);
        assert_eq!(images[1].program.as_deref(), Some("./p q"));
        assert_eq!(owners(&images[1], "p", "mallocx"), ["p", "q"]);
        assert_eq!(owners(&images[1], "a b [1] c", "_Znwm"), ["/l/x y.so"], "{images:#?}");
        assert!(!images[1].bindings.contains_key("sh"), "that was the image before");
        assert_eq!(owners(&images[1], "p", "malloc"), Vec::<String>::new());
    }

    #[test]
    fn anything_else_gives_nothing() {
        for text in [
            "",
            "\n\n",
            ":\tbinding file",
            "1:\tbinding file x [0] to y [0]: odd symbol `malloc'",
            "1:\ta binding file x [0] to y [0]: normal symbol `malloc'",
            "\u{0}\u{ff}",
        ] {
            assert!(read(text.as_bytes()).iter().all(|image| image.bindings.is_empty()), "{text}");
        }
        assert!(read(&b"\xff\xfe: \tbinding file \xff [0] to"[..]).is_empty());
    }
}
