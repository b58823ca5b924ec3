//! What is seen of a process from outside: `.jeshim.about` in the library's file, `.jeshim.live` in the process's memory.

use crate::harness::{fixture, library, preloaded, scratch, stdout, succeed};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Address, offset in the file and size of a section of the library.
fn section(name: &str) -> [u64; 3] {
    let text = stdout(&succeed(Command::new("readelf").args(["--section-headers", "--wide"]).arg(library())));
    let line =
        text.lines().find(|line| line.contains(&format!(" {name} "))).unwrap_or_else(|| panic!("{name}: {text}"));
    let words: Vec<&str> = line.split_once(name).expect("the name").1.split_whitespace().collect();
    [words[1], words[2], words[3]].map(|hex| u64::from_str_radix(hex, 16).expect("a number"))
}

fn about() -> String {
    let [_, offset, size] = section(".jeshim.about");
    let mut bytes = vec![0; size as usize];
    fs::File::open(library()).expect("the library").read_exact_at(&mut bytes, offset).expect("the section");
    String::from_utf8(bytes).expect("text")
}

/// Name and what it takes, of each option that the file tells of.
fn options() -> BTreeMap<String, String> {
    let about = about();
    let option = |line: &str| {
        let (name, takes) = line.strip_prefix("option ")?.split_once(' ')?;
        Some((name.to_owned(), takes.to_owned()))
    };
    about.lines().filter_map(option).collect()
}

/// What jemalloc says of these options: its lines on stderr.
fn complaints(conf: &str) -> String {
    let output = preloaded("/usr/bin/env").env("MALLOC_CONF", conf).output().expect("env");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_file_tells_its_versions_and_its_page_size() {
    let about = about();
    assert!(about.contains(&format!("jeshim {}\n", env!("CARGO_PKG_VERSION"))), "{about}");
    // As jemalloc itself says them.
    let program = fixture("live_versions.c", &["-ldl"]);
    let said = stdout(&succeed(&mut preloaded(program)));
    let [version, page] = said.split_whitespace().collect::<Vec<_>>()[..] else { panic!("{said}") };
    assert!(version.starts_with("5.3.1"), "{version}");
    assert!(about.contains("jemalloc 5.3.1\n") && about.contains(&format!("page {page}\n")), "{about}\n{said}");
}

#[test]
fn each_option_that_the_file_tells_of_is_one_of_jemallocs() {
    for (name, takes) in options() {
        // No option takes this; those that take any text are asked for one that is wrong in another way.
        let said = complaints(&format!("{name}:@"));
        assert!(!said.contains("Invalid conf pair"), "{name}: {said}");
        if takes != "TEXT" {
            assert!(said.contains("Invalid conf value"), "{name}: {said}");
        }
    }
    assert!(complaints("no_such_option:1").contains("Invalid conf pair"));
}

#[test]
fn each_alternative_that_the_file_tells_of_is_accepted() {
    for (name, takes) in options() {
        for value in takes.split('|') {
            let value = match value {
                "NUMBER" => "1",
                "SIGNED" => "-1",
                "RATIO" => "0.5",
                "TEXT" => continue,
                other => other,
            };
            // Options whose effect would be in the way of the program itself.
            if matches!((name.as_str(), value), ("abort_conf", "true") | ("prof_log", "true")) {
                continue;
            }
            let said = complaints(&format!("{name}:{value}"));
            assert!(!said.contains("Invalid conf"), "{name}:{value}: {said}");
        }
    }
}

/// jemalloc's source has no option that this build accepts and the file does not tell of.
#[test]
fn no_option_of_jemallocs_source_is_missing() {
    let source = fs::read_to_string(jemalloc_source().join("src/conf.c")).expect("conf.c");
    let reader = source.split_once("malloc_conf_init_helper").expect("the function").1;
    let quoted: BTreeSet<&str> = reader.split('"').skip(1).step_by(2).collect();
    let known = options();
    let is_name = |text: &&&str| {
        text.len() > 1 && text.bytes().all(|c| c.is_ascii_lowercase() || c == b'_' || c.is_ascii_digit())
    };
    let mut asked = 0;
    for name in quoted.iter().filter(is_name).filter(|name| !known.contains_key(**name)) {
        asked += 1;
        let said = complaints(&format!("{name}:@"));
        assert!(said.contains("Invalid conf pair"), "{name} is accepted: {said}");
    }
    assert!(asked > 3 && quoted.len() > known.len(), "the source was not read as expected: {quoted:?}");
}

fn jemalloc_source() -> PathBuf {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--locked", "--manifest-path"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .output()
        .expect("cargo");
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).expect("JSON");
    let package = metadata["packages"].as_array().expect("packages").iter().find(|p| p["name"] == "tikv-jemalloc-sys");
    Path::new(package.expect("jemalloc")["manifest_path"].as_str().expect("a path")).with_file_name("jemalloc")
}

/// A process that waits, read from outside.
struct Process(Child);

impl Process {
    fn start(command: &mut Command) -> Process {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a process");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().expect("a pipe")).read_line(&mut line).expect("a line");
        assert_eq!(line, "ready\n");
        Process(child)
    }

    fn maps(&self) -> Vec<(u64, u64, String)> {
        let text = fs::read_to_string(format!("/proc/{}/maps", self.0.id())).expect("maps");
        let line = |line: &str| {
            let (range, rest) = line.split_once(' ').expect("a range");
            let (start, end) = range.split_once('-').expect("two numbers");
            let number = |hex| u64::from_str_radix(hex, 16).expect("a number");
            (number(start), number(end), rest.split_whitespace().nth(4).unwrap_or("").to_owned())
        };
        text.lines().map(line).collect()
    }

    /// The section's magic, fills, used, lost and the ranges in use.
    fn live(&self) -> (Vec<u8>, u64, u32, u32, Vec<(u64, u64)>) {
        let path = library().canonicalize().expect("the library").display().to_string();
        let base = self.maps().iter().find(|map| map.2 == path).expect("the library is mapped").0;
        let [address, _, size] = section(".jeshim.live");
        let mut bytes = vec![0; size as usize];
        let memory = fs::File::open(format!("/proc/{}/mem", self.0.id())).expect("memory");
        memory.read_exact_at(&mut bytes, base + address).expect("the section");
        let word = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let half = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let ranges = (0..256).map(|i| (word(24 + 16 * i), word(32 + 16 * i))).filter(|range| range.1 > 0).collect();
        (bytes[..8].to_vec(), word(8), half(16), half(20), ranges)
    }

    fn go_on(&mut self) {
        self.0.stdin.as_mut().expect("a pipe").write_all(b"\n").expect("written");
        let mut line = String::new();
        BufReader::new(self.0.stdout.as_mut().expect("a pipe")).read_line(&mut line).expect("a line");
        assert_eq!(line, "ready\n");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn small_blocks_are_seen_while_the_process_runs() {
    let mut process = Process::start(&mut preloaded(fixture("live_waits.c", &[])));
    let (magic, before, _, lost, _) = process.live();
    assert_eq!((magic.as_slice(), lost), (&b"jeshim1\0"[..], 0));
    process.go_on(); // It allocates 1000 blocks of 100 bytes.
    let (_, after, ..) = process.live();
    assert!(after > before && after - before <= 1000, "{before} {after}");
}

#[test]
fn the_memory_that_jemalloc_has_mapped_is_known() {
    let mut process = Process::start(
        preloaded(fixture("live_waits.c", &[])).env("MALLOC_CONF", "retain:false,dirty_decay_ms:0,muzzy_decay_ms:0"),
    );
    let total = |process: &Process| {
        let (_, _, used, lost, ranges) = process.live();
        assert!(ranges.len() <= used as usize && lost == 0, "{ranges:?}");
        let maps = process.maps();
        for (start, length) in &ranges {
            // Each is mapped, from its first byte to its last: neighbours may have become one mapping or several.
            let mut at = *start;
            while at < start + length {
                let map = maps.iter().find(|map| map.0 <= at && at < map.1 && map.2.is_empty());
                at = map.unwrap_or_else(|| panic!("{at:x} of {start:x}+{length:x} is not mapped: {maps:#x?}")).1;
            }
        }
        ranges.iter().map(|range| range.1).sum::<u64>()
    };
    let (start, megabyte) = (total(&process), 1 << 20);
    process.go_on();
    process.go_on(); // A block of 64 MiB.
    let large = total(&process);
    assert!(large >= start + 64 * megabyte && large < start + 100 * megabyte, "{start} {large}");
    process.go_on(); // It is given back.
    let after = total(&process);
    assert!(after <= large - 64 * megabyte, "{large} {after}");
}

/// Where the kernel does not overcommit, jemalloc maps over its own memory again and again: that takes no place.
#[test]
fn what_is_mapped_twice_is_known_once() {
    let file = "/proc/sys/vm/overcommit_memory";
    let two = scratch("live").join("overcommit");
    fs::write(&two, "2\n").expect("a file");
    let script = format!("mount --bind '{}' {file} && exec \"$0\"", two.display());
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", &script]).arg(fixture("live_waits.c", &[]));
    command.env("LD_PRELOAD", library()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut child) = command.spawn() else { return println!("no unshare: not tested") };
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().expect("a pipe")).read_line(&mut line).expect("a line");
    if line != "ready\n" {
        let _ = child.wait();
        return println!("no mount namespaces: not tested");
    }
    let mut process = Process(child);
    for _ in 0..3 {
        process.go_on();
    }
    let (_, _, used, lost, ranges) = process.live();
    assert!(lost == 0 && used < 20, "{used} {lost} {ranges:x?}");
    for (index, (start, length)) in ranges.iter().enumerate() {
        let overlaps = |(other, size): &(u64, u64)| start < &(other + size) && other < &(start + length);
        assert!(!ranges.iter().skip(index + 1).any(overlaps), "{ranges:x?}");
    }
}
