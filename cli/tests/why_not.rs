//! The page about causes has each `id` that the command can give, and no others.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Where causes are given ids.
const SOURCES: [&str; 4] = ["cli/src/examine", "cli/src/check", "cli/src/live", "platform/host/src"];
/// What takes an id as its first argument.
const GIVERS: [&str; 6] = ["add", "new", "obstacle", "prevents", "breaks", "Outside"];

fn text_below(path: &Path, text: &mut String) {
    if path.is_dir() {
        let entries = fs::read_dir(path).expect("a folder");
        // Tests give ids of their own.
        let entries = entries.map(|entry| entry.expect("an entry").path()).filter(|path| !path.ends_with("tests"));
        entries.for_each(|path| text_below(&path, text));
    } else {
        text.push_str(&fs::read_to_string(path).expect("a source file"));
    }
}

fn is_id(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Words in quotes that are the first argument of a giver, the first of a pair with a cause, or a member `id`.
fn ids(source: &str) -> BTreeSet<&str> {
    let mut ids = BTreeSet::new();
    let mut rest = source;
    while let Some(at) = rest.find('"') {
        let (before, after) = (rest[..at].trim_end(), &rest[at + 1..]);
        let Some((word, behind)) = after.split_once('"') else { break };
        if !is_id(word) {
            rest = after;
            continue;
        }
        let behind = behind.trim_start_matches(',').trim_start();
        let has_cause = ["cause", "format!"].iter().any(|start| behind.starts_with(start));
        let given = before.strip_suffix('(').is_some_and(|called| {
            let is_call = called.ends_with(|last: char| last.is_alphanumeric());
            if is_call { GIVERS.iter().any(|giver| called.ends_with(giver)) } else { has_cause }
        });
        if given || before.ends_with(" id:") {
            ids.insert(word);
        }
        rest = after;
    }
    ids
}

#[test]
fn the_page_has_each_id_that_the_sources_give_and_no_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut source = String::new();
    SOURCES.iter().for_each(|folder| text_below(&root.join(folder), &mut source));
    let given = ids(&source);
    // Each of these is written in another way.
    for id in ["static", "setuid", "word_size", "damaged", "zombie", "hardened_runtime", "no_record"] {
        assert!(given.contains(id), "{id} is not found any more: the test reads the sources in a wrong way");
    }
    let page = fs::read_to_string(root.join("docs/why-not.md")).expect("the page");
    let cells = page.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    let told: BTreeSet<&str> = cells.flat_map(|cell| cell.split('`')).filter(|word| is_id(word)).collect();
    let missing: Vec<_> = given.difference(&told).collect();
    assert!(missing.is_empty(), "docs/why-not.md has no row for {missing:?}");
    let unknown: Vec<_> = told.iter().filter(|id| !source.contains(&format!("\"{id}\""))).collect();
    assert!(unknown.is_empty(), "docs/why-not.md has rows for {unknown:?}, which nothing gives");
}
