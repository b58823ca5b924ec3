//! Whether the dynamic linker would load the library into the program at all.

use super::libraries::Loaded;
use super::open::Opened;
use super::{Effect, Examination};
use crate::elf::Elf;
use crate::library::{Library, System, Target};
use crate::terminal::printable;
use jeshim_host::{executable, machine};
use object::elf;
use object::read::ReadCache;
use std::path::Path;

const OTHER_LIBRARY: &str = "build the library for it (cargo build --release --target ...) and name that with --lib";

/// For which programs a library of this machine's kind is, when none is given: those of its shell's kind.
pub(super) fn this_machine() -> Option<Target> {
    let shell = executable::open(Path::new("/bin/sh")).ok()?;
    Elf::read(&ReadCache::new(shell)).ok().map(|elf| elf.target())
}

/// Adds what is no program of a dynamic linker's; says whether it is one.
pub(super) fn is_dynamic(program: &Elf, file: &Opened, found: &mut Examination) -> bool {
    let path = printable(&file.path);
    if file.start.get(8..11) == Some(b"AI\x02") {
        let cause = format!("{path} is an AppImage: what it unpacks and starts is seen only when it runs");
        found.add("appimage", Effect::Unsure, cause, "run it with --appimage-extract, and examine the program in it");
        return false;
    }
    match program.file_type {
        elf::ET_EXEC | elf::ET_DYN => {}
        elf::ET_CORE | elf::ET_REL => {
            let what = if program.file_type == elf::ET_CORE { "a core dump" } else { "an object file" };
            found.add("format", Effect::Unsure, format!("{path} is {what}, not a program"), "name a program");
            return false;
        }
        _ => {
            found.add("format", Effect::Unsure, format!("{path} is an ELF file of an unknown type"), "name a program");
            return false;
        }
    }
    if !program.is_static() {
        return true;
    }
    let packed = memchr::memmem::find(file.start.get(..1024).unwrap_or(&file.start), b"UPX!").is_some();
    if packed {
        let cause = format!("{path} is packed by UPX: what is in it is seen only when it runs");
        found.add("packed", Effect::Unsure, cause, "unpack it (upx -d), and examine that");
    } else if program.go {
        let cause = format!("{path} is a static Go program: the dynamic linker never runs, and Go calls no malloc");
        found.add("go", Effect::Prevents, cause, "none by preloading; Go's own settings are GOGC and GOMEMLIMIT");
    } else if program.file_type == elf::ET_DYN
        && !program.pie
        && (program.soname.is_some() || !program.needed.is_empty())
    {
        found.add("format", Effect::Unsure, format!("{path} is a library, not a program"), "name a program");
    } else {
        let kind = if program.dynamic { "static (static-pie) program" } else { "static program" };
        let cause = format!("{path} is a {kind}: the dynamic linker never runs, so nothing can be preloaded");
        let remedy = "use a dynamically linked build of it, or link jemalloc into it when it is built";
        found.add("static", Effect::Prevents, cause, remedy);
    }
    false
}

/// Adds what the dynamic linker would refuse. Says whether it would load the library.
pub(super) fn obstacles(program: &Elf, path: &str, library: &Target, found: &mut Examination) -> bool {
    let target = program.target();
    if !program.same_machine(library) {
        let family = |target: &Target| format!("{:?}", target.architecture);
        let x86 = |target: &Target| ["X86_64", "X86_64_X32", "I386"].contains(&family(target).as_str());
        let word_size = x86(&target) && x86(library);
        let (id, cause) = if word_size {
            let cause =
                format!("{path} is a {}-bit program, and the library is for {}-bit ones", target.bits, library.bits);
            ("word_size", cause)
        } else {
            let name =
                |target: &Target| target.sub_architecture.clone().unwrap_or_else(|| family(target).to_lowercase());
            let mine = match name(&target).as_str() {
                "unknown" => format!("another processor (ELF machine {})", program.machine),
                name => format!("{name} ({} bits)", target.bits),
            };
            (
                "architecture",
                format!("{path} is for {mine}, and the library for {} ({} bits)", name(library), library.bits),
            )
        };
        found.add(id, Effect::Prevents, cause, OTHER_LIBRARY);
        return false;
    }
    let remedy = "use a build of it for the library's C library, or build the library for the program's";
    match (&target.system, &library.system) {
        (System::Glibc(_), System::Glibc(_)) | (System::Musl, System::Musl) => return true,
        (System::Musl, _) => {
            let cause = format!(
                "{path} is a program for musl, whose loader cannot load a library for glibc and refuses to start the program with it"
            );
            found.add("musl", Effect::Breaks, cause, "use a build of it for glibc, or build the library for musl");
        }
        (System::Glibc(_), System::Musl) => {
            let cause = format!("{path} is a program for glibc, which does not start with a library for musl");
            found.add("glibc", Effect::Breaks, cause, "use a build of it for musl, or build the library for glibc");
        }
        (System::OtherElf(linker), _) => {
            let cause =
                format!("{path} has another dynamic linker ({}) than those the library is for", printable(linker));
            found.add("other_linker", Effect::Prevents, cause, remedy);
        }
        _ => {
            let cause = format!("{path} is a program for another C library than the one the library is for");
            found.add("other_linker", Effect::Prevents, cause, remedy);
        }
    }
    false
}

/// Adds what the library itself asks for and this machine lacks.
pub(super) fn requirements(path: &str, library: &Library, loaded: &[Loaded], found: &mut Examination) {
    let has = loaded.iter().find(|library| library.name.starts_with("libc.so.6"));
    if let (Some(libc), System::Glibc(Some(wanted))) = (has, &library.target.system)
        && let Some(there) = libc.elf.glibc_defined
        && there < *wanted
    {
        let cause = format!(
            "{} asks for GLIBC_{}.{}, and {}, which {path} would load, has GLIBC_{}.{} at most: the program would not start",
            printable(&library.path),
            wanted.0,
            wanted.1,
            printable(&libc.path),
            there.0,
            there.1,
        );
        found.add("glibc_version", Effect::Breaks, cause, "build the library on the oldest system that it is for");
    }
    let page = machine::page_size();
    if library.page_size != 0 && page > library.page_size {
        let cause = format!(
            "{} is built for pages of {} bytes at most, and this kernel has {page}: every allocation would fail",
            printable(&library.path),
            library.page_size,
        );
        found.add("page_size", Effect::Breaks, cause, "build the library with JEMALLOC_SYS_WITH_LG_PAGE=16");
    }
}
