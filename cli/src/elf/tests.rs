use super::*;
use fastrand::Rng;
use std::fs;

fn installed(path: &str) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn libc() -> Vec<u8> {
    let this = procfs_libc().expect("the C library of this process");
    installed(&this)
}

/// The C library of this very process.
fn procfs_libc() -> Option<String> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines()
        .find_map(|line| line.find('/').map(|at| line[at..].to_owned()).filter(|path| path.contains("/libc.so.6")))
}

/// Without section headers, as some programs are made.
fn without_sections(mut file: Vec<u8>) -> Vec<u8> {
    file[40..48].fill(0); // e_shoff
    file[58..64].fill(0); // e_shentsize, e_shnum, e_shstrndx
    file
}

#[test]
fn a_dynamic_program_is_read() {
    let file = installed("/bin/true");
    let elf = Elf::read(&file[..]).expect("ELF");
    assert_eq!(elf.interpreter.as_deref(), Some("/lib64/ld-linux-x86-64.so.2"));
    assert_eq!((elf.bits, elf.x32, elf.is_static(), elf.go), (64, false, false, false));
    assert!(elf.dynamic && elf.pie);
    assert_eq!(elf.needed, ["libc.so.6"]);
    assert!(elf.glibc_needed >= Some((2, 2)), "{:?}", elf.glibc_needed);
    assert!(elf.imports(|name| name == Name::Malloc) && !elf.exports(|name| name == Name::Malloc));
    assert_eq!(elf.target().system, System::Glibc(elf.glibc_needed));
    assert_eq!(elf.target().architecture, Architecture::X86_64);
    assert_eq!(elf.damage, [""; 0]);
}

#[test]
fn a_static_program_has_no_dynamic_linker() {
    let elf = Elf::read(&installed("/bin/busybox")[..]).expect("ELF");
    assert!(elf.is_static() && !elf.dynamic && elf.needed.is_empty());
}

#[test]
fn a_c_library_tells_its_version() {
    let elf = Elf::read(&libc()[..]).expect("ELF");
    assert_eq!(elf.soname.as_deref(), Some("libc.so.6"));
    assert!(elf.exports(|name| name == Name::Malloc));
    let version = elf.glibc_defined;
    assert!(version >= Some((2, 17)) && version < Some((3, 0)), "{version:?}");
    assert!(matches!(elf.target().system, System::Glibc(_)));
}

#[test]
fn section_headers_are_not_needed() {
    for file in [installed("/bin/true"), installed("/usr/bin/perl"), libc()] {
        let whole = Elf::read(&file[..]).expect("ELF");
        let stripped = Elf::read(&without_sections(file)[..]).expect("ELF");
        assert!(!whole.names.is_empty());
        assert_eq!(stripped, whole);
    }
}

#[test]
fn what_is_not_elf_or_ends_too_early_is_an_error() {
    let file = installed("/bin/true");
    for length in [0, 1, 4, 5, 16, 63, 64, 100, 400] {
        Elf::read(&file[..length]).expect_err("too short");
    }
    Elf::read(&b"#!/bin/sh\necho hello"[..]).expect_err("a script");
    let cut = Elf::read(&file[..file.len() / 2]).expect("headers");
    assert!(!cut.damage.is_empty());
}

#[test]
fn sizes_that_overflow_or_fill_the_memory_are_damage() {
    let mut file = installed("/bin/true");
    let headers = usize::from(u16::from_le_bytes([file[56], file[57]]));
    for header in 0..headers {
        let at = 64 + header * 56;
        if file[at..at + 4] == [2, 0, 0, 0] {
            // PT_DYNAMIC: its size in the file.
            file[at + 32..at + 40].fill(0xff);
        }
    }
    let elf = Elf::read(&file[..]).expect("headers");
    assert_eq!(elf.damage, ["its dynamic segment cannot be read"]);
}

/// Flips bytes where it hurts, and puts them back.
fn mutate(file: &mut [u8], times: usize, random: &mut Rng) {
    let dynamic = Elf::read(&file[..]).expect("ELF").segments.iter().find(|segment| segment.writable).copied();
    let writable =
        dynamic.map_or(0..file.len(), |segment| segment.offset as usize..(segment.offset + segment.size) as usize);
    let whole = file.to_vec();
    for _ in 0..times {
        let mut touched = Vec::new();
        for _ in 0..random.usize(1..8) {
            let at = match random.u8(0..4) {
                0 => random.usize(0..64),
                1 => random.usize(64..4096),
                2 => random.usize(writable.clone()),
                _ => random.usize(0..file.len().min(1 << 16)),
            };
            file[at] = [0, 1, 0x7f, 0xff, random.u8(..)][random.usize(0..5)];
            touched.push(at);
        }
        let end = if random.u8(0..4) == 0 { random.usize(0..file.len()) } else { file.len() };
        if let Ok(elf) = Elf::read(&file[..end]) {
            let _ = elf.target();
        }
        for at in touched {
            file[at] = whole[at];
        }
    }
}

#[test]
fn damaged_files_are_read_without_panic() {
    let mut random = Rng::with_seed(3);
    mutate(&mut installed("/bin/true"), 8000, &mut random);
    mutate(&mut without_sections(installed("/bin/true")), 8000, &mut random);
    mutate(&mut installed("/bin/busybox"), 2000, &mut random);
    mutate(&mut libc(), 1000, &mut random);
}
