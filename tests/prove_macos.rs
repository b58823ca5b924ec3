//! The decisions of scripts/prove-macos.sh, on Linux: no Mac can be had. `uname`, `csrutil`, `codesign` and `file` are
//! stubs that say what they are reported to say on a Mac, and "programs" are shell scripts that write the record which
//! the library would write. What dyld and the kernel really do is not tested by this.

use crate::harness;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of stubs, a stand-in for the library, and programs.
struct Mac {
    folder: PathBuf,
    machine: &'static str,
    protection: &'static str,
}

const UNIVERSAL: &str = "Mach-O universal binary with 2 architectures: [x86_64:Mach-O 64-bit executable x86_64] [arm64e:Mach-O 64-bit executable arm64e]";
const ARM64: &str = "Mach-O 64-bit executable arm64";
const INTEL: &str = "Mach-O 64-bit executable x86_64";
const LIBRARY: &str = "Mach-O 64-bit dynamically linked shared library arm64";
const AD_HOC: &str =
    "CodeDirectory v=20400 size=300 flags=0x2(adhoc) hashes=9+0 location=embedded\nTeamIdentifier=not set";
const HARDENED: &str =
    "CodeDirectory v=20500 size=300 flags=0x10000(runtime) hashes=9+0 location=embedded\nTeamIdentifier=ABCDE12345";
const ALLOW: &str = "com.apple.security.cs.allow-dyld-environment-variables";
const NO_VALIDATION: &str = "com.apple.security.cs.disable-library-validation";

fn executable(path: &Path, text: &str) {
    fs::write(path, text).expect("a file");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("its mode");
}

/// The facts about a file stand beside it, in PATH.file, PATH.signature and PATH.entitlements.
fn stub(name: &str) -> String {
    let body = match name {
        "uname" => r#"if [ "$1" = -s ]; then echo Darwin; else echo "$STUB_MACHINE"; fi"#,
        "csrutil" => r#"echo "System Integrity Protection status: $STUB_PROTECTION.""#,
        "file" => {
            r#"for last; do :; done
case $last in /bin/* | /usr/bin/*) echo "$STUB_SYSTEM" ;; *) cat "$last.file" 2>/dev/null || echo "ASCII text" ;; esac"#
        }
        "codesign" => {
            r#"for last; do :; done
case "$*" in
*--entitlements*) cat "$last.entitlements" 2>/dev/null ;;
*) [ -e "$last.signature" ] && cat "$last.signature" >&2 ;;
esac"#
        }
        _ => unreachable!(),
    };
    format!("#!/bin/sh\n{body}\n")
}

impl Mac {
    fn new() -> Mac {
        let folder = harness::scratch("prove-macos");
        fs::create_dir_all(folder.join("stubs")).expect("a folder");
        for name in ["uname", "csrutil", "file", "codesign"] {
            executable(&folder.join("stubs").join(name), &stub(name));
        }
        let mac = Mac { folder, machine: "arm64", protection: "enabled" };
        mac.file("libjeshim.dylib", "JESHIM_REPORT", LIBRARY, Some(AD_HOC));
        mac
    }

    fn file(&self, name: &str, text: &str, kind: &str, signature: Option<&str>) -> PathBuf {
        let path = self.folder.join(name);
        executable(&path, text);
        fs::write(path.with_added_extension("file"), kind).expect("a file");
        if let Some(signature) = signature {
            fs::write(path.with_added_extension("signature"), signature).expect("a file");
        }
        path
    }

    /// A program that writes the record that the library would write.
    fn program(&self, kind: &str, signature: &str, record: &str) -> PathBuf {
        let text = format!("#!/bin/sh\ncat >\"${{JESHIM_REPORT%\\%p}}$$\" <<END\n{record}\nEND\n");
        self.file("program", &text, kind, Some(signature))
    }

    fn prove(&self, arguments: &[&str]) -> Output {
        let path = format!("{}:{}", self.folder.join("stubs").display(), std::env::var("PATH").expect("PATH"));
        Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/prove-macos.sh"))
            .arg("--lib")
            .arg(self.folder.join("libjeshim.dylib"))
            .args(arguments)
            .env("PATH", path)
            .env("STUB_MACHINE", self.machine)
            .env("STUB_PROTECTION", self.protection)
            .env("STUB_SYSTEM", UNIVERSAL)
            .env_remove("MALLOC_CONF")
            .output()
            .expect("the script")
    }

    /// Proves a program, and looks at the exit status and at words in the verdict, which is the last line.
    #[track_caller]
    fn expect(&self, program: &Path, status: i32, words: &[&str]) -> String {
        let output = self.prove(&[program.to_str().expect("UTF-8")]);
        let text = harness::stderr(&output);
        let verdict = text.lines().last().unwrap_or("");
        assert_eq!(output.status.code(), Some(status), "{text}");
        for word in words {
            assert!(verdict.contains(word), "no '{word}' in the verdict:\n{text}");
        }
        text
    }
}

/// A record, in the form of the library's (src/report).
fn record(finished: bool, zone: &str, small: u32) -> String {
    let served = if finished { format!("{{\n    \"small_allocations\": {small}\n  }}") } else { "null".to_owned() };
    format!(
        r#"{{
  "record": 1,
  "finished": {finished},
  "pid": $$,
  "parent_pid": 1,
  "program": "$0",
  "zone": {{{zone}
  }},
  "served": {served}
}}"#
    )
}

const OURS: &str = r#"
    "serves": true,
    "name": "jemalloc_zone",
    "cause": null,
    "remedy": null"#;
const ASAN: &str = r#"
    "serves": false,
    "name": "asan",
    "cause": "another allocator's zone comes first",
    "remedy": "run without that allocator""#;

#[test]
fn served_is_a_first_zone_of_ours_and_small_allocations() {
    let mac = Mac::new();
    let program = mac.program(ARM64, AD_HOC, &record(true, OURS, 1234567));
    mac.expect(&program, 0, &["SERVED", "1,234,567 small allocations of program (pid "]);
}

#[test]
fn statistics_are_taken_out_of_standard_error_and_the_rest_is_passed_on() {
    let mac = Mac::new();
    let text = format!(
        "#!/bin/sh\ncat >\"${{JESHIM_REPORT%\\%p}}$$\" <<END\n{}\nEND\n\
         printf 'half a line___ Begin jemalloc statistics ___\\nsmall: 96 0 0 0 0 0 7\\n--- End jemalloc statistics ---\\nlast\\n' >&2\n",
        record(true, OURS, 7)
    );
    let program = mac.file("program", &text, ARM64, Some(AD_HOC));
    let text = mac.expect(&program, 0, &["7 small allocations"]);
    assert!(text.starts_with("half a line\nlast\n"), "{text}");
    assert!(!text.contains("___ Begin"), "{text}");
    assert!(text.contains("1 block\n"), "{text}");
}

#[test]
fn another_zone_in_front_is_not_served_with_the_records_cause() {
    let mac = Mac::new();
    let program = mac.program(ARM64, AD_HOC, &record(true, ASAN, 0));
    mac.expect(
        &program,
        1,
        &["NOT SERVED", "\"asan\"; another allocator's zone", "Remedy: run without that allocator"],
    );
    let program = mac.program(ARM64, AD_HOC, &record(true, ASAN, 3));
    mac.expect(&program, 2, &["IN PART", "3 small allocations"]);
}

#[test]
fn no_small_allocation_and_an_allocator_inside_are_told_apart() {
    let mac = Mac::new();
    let program = mac.program(ARM64, AD_HOC, &record(true, OURS, 0));
    mac.expect(&program, 1, &["no small allocation"]);
    let program = mac.program(ARM64, AD_HOC, &(record(true, OURS, 9) + "\nEND\n: 'mimalloc: error'\n: <<END"));
    mac.expect(&program, 2, &["IN PART", "mimalloc is compiled into it"]);
}

#[test]
fn an_unfinished_record_tells_nothing_about_what_was_served() {
    let mac = Mac::new();
    let program = mac.program(ARM64, AD_HOC, &(record(false, OURS, 0) + "\nEND\nkill -9 $$\n: <<END"));
    mac.expect(&program, 3, &["COULD NOT TELL", "signal 9 (KILL)"]);
}

#[test]
fn protected_programs_are_expected_not_to_be_served_and_run_all_the_same() {
    let mac = Mac::new();
    let text = mac.expect(Path::new("/bin/ls"), 1, &["NOT SERVED", "System Integrity Protection", "Homebrew"]);
    assert!(text.starts_with("Expected not to be served"), "{text}");
    assert!(text.contains("ended with status 0"), "{text}");
}

#[test]
fn without_protection_it_is_the_arm64e_architecture_that_is_in_the_way() {
    let mac = Mac { protection: "disabled", ..Mac::new() };
    mac.expect(Path::new("/bin/ls"), 1, &["not run", "arm64e"]);
}

#[test]
fn scripts_are_judged_by_their_interpreter() {
    let mac = Mac::new();
    let script = mac.folder.join("script");
    executable(&script, "#!/bin/sh\n:\n");
    mac.expect(&script, 1, &["script is run by /", "System Integrity Protection"]);
    executable(&script, "#!/usr/bin/env -S sh -e\n:\n");
    mac.expect(&script, 1, &["run the interpreter itself", "$(command -v sh)"]);
    executable(&script, ":\n");
    mac.expect(&script, 1, &["script is run by /", "System Integrity Protection"]);
    let interpreter = mac.file("interpreter", "", ARM64, Some(AD_HOC));
    fs::copy("/bin/sh", &interpreter).expect("a copy of the shell");
    let body = mac.program(ARM64, AD_HOC, &record(true, OURS, 5));
    let text = fs::read_to_string(&body).expect("text");
    executable(&script, &text.replace("#!/bin/sh", &format!("#!{}", interpreter.display())));
    mac.expect(&script, 0, &["SERVED", "5 small allocations"]);
}

#[test]
fn the_hardened_runtime_needs_an_entitlement_in_either_form_of_output() {
    let mac = Mac::new();
    let program = mac.file("program", "#!/bin/sh\n", ARM64, Some(HARDENED));
    let entitlements = program.with_added_extension("entitlements");
    let refused = ["hardened runtime without the entitlement", "codesign --force --sign -"];
    mac.expect(&program, 1, &refused);
    let one = |name: &str, value: bool| format!("\t[Key] {name}\n\t[Value]\n\t\t[Bool] {value}\n");
    fs::write(&entitlements, "[Dict]\n".to_owned() + &one(ALLOW, false) + &one(NO_VALIDATION, true)).expect("a file");
    mac.expect(&program, 1, &refused);
    fs::write(&entitlements, "[Dict]\n".to_owned() + &one(ALLOW, true)).expect("a file");
    mac.expect(&program, 1, &["not run", "library validation", "nobody in particular"]);
    // The same signer as the library's is let through.
    fs::write(mac.folder.join("libjeshim.dylib.signature"), HARDENED).expect("a file");
    let text = mac.expect(&program, 1, &["its file does not show why"]);
    assert!(!text.contains("Expected not to be served"), "{text}");
    // Without validation too, in XML.
    fs::write(mac.folder.join("libjeshim.dylib.signature"), AD_HOC).expect("a file");
    let xml = format!("<plist><dict><key>{ALLOW}</key><true/><key>{NO_VALIDATION}</key><true/></dict></plist>");
    fs::write(&entitlements, xml).expect("a file");
    mac.expect(&program, 1, &["its file does not show why"]);
}

#[test]
fn platform_and_restricted_programs_are_recognised_by_their_signature() {
    let mac = Mac::new();
    let platform = format!("{AD_HOC}\nPlatform identifier=15");
    let program = mac.file("program", "#!/bin/sh\n", ARM64, Some(&platform));
    mac.expect(&program, 1, &["platform binary"]);
    let restricted = AD_HOC.replace("(adhoc)", "(adhoc,restrict)");
    let program = mac.file("program", "#!/bin/sh\n", ARM64, Some(&restricted));
    mac.expect(&program, 1, &["asks to be restricted"]);
}

#[test]
fn a_library_that_would_end_the_program_is_not_inserted() {
    let mac = Mac::new();
    let program = mac.file("program", "#!/bin/sh\necho ran\n", INTEL, Some(AD_HOC));
    mac.expect(&program, 1, &["not run", "runs as x86_64", "--target x86_64-apple-darwin"]);
    let program = mac.file("program", "#!/bin/sh\necho ran\n", ARM64, Some(AD_HOC));
    fs::remove_file(mac.folder.join("libjeshim.dylib.signature")).expect("the signature");
    mac.expect(&program, 1, &["not run", "signature is missing or broken", "codesign --force --sign -"]);
    assert!(mac.prove(&[program.to_str().expect("UTF-8")]).stdout.is_empty());
}

#[test]
fn what_the_dynamic_linker_says_becomes_the_cause() {
    let mac = Mac::new();
    let message = "dyld[42]: terminating because inserted dylib '/x/libjeshim.dylib' could not be loaded: no such file";
    let program =
        mac.file("program", &format!("#!/bin/sh\necho \"{message}\" >&2; kill -ABRT $$\n"), ARM64, Some(AD_HOC));
    mac.expect(&program, 1, &["terminating because inserted dylib"]);
}

#[test]
fn programs_that_cannot_be_started_and_wrong_usage_have_their_own_statuses() {
    let mac = Mac::new();
    mac.expect(Path::new("/nonexistent/program"), 127, &["NOT STARTED", "not found"]);
    mac.expect(&mac.folder, 126, &["is a directory"]);
    let plain = mac.folder.join("plain");
    fs::write(&plain, "text").expect("a file");
    mac.expect(&plain, 126, &["chmod +x"]);
    assert_eq!(mac.prove(&[]).status.code(), Some(125));
    assert_eq!(mac.prove(&["--unknown"]).status.code(), Some(125));
    let elsewhere = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/prove-macos.sh"))
        .arg("true")
        .output()
        .expect("the script");
    assert_eq!(elsewhere.status.code(), Some(125), "{}", harness::stderr(&elsewhere));
    assert!(harness::stderr(&elsewhere).contains("use scripts/prove-linux.sh"));
}
