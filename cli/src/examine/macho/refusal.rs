//! What the kernel and dyld will refuse, from what was read: in their order, since what is never inserted cannot be
//! refused.

use super::container::{self, Kind, Piece};
use super::dylib::Dylib;
use super::protected;
use super::slice::Slice;
use crate::examine::{Effect, Obstacle};
use object::macho;
use std::path::Path;

const ALLOW_VARIABLES: &str = "com.apple.security.cs.allow-dyld-environment-variables";
const ELSEWHERE: &str =
    "use a build of it from elsewhere (Homebrew, MacPorts, the project's own), which is not protected";

fn obstacle(id: &'static str, effect: Effect, cause: String, remedy: impl Into<String>) -> Obstacle {
    Obstacle { id, effect, cause, remedy: remedy.into() }
}

/// No piece is for a processor that macOS runs on.
pub(super) fn architecture(name: &str, pieces: &[Piece]) -> Obstacle {
    let kinds = container::names(pieces.iter().map(|piece| &piece.kind));
    let cause = format!("{name} is for {kinds}, which no macOS since 10.15 runs");
    obstacle("architecture", Effect::Prevents, cause, "use a build of it for arm64 or x86_64")
}

/// What the file's place and mode forbid.
pub(super) fn of_file(path: &Path, name: &str) -> Vec<Obstacle> {
    let mut found = Vec::new();
    if protected::is_protected(path) {
        let cause = format!(
            "{name} is protected by System Integrity Protection: macOS takes DYLD_INSERT_LIBRARIES away from it and from all that it starts"
        );
        found.push(obstacle("sip", Effect::Prevents, cause, ELSEWHERE));
    }
    if let Some(bits) = identity_bits(path) {
        let cause = format!("{name} is a {bits} program: the dynamic linker ignores DYLD_INSERT_LIBRARIES for it");
        let remedy = "run it as the user or group that it belongs to, or insert the library into what it starts";
        found.push(obstacle("setuid", Effect::Prevents, cause, remedy));
    }
    found
}

/// Which of the modes it has that give a process another's rights.
fn identity_bits(path: &Path) -> Option<&'static str> {
    use std::os::unix::fs::MetadataExt;
    let mode = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?.mode();
    match (mode & 0o4000 != 0, mode & 0o2000 != 0) {
        (true, _) => Some("setuid"),
        (false, true) => Some("setgid"),
        (false, false) => None,
    }
}

/// What a piece forbids.
pub(super) fn of(slice: &Slice, path: &Path, name: &str, dylib: &Dylib) -> Vec<Obstacle> {
    if let Some(obstacle) = not_a_program(slice, name) {
        return vec![obstacle];
    }
    let mut found = ignored(slice, path, name);
    if found.is_empty() && !protected::is_protected(path) && identity_bits(path).is_none() {
        found = refused(slice, path, name, dylib);
    }
    found.extend(own_heap(slice, name));
    found
}

fn not_a_program(slice: &Slice, name: &str) -> Option<Obstacle> {
    let what = match slice.file_type {
        macho::MH_EXECUTE => return None,
        macho::MH_DYLIB | macho::MH_DYLIB_STUB | macho::MH_FVMLIB => "a library",
        macho::MH_BUNDLE => "a plugin",
        macho::MH_OBJECT => "an object file",
        macho::MH_DYLINKER => "a dynamic linker",
        macho::MH_DSYM => "debugging information",
        macho::MH_CORE => "a core dump",
        macho::MH_KEXT_BUNDLE => "a kernel extension",
        _ => "no program (its type is unknown)",
    };
    let cause = format!("{name} is {what}, which the system does not run");
    Some(obstacle("not_a_program", Effect::Prevents, cause, "examine the program that loads it"))
}

/// Where the variable has no effect: the program runs, without the library.
fn ignored(slice: &Slice, path: &Path, name: &str) -> Vec<Obstacle> {
    let mut found = Vec::new();
    let mut prevents = |id, cause: String, remedy: String| found.push(obstacle(id, Effect::Prevents, cause, remedy));
    if !slice.is_dynamic {
        let cause = format!("{name} is static: no dynamic linker runs that would load the library");
        prevents("static", cause, "link it dynamically, or link the allocator in".to_owned());
    }
    if let Some(platform) = other_platform(slice.platform) {
        let cause = format!("{name} is for {platform}, and the library is for macOS");
        prevents("other_platform", cause, "use a build of it for macOS".to_owned());
    }
    if slice.is_encrypted {
        let cause =
            format!("{name} is encrypted by the App Store: the dynamic linker ignores DYLD_INSERT_LIBRARIES for it");
        prevents("encrypted", cause, "use a build of it from its developer".to_owned());
    }
    if slice.has_restrict_section {
        let cause = format!("{name} has a section __RESTRICT: the dynamic linker ignores DYLD_INSERT_LIBRARIES for it");
        prevents("restricted", cause, "link it anew without -sectcreate __RESTRICT __restrict".to_owned());
    }
    let Some(signature) = &slice.signature else { return found };
    if signature.is_platform() {
        let cause =
            format!("{name} is signed as a program of the system's: macOS takes DYLD_INSERT_LIBRARIES away from it");
        prevents("platform_binary", cause, ELSEWHERE.to_owned());
    }
    if signature.is_restricted() {
        let cause =
            format!("the signature of {name} restricts it: the dynamic linker ignores DYLD_INSERT_LIBRARIES for it");
        prevents("restricted_signature", cause, sign_anew(path));
    }
    if signature.has_hardened_runtime() && !signature.entitlements.has(ALLOW_VARIABLES) {
        let cause = format!(
            "{name} has the hardened runtime without the entitlement {ALLOW_VARIABLES}: the dynamic linker ignores DYLD_INSERT_LIBRARIES for it"
        );
        prevents("hardened_runtime", cause, sign_anew(path));
    }
    found
}

/// Where the library is inserted, and dyld ends the process since it cannot or may not map it.
fn refused(slice: &Slice, path: &Path, name: &str, dylib: &Dylib) -> Vec<Obstacle> {
    let kind = &slice.kind;
    let mut found = Vec::new();
    let mut breaks = |id, cause: String, remedy: String| found.push(obstacle(id, Effect::Breaks, cause, remedy));
    if !dylib.is_for(kind) {
        let has = container::names(&dylib.kinds);
        let cause = format!(
            "{name} runs as {}, and {} is for {has}: inserting it would end the program",
            kind.name(),
            dylib.name
        );
        if *kind == Kind::Arm64e {
            let file = quoted(&path.to_string_lossy());
            let remedy = format!(
                "use a build of it for plain arm64 (Homebrew, MacPorts, the project's own), or its arm64 piece where it has one: lipo {file} -thin arm64 -output COPY"
            );
            breaks("arm64e", cause, remedy);
        } else {
            let target = kind.name().trim_end_matches('h').replace("arm64", "aarch64");
            let remedy = format!(
                "build the library for it (cargo build --release --target {target}-apple-darwin), and name that with --lib"
            );
            breaks("architecture", cause, remedy);
        }
        return found;
    }
    let catalyst = slice.platform == Some(macho::PLATFORM_MACCATALYST);
    if catalyst {
        let cause = format!(
            "{name} is a Catalyst program, and {} is for macOS: inserting it would end the program",
            dylib.name
        );
        breaks("other_platform", cause, "use a build of it for macOS".to_owned());
    }
    let signature = slice.signature.as_ref();
    if signature.is_some_and(|signature| signature.validates_libraries()) {
        let team = signature.and_then(|signature| signature.team());
        if dylib.team.is_none() || dylib.team.as_deref() != team {
            let cause = format!(
                "{name} loads libraries of its own developer only (library validation), and {} is signed by {}: inserting it would end the program",
                dylib.name,
                dylib.team.as_deref().unwrap_or("nobody in particular")
            );
            breaks("library_validation", cause, sign_anew(path));
        }
    }
    if dylib.is_unsigned_for(kind) {
        let cause = format!(
            "{} has no signature, and Apple silicon loads no such library: inserting it would end {name}",
            dylib.name
        );
        breaks("unsigned_library", cause, format!("codesign --force --sign - {}", quoted(&dylib.name)));
    }
    found
}

/// Memory that does not come from malloc.
fn own_heap(slice: &Slice, name: &str) -> Vec<Obstacle> {
    let heap = &slice.heap;
    let mut found = Vec::new();
    if let Some(sanitizer) = heap.sanitizer {
        let cause = format!("{name} is built with {sanitizer}, whose own malloc comes first");
        found.push(obstacle("sanitizer", Effect::Prevents, cause, "build it without -fsanitize"));
    }
    if heap.is_go && !heap.calls_malloc {
        let cause =
            format!("{name} is written in Go, which takes its memory from the system itself, and calls no malloc");
        found.push(obstacle("go", Effect::Prevents, cause, "none; Go's allocator cannot be replaced"));
    } else if heap.is_go {
        let cause = format!(
            "{name} is written in Go, which takes its memory from the system itself; only its C parts call malloc"
        );
        found.push(obstacle("go", Effect::Part, cause, "none; Go's allocator cannot be replaced"));
    }
    if let Some((allocator, because)) = &heap.allocator {
        let because = crate::terminal::printable(because);
        let cause =
            format!("{name} has an allocator of its own, {allocator} ({because}): what that serves does not come here");
        found.push(obstacle("own_allocator", Effect::Part, cause, "none needed, or a build without it"));
    }
    found
}

/// What changes nothing, and explains what is seen.
pub(super) fn notes(slice: &Slice, name: &str) -> Vec<String> {
    let mut notes: Vec<_> = slice.heap.interpreter.map(str::to_owned).into_iter().collect();
    if slice.file_type != macho::MH_EXECUTE {
        return notes;
    }
    match &slice.signature {
        None if matches!(slice.kind, Kind::Arm64 | Kind::Arm64e) => notes.push(format!(
            "{name} has no code signature: Apple silicon does not run it until it has one (codesign --sign - FILE)"
        )),
        Some(signature) if signature.entitlements.has("com.apple.security.app-sandbox") => {
            notes.push(format!("{name} runs in the App Sandbox: a report can be written in its container only"));
        }
        _ => {}
    }
    notes
}

/// Systems that are not macOS; Catalyst runs there, and is seen to later.
fn other_platform(platform: Option<u32>) -> Option<&'static str> {
    match platform {
        None | Some(0 | macho::PLATFORM_MACOS | macho::PLATFORM_MACCATALYST) => None,
        Some(macho::PLATFORM_IOS) => Some("iOS"),
        Some(macho::PLATFORM_TVOS) => Some("tvOS"),
        Some(macho::PLATFORM_WATCHOS) => Some("watchOS"),
        Some(macho::PLATFORM_BRIDGEOS) => Some("bridgeOS"),
        Some(macho::PLATFORM_XROS) => Some("visionOS"),
        Some(macho::PLATFORM_DRIVERKIT) => Some("DriverKit"),
        Some(
            macho::PLATFORM_IOSSIMULATOR
            | macho::PLATFORM_TVOSSIMULATOR
            | macho::PLATFORM_WATCHOSSIMULATOR
            | macho::PLATFORM_XROSSIMULATOR,
        ) => Some("a simulator"),
        Some(_) => Some("another system"),
    }
}

/// A copy that has none of the signature's demands; of an app as a whole, whose program finds its parts beside itself.
fn sign_anew(path: &Path) -> String {
    let app = path.ancestors().find(|folder| folder.extension().is_some_and(|extension| extension == "app"));
    let (options, deep, from) = if app.is_some() { ("-R ", "--deep ", app.unwrap_or(path)) } else { ("", "", path) };
    let copy = Path::new("/tmp").join(from.file_name().unwrap_or_default());
    let (from, copy) = (quoted(&from.to_string_lossy()), quoted(&copy.to_string_lossy()));
    format!("run a copy that is signed without it: cp {options}{from} /tmp/ && codesign --force {deep}--sign - {copy}")
}

/// For a shell, and for a terminal.
fn quoted(text: &str) -> String {
    format!("'{}'", crate::terminal::printable(text).replace('\'', r"'\''"))
}
