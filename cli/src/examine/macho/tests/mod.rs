//! Each with a file made for it.

mod fixture;
mod hostile;

use super::examine;
use crate::examine::{Effect, Obstacle};
use crate::library::{Library, System, Target};
use fixture::{ARM64, ARM64E, Form, I386, Program, Sign, X86_64, universal};
use object::{Architecture, Endianness};
use std::ops::Deref;
use std::path::Path;

const RUNTIME: u32 = 0x1_0000;
const ADHOC: u32 = 2;
const ALLOW: (&str, bool) = ("com.apple.security.cs.allow-dyld-environment-variables", true);
const ANY_LIBRARY: (&str, bool) = ("com.apple.security.cs.disable-library-validation", true);

fn judge_at(path: &str, file: &[u8], library: Option<&Library>) -> (Option<Target>, Vec<Obstacle>, Vec<String>) {
    examine(Path::new(path), file, library)
}

/// The obstacles' names and effects.
fn judge(file: &[u8]) -> Vec<(&'static str, Effect)> {
    ids(&judge_at("/opt/app", file, None).1)
}

fn ids(obstacles: &[Obstacle]) -> Vec<(&'static str, Effect)> {
    obstacles.iter().map(|obstacle| (obstacle.id, obstacle.effect)).collect()
}

/// Writes a library to a file of its own, since its signature is read from there.
fn library(name: &str, file: &[u8]) -> Written {
    let path = std::env::temp_dir().join(format!("jeshim-macho-{}-{name}.dylib", std::process::id()));
    std::fs::write(&path, file).unwrap();
    let target = Target {
        system: System::MacOs,
        architecture: Architecture::Aarch64,
        sub_architecture: None,
        bits: 64,
        endianness: Endianness::Little,
    };
    let (version, jemalloc_version) = (String::new(), String::new());
    Written(Library { path, version, jemalloc_version, page_size: 0, options: Vec::new(), target })
}

/// A library whose file goes with it.
struct Written(Library);

impl Deref for Written {
    type Target = Library;

    fn deref(&self) -> &Library {
        &self.0
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0.path);
    }
}

fn dylib(cpu: (u32, u32), signature: Option<&Sign>) -> Vec<u8> {
    Program { cpu, file_type: 6, is_dynamic: false, signature: signature.map(Sign::build), ..Program::default() }
        .build()
}

fn adhoc() -> Sign {
    Sign { flags: ADHOC | 0x2_0000, ..Sign::default() }
}

#[test]
fn a_plain_program_has_nothing_in_the_way() {
    let (target, obstacles, notes) = judge_at("/opt/app", &Program::signed(&adhoc()).build(), None);
    assert_eq!((ids(&obstacles), &notes[..]), (vec![], &[][..]));
    let target = target.unwrap();
    assert_eq!(
        (target.system, target.architecture, target.sub_architecture),
        (System::MacOs, Architecture::Aarch64, None)
    );
}

#[test]
fn an_unsigned_program_for_apple_silicon_is_noted() {
    let (_, obstacles, notes) = judge_at("/opt/app", &Program::default().build(), None);
    assert_eq!(ids(&obstacles), []);
    assert!(notes[0].contains("/opt/app has no code signature"), "{notes:?}");
    let intel = Program { cpu: X86_64, ..Program::default() };
    assert_eq!(judge_at("/opt/app", &intel.build(), None).2, [""; 0]);
}

#[test]
fn the_hardened_runtime_needs_two_entitlements() {
    for form in [Form::Xml, Form::OldDer, Form::Der] {
        let judge_with = |entitlements: &[(&'static str, bool)]| {
            let sign =
                Sign { flags: RUNTIME, team: "TEAM", entitlements: entitlements.to_vec(), form, ..Sign::default() };
            judge(&Program::signed(&sign).build())
        };
        assert_eq!(judge_with(&[]), [("hardened_runtime", Effect::Prevents)]);
        assert_eq!(judge_with(&[ANY_LIBRARY]), [("hardened_runtime", Effect::Prevents)]);
        assert_eq!(judge_with(&[ALLOW]), [("library_validation", Effect::Breaks)]);
        assert_eq!(judge_with(&[ALLOW, ANY_LIBRARY]), []);
        assert_eq!(judge_with(&[(ALLOW.0, false), ANY_LIBRARY]), [("hardened_runtime", Effect::Prevents)]);
    }
}

#[test]
fn binary_entitlements_win_over_the_property_list() {
    let sign = Sign { flags: RUNTIME, entitlements: vec![ALLOW], form: Form::XmlAgainstDer, ..Sign::default() };
    assert_eq!(judge(&Program::signed(&sign).build()), [("hardened_runtime", Effect::Prevents)]);
}

#[test]
fn library_validation_accepts_the_same_team_only() {
    let of = |team| Sign { flags: RUNTIME, team, entitlements: vec![ALLOW], ..Sign::default() };
    let program = Program::signed(&of("OURS")).build();
    let verdict =
        |name, sign: &Sign| ids(&judge_at("/opt/app", &program, Some(&library(name, &dylib(ARM64, Some(sign))))).1);
    assert_eq!(verdict("same", &of("OURS")), []);
    assert_eq!(verdict("other", &of("THEIRS")), [("library_validation", Effect::Breaks)]);
    assert_eq!(verdict("nobody", &adhoc()), [("library_validation", Effect::Breaks)]);
    // A team that nobody vouches for.
    assert_eq!(verdict("claims", &Sign { flags: ADHOC, ..of("OURS") }), [("library_validation", Effect::Breaks)]);
}

#[test]
fn library_validation_holds_without_the_hardened_runtime() {
    for flag in [0x2000, 0x10] {
        let sign = Sign { flags: flag, team: "TEAM", ..Sign::default() };
        assert_eq!(judge(&Program::signed(&sign).build()), [("library_validation", Effect::Breaks)]);
    }
}

#[test]
fn an_unsigned_library_is_refused_on_apple_silicon() {
    let program = Program::signed(&adhoc()).build();
    let unsigned = library("unsigned", &dylib(ARM64, None));
    assert_eq!(ids(&judge_at("/opt/app", &program, Some(&unsigned)).1), [("unsigned_library", Effect::Breaks)]);
}

#[test]
fn restricted_and_platform_programs_ignore_the_variable() {
    let restricted = Sign { flags: 0x800, ..Sign::default() };
    assert_eq!(judge(&Program::signed(&restricted).build()), [("restricted_signature", Effect::Prevents)]);
    let platform = Sign { platform: 14, ..Sign::default() };
    assert_eq!(judge(&Program::signed(&platform).build()), [("platform_binary", Effect::Prevents)]);
    let section = Program { sections: vec![("__RESTRICT", "__restrict")], ..Program::signed(&adhoc()) };
    assert_eq!(judge(&section.build()), [("restricted", Effect::Prevents)]);
    let other = Program { sections: vec![("__RESTRICT", "__other")], ..Program::signed(&adhoc()) };
    assert_eq!(judge(&other.build()), []);
}

#[test]
fn protected_paths_ignore_the_variable() {
    let file = Program::signed(&adhoc()).build();
    for path in ["/usr/bin/env", "/bin/zsh", "/System/Applications/Chess.app/Contents/MacOS/Chess"] {
        let (_, obstacles, _) = judge_at(path, &file, None);
        assert_eq!(ids(&obstacles), [("sip", Effect::Prevents)]);
        assert!(obstacles[0].cause.starts_with(path), "{obstacles:?}");
    }
    assert_eq!(ids(&judge_at("/usr/local/bin/python3", &file, None).1), []);
    // What is never inserted is not refused.
    let validated = Program::signed(&Sign { flags: 0x2000, ..Sign::default() }).build();
    assert_eq!(ids(&judge_at("/bin/zsh", &validated, None).1), [("sip", Effect::Prevents)]);
}

#[test]
fn setuid_and_setgid_programs_ignore_the_variable() {
    use std::os::unix::fs::PermissionsExt;
    let file = Program::signed(&adhoc()).build();
    let path = std::env::temp_dir().join(format!("jeshim-macho-{}-setuid", std::process::id()));
    std::fs::write(&path, &file).unwrap();
    for (mode, expected) in
        [(0o4755, &[("setuid", Effect::Prevents)][..]), (0o2755, &[("setuid", Effect::Prevents)]), (0o755, &[])]
    {
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        assert_eq!(ids(&judge_at(path.to_str().unwrap(), &file, None).1), expected, "{mode:o}");
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn arm64e_loads_no_arm64_library() {
    let program = Program { cpu: ARM64E, ..Program::signed(&adhoc()) }.build();
    let (target, obstacles, _) = judge_at("/opt/app", &program, None);
    assert_eq!(ids(&obstacles), [("arm64e", Effect::Breaks)]);
    assert!(target.unwrap().sub_architecture.is_some());
    let both = universal(&[(dylib(ARM64, Some(&adhoc())), ARM64), (dylib(ARM64E, Some(&adhoc())), ARM64E)], false);
    assert_eq!(ids(&judge_at("/opt/app", &program, Some(&library("arm64e", &both))).1), []);
}

#[test]
fn the_library_has_to_be_for_the_programs_processor() {
    let arm64 = library("arm64", &dylib(ARM64, Some(&adhoc())));
    let intel = library("x86_64", &dylib(X86_64, None));
    let program_arm64 = Program::signed(&adhoc()).build();
    let program_intel = Program { cpu: X86_64, ..Program::default() }.build();
    let verdict = |file: &[u8], library| ids(&judge_at("/opt/app", file, Some(library)).1);
    assert_eq!(verdict(&program_arm64, &arm64), []);
    assert_eq!(verdict(&program_intel, &intel), []);
    assert_eq!(verdict(&program_arm64, &intel), [("architecture", Effect::Breaks)]);
    // Rosetta.
    assert_eq!(verdict(&program_intel, &arm64), [("architecture", Effect::Breaks)]);
    assert_eq!(judge(&Program { cpu: I386, ..Program::default() }.build()), [("architecture", Effect::Prevents)]);
}

#[test]
fn of_a_universal_file_the_piece_that_runs_counts() {
    let arm64 = Program::signed(&adhoc()).build();
    let arm64e = Program { cpu: ARM64E, ..Program::signed(&adhoc()) }.build();
    let intel = Program { cpu: X86_64, ..Program::default() }.build();
    let hardened = Program { cpu: X86_64, ..Program::signed(&Sign { flags: RUNTIME, ..Sign::default() }) }.build();
    for is_64 in [false, true] {
        let plain = universal(&[(intel.clone(), X86_64), (arm64.clone(), ARM64)], is_64);
        let (target, obstacles, notes) = judge_at("/opt/app", &plain, None);
        assert_eq!((ids(&obstacles), target.unwrap().architecture), (vec![], Architecture::Aarch64));
        assert_eq!(
            notes,
            [
                "/opt/app is universal (x86_64 and arm64); arm64 is what Apple silicon runs, x86_64 is what an Intel Mac runs"
            ]
        );
        // The kernel prefers arm64e.
        let system = universal(&[(intel.clone(), X86_64), (arm64.clone(), ARM64), (arm64e.clone(), ARM64E)], is_64);
        let (_, obstacles, _) = judge_at("/opt/app", &system, None);
        assert_eq!(ids(&obstacles), [("arm64e", Effect::Breaks)]);
        assert!(obstacles[0].cause.starts_with("the arm64e piece of /opt/app"), "{obstacles:?}");
        // One piece is not like the other.
        let uneven = universal(&[(hardened.clone(), X86_64), (arm64.clone(), ARM64)], is_64);
        let (_, obstacles, _) = judge_at("/opt/app", &uneven, None);
        assert_eq!(ids(&obstacles), [("hardened_runtime", Effect::Prevents)]);
        assert!(obstacles[0].cause.starts_with("the x86_64 piece of /opt/app"), "{obstacles:?}");
        // With a library for Apple silicon only, the other piece is of no interest.
        let arm64 = library("uneven", &dylib(ARM64, Some(&adhoc())));
        assert_eq!(ids(&judge_at("/opt/app", &uneven, Some(&arm64)).1), []);
    }
}

#[test]
fn a_library_for_intel_is_judged_for_an_intel_mac_and_the_other_is_noted() {
    let hardened = Program::signed(&Sign { flags: RUNTIME, ..Sign::default() }).build();
    let intel = Program { cpu: X86_64, ..Program::default() }.build();
    let file = universal(&[(intel, X86_64), (hardened, ARM64)], false);
    let (_, obstacles, notes) = judge_at("/opt/app", &file, Some(&library("for-intel", &dylib(X86_64, None))));
    assert_eq!(ids(&obstacles), []);
    assert!(notes[1].contains("on Apple silicon the arm64 piece of /opt/app would run"), "{notes:?}");
}

#[test]
fn what_is_no_program_for_macos_is_said_to_be_none() {
    let signed = Program::signed(&adhoc());
    for file_type in [1, 4, 6, 8, 10, 11, 99] {
        let file = Program { file_type, is_dynamic: false, ..signed.clone() };
        assert_eq!(judge(&file.build()), [("not_a_program", Effect::Prevents)]);
    }
    for platform in [2, 3, 4, 7, 10, 11, 77] {
        assert_eq!(judge(&Program { platform, ..signed.clone() }.build()), [("other_platform", Effect::Prevents)]);
    }
    assert_eq!(judge(&Program { platform: 6, ..signed.clone() }.build()), [("other_platform", Effect::Breaks)]);
    assert_eq!(judge(&Program { is_dynamic: false, ..signed.clone() }.build()), [("static", Effect::Prevents)]);
    assert_eq!(judge(&Program { crypt: 1, ..signed.clone() }.build()), [("encrypted", Effect::Prevents)]);
    assert_eq!(judge(b"\xca\xfe\xba\xbe\0\0\0\x34\0\x20\x0a\0"), [("not_a_program", Effect::Prevents)]);
}

#[test]
fn other_heaps_are_named() {
    let signed = Program::signed(&adhoc());
    let found = |program: Program| judge_at("/opt/app", &program.build(), None).1;
    for (symbol, name) in [
        ("__rjem_malloc", "jemalloc"),
        ("_je_mallocx", "jemalloc"),
        ("_mi_malloc", "mimalloc"),
        ("_tc_malloc", "tcmalloc"),
        ("__ZN8tcmalloc17tcmalloc_internal9AllocateEm", "tcmalloc"),
        ("__ZN15partition_alloc13PartitionRoot5AllocEm", "PartitionAlloc"),
        ("_sn_rust_alloc", "snmalloc"),
        ("__ZN8snmalloc5allocEm", "snmalloc"),
        ("_scudo_malloc", "scudo"),
    ] {
        let obstacles = found(Program { symbols: vec![("_main", true), (symbol, true)], ..signed.clone() });
        assert_eq!(ids(&obstacles), [("own_allocator", Effect::Part)], "{symbol}");
        assert!(obstacles[0].cause.contains(name), "{symbol}: {obstacles:?}");
        // It comes from a library, about which nothing is known.
        assert_eq!(ids(&found(Program { symbols: vec![(symbol, false)], ..signed.clone() })), [], "{symbol}");
    }
    let similar = vec![("_mi_mallocator", true), ("_x_mi_malloc", true), ("__ZN9xtcmalloc3getEv", true)];
    assert_eq!(ids(&found(Program { symbols: similar, ..signed.clone() })), []);
    for text in [&b"\0<jemalloc>: Unsupported\0"[..], b"mimalloc: warning: \0", b"Scudo ERROR: \0"] {
        let program = Program { constants: text, symbols: vec![("_malloc", false)], ..signed.clone() };
        assert_eq!(ids(&found(program)), [("own_allocator", Effect::Part)]);
    }
    let needs = |library| found(Program { libraries: vec![library], ..signed.clone() });
    assert_eq!(ids(&needs("/opt/homebrew/opt/jemalloc/lib/libjemalloc.2.dylib")), [("own_allocator", Effect::Part)]);
    assert_eq!(ids(&needs("@rpath/libclang_rt.asan_osx_dynamic.dylib")), [("sanitizer", Effect::Prevents)]);
    assert_eq!(ids(&needs("@rpath/libclang_rt.ubsan_osx_dynamic.dylib")), []);
}

#[test]
fn go_calls_no_malloc_unless_it_has_parts_in_c() {
    let signed = Program::signed(&adhoc());
    let sections = vec![("__TEXT", "__gopclntab")];
    let go = Program { sections: sections.clone(), symbols: vec![("_mmap", false)], ..signed.clone() };
    assert_eq!(judge(&go.build()), [("go", Effect::Prevents)]);
    let cgo = Program { sections, symbols: vec![("_mmap", false), ("_malloc", false)], ..signed };
    assert_eq!(judge(&cgo.build()), [("go", Effect::Part)]);
}

#[test]
fn the_remedy_is_for_a_shell_and_of_the_whole_app() {
    let file = Program::signed(&Sign { flags: RUNTIME, ..Sign::default() }).build();
    let remedy = |path| judge_at(path, &file, None).1.remove(0).remedy;
    assert!(remedy("/opt/it's").ends_with(r"cp '/opt/it'\''s' /tmp/ && codesign --force --sign - '/tmp/it'\''s'"));
    assert!(
        remedy("/Applications/My App.app/Contents/MacOS/app")
            .ends_with("cp -R '/Applications/My App.app' /tmp/ && codesign --force --deep --sign - '/tmp/My App.app'")
    );
}
