//! glibc's control and statistics functions answer with jemalloc's truth. With upstream's library they speak of
//! glibc's own, unused heap: zeros (manticoresearch#771).

use crate::harness;
use crate::harness::{fixture, plain, preloaded, stderr, stdout, succeed};
use std::path::Path;
use std::process::Command;

/// The checks are in the fixture; one that fails is named on stderr. Without the library glibc has to pass them, too.
fn holds_with_and_without(program: &Path) {
    for run in [plain, preloaded] {
        let output = succeed(&mut run(program));
        assert_eq!((stdout(&output), stderr(&output)), ("passed\n".into(), String::new()));
    }
}

#[test]
fn malloc_trim_gives_memory_back_and_says_so() {
    holds_with_and_without(&fixture("glibc_trim.c", &["-pthread"]));
}

#[test]
fn mallinfo_follows_what_the_program_takes_and_frees() {
    holds_with_and_without(&fixture("glibc_mallinfo.c", &["-w"]));
}

#[test]
fn mallopt_applies_what_has_a_meaning_and_accepts_the_rest() {
    holds_with_and_without(&fixture("glibc_mallopt.c", &["-pthread"]));
}

/// What the fixture has taken: 10,486 blocks of 1000 bytes.
const TAKEN: u64 = 10_486_000;

#[test]
fn malloc_stats_has_glibcs_form_and_jemallocs_figures() {
    let program = fixture("glibc_reports.c", &[]);
    for run in [plain, preloaded] {
        let output = succeed(run(&program).arg("malloc_stats"));
        assert_eq!(stdout(&output), "");
        let text = stderr(&output);
        let mut lines = text.lines();
        let mut sums = (0, 0);
        // Arenas, then the sums; each as two numbers.
        let total = loop {
            let title = lines.next().unwrap_or_else(|| panic!("no total: {text}"));
            let mut number = |label: &str| -> u64 {
                let line = lines.next().unwrap_or_else(|| panic!("no line after {title}: {text}"));
                let value = line.strip_prefix(label).unwrap_or_else(|| panic!("{line}: not {label:?}"));
                assert_eq!(value.len(), 11, "right-aligned in ten columns: {line:?}");
                value.trim().parse().unwrap_or_else(|_| panic!("not a number: {line}"))
            };
            let values = (number("system bytes     ="), number("in use bytes     ="));
            assert!(values.0 >= values.1, "{text}");
            if title == "Total (incl. mmap):" {
                break values;
            }
            assert!(title.starts_with("Arena ") && title.ends_with(':'), "{title}");
            sums = (sums.0 + values.0, sums.1 + values.1);
        };
        assert_eq!(total, sums, "{text}");
        assert!(total.1 >= TAKEN && total.1 < TAKEN * 5 / 4, "{text}");
        let rest: Vec<&str> = lines.collect();
        assert_eq!(rest, ["max mmap regions =          0", "max mmap bytes   =          0"]);
    }
}

#[test]
fn malloc_info_is_well_formed_xml_with_jemallocs_figures() {
    // Python reads the XML; it prints the sums of the whole, and checks that the heaps add up to them.
    const READER: &str = r#"
import sys, xml.etree.ElementTree as tree
root = tree.fromstring(sys.stdin.read())
assert root.tag == "malloc" and root.get("version") == "1", root.attrib
heaps = root.findall("heap")
assert heaps and all(heap.find("sizes") is not None for heap in heaps), "heaps"
assert [int(heap.get("nr")) for heap in heaps] == sorted({int(heap.get("nr")) for heap in heaps}), "numbers"
size = lambda node, kind, type: int(node.find(f"{kind}[@type='{type}']").get("size"))
for kind, type in [("total", "rest"), ("system", "current"), ("aspace", "total"), ("aspace", "mprotect")]:
    assert sum(size(heap, kind, type) for heap in heaps) == size(root, kind, type), (kind, type)
print(size(root, "system", "current"), size(root, "total", "rest"), size(root, "aspace", "total"))
"#;
    let program = fixture("glibc_reports.c", &[]);
    for run in [plain, preloaded] {
        let output = succeed(run(&program).arg("malloc_info"));
        assert_eq!(stderr(&output), "");
        let xml = harness::scratch("malloc_info").join("malloc_info.xml");
        std::fs::write(&xml, &output.stdout).expect("a file");
        let mut reader = plain("python3");
        reader.args(["-c", READER]).stdin(std::fs::File::open(&xml).expect("the file"));
        let numbers = stdout(&succeed(&mut reader));
        let numbers: Vec<u64> = numbers.split_whitespace().map(|number| number.parse().expect("a number")).collect();
        let [held, free, space] = numbers[..] else { panic!("{numbers:?}") };
        assert!(held - free >= TAKEN && held - free < TAKEN * 5 / 4, "{numbers:?}");
        assert!(space >= held, "{numbers:?}");
    }
}

#[test]
fn malloc_info_says_when_it_could_not_write() {
    let program = fixture("glibc_reports.c", &[]);
    let run = |mut command: Command| assert_eq!(stdout(&succeed(command.arg("unwritable"))), "passed\n");
    run(plain(&program));
    run(preloaded(&program));
}
