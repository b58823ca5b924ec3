//! Examining programs for macOS that a linker for macOS made: LLVM's, which rustup ships as `rust-lld`.

use jeshim_cli::examine::macho::examine;
use object::write::{MachOBuildVersion, Object, Symbol, SymbolSection};
use object::{Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope, macho};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a program takes from the system, for the linker.
const SYSTEM: &str = "--- !tapi-tbd
tbd-version:     4
targets:         [ x86_64-macos, arm64-macos ]
install-name:    '/usr/lib/libSystem.B.dylib'
exports:
  - targets:     [ x86_64-macos, arm64-macos ]
    symbols:     [ _malloc, dyld_stub_binder ]
...
";

fn object_file(architecture: Architecture) -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::MachO, architecture, Endianness::Little);
    let mut version = MachOBuildVersion::default();
    version.platform = macho::PLATFORM_MACOS;
    version.minos = 0x000d_0000;
    object.set_macho_build_version(version);
    let text = object.add_section(b"__TEXT".to_vec(), b"__text".to_vec(), SectionKind::Text);
    // It is never run.
    object.append_section_data(text, &[0; 16], 4);
    object.add_symbol(Symbol {
        name: b"main".to_vec(),
        value: 0,
        size: 16,
        kind: SymbolKind::Text,
        scope: SymbolScope::Dynamic,
        weak: false,
        section: SymbolSection::Section(text),
        flags: SymbolFlags::None,
    });
    object.write().expect("an object file")
}

fn linker() -> PathBuf {
    let ask = |option: &[&str]| {
        let output = Command::new("rustc").args(option).output().expect("rustc");
        String::from_utf8(output.stdout).expect("text")
    };
    let version = ask(&["-vV"]);
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("a host");
    Path::new(ask(&["--print", "sysroot"]).trim()).join("lib/rustlib").join(host).join("bin/rust-lld")
}

fn link(name: &str, architecture: Architecture, options: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("macho").join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("main.o"), object_file(architecture)).expect("a file");
    std::fs::write(folder.join("libSystem.tbd"), SYSTEM).expect("a file");
    let arch = if architecture == Architecture::Aarch64 { "arm64" } else { "x86_64" };
    let output = Command::new(linker())
        .args(["-flavor", "darwin", "-arch", arch, "-platform_version", "macos", "13.0", "13.0", "-o", "app"])
        .args(["main.o", "libSystem.tbd"])
        .args(options)
        .current_dir(&folder)
        .output()
        .expect("rust-lld; it comes with a toolchain of rustup");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder.join("app")
}

/// The obstacles' names, and the notes.
fn examined(path: &Path) -> (Vec<&'static str>, Vec<String>) {
    let file = std::fs::read(path).expect("a file");
    let (_, obstacles, notes) = examine(path, &file[..], None);
    (obstacles.into_iter().map(|obstacle| obstacle.id).collect(), notes)
}

#[test]
fn a_linked_program_has_nothing_in_the_way_and_is_signed_where_it_must_be() {
    for (name, architecture) in [("arm64", Architecture::Aarch64), ("x86_64", Architecture::X86_64)] {
        let path = link(name, architecture, &[]);
        // The linker signs for arm64, or there would be a note.
        assert_eq!(examined(&path), (vec![], vec![]), "{name}");
    }
    let unsigned = link("unsigned", Architecture::Aarch64, &["-no_adhoc_codesign"]);
    let (obstacles, notes) = examined(&unsigned);
    assert!(obstacles.is_empty() && notes.len() == 1 && notes[0].contains("has no code signature"), "{notes:?}");
}

#[test]
fn a_restrict_section_that_the_linker_made_is_seen() {
    let restrict = ["-sectcreate", "__RESTRICT", "__restrict", "/dev/null"];
    assert_eq!(examined(&link("restrict", Architecture::Aarch64, &restrict)).0, ["restricted"]);
}

#[test]
fn a_linked_library_is_no_program() {
    assert_eq!(examined(&link("dylib", Architecture::X86_64, &["-dylib"])).0, ["not_a_program"]);
}
