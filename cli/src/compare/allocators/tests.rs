//! What is typed, and what comes of it, as far as that does not depend on what is installed.

use super::*;

fn spec(text: &str) -> Spec {
    Spec::parse(text).unwrap()
}

fn refused(specs: &[&str]) -> String {
    let specs: Vec<String> = specs.iter().map(|&spec| spec.to_owned()).collect();
    format!("{:#}", parse(&specs, None).unwrap_err())
}

fn pairs(spec: &Spec) -> Vec<(&str, &str)> {
    spec.settings.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect()
}

#[test]
fn a_spec_is_taken_apart() {
    let plain = spec("tcmalloc");
    assert_eq!((plain.label.as_deref(), plain.target.as_str(), pairs(&plain)), (None, "tcmalloc", vec![]));
    let whole = spec("small=tcmalloc,A=1,B=,_c2=x=y");
    assert_eq!((whole.label.as_deref(), whole.target.as_str()), (Some("small"), "tcmalloc"));
    assert_eq!(pairs(&whole), [("A", "1"), ("B", ""), ("_c2", "x=y")]);
    let path = spec("x=/lib/a=b.so,A=1");
    assert_eq!((path.label.as_deref(), path.target.as_str()), (Some("x"), "/lib/a=b.so"));
    assert_eq!(spec("./a=b/c.so").target, "./a=b/c.so");
    assert_eq!(spec("./a=b/c.so").label, None);
    assert_eq!(whole.without_label(), "tcmalloc,A=1,B=,_c2=x=y");
}

#[test]
fn a_piece_without_an_equals_sign_goes_on_with_the_value() {
    let conf = spec("jeshim,conf=narenas:2,dirty_decay_ms:0,A=1,,b");
    assert_eq!(pairs(&conf), [("conf", "narenas:2,dirty_decay_ms:0"), ("A", "1,,b")]);
}

#[test]
fn what_is_no_spec_is_refused_with_what_is_right() {
    for (text, part) in [
        ("", "names no allocator; write NAME"),
        ("x=", "names no allocator"),
        ("=system", "has an empty label; write LABEL=NAME"),
        (" =system", "has an empty label"),
        ("a\nb=system", "'a?b=system' has a control character"),
        ("jemalloc,mimalloc", "compare them: --with jemalloc --with mimalloc"),
        ("tcmalloc,A", "'A' in 'tcmalloc,A' is no setting; write KEY=VALUE"),
        ("tcmalloc,9=1", "'9=1' in 'tcmalloc,9=1' does not begin with a variable's name"),
        ("tcmalloc,=1", "does not begin with a variable's name"),
        ("tcmalloc,a-b=1", "does not begin with a variable's name"),
        ("tcmalloc,A=1,A=2", "sets A twice; keep one"),
        ("jeshim,JESHIM_REPORT=/tmp/x", "sets JESHIM_REPORT, which the proof"),
        ("system,LD_DEBUG=libs", "sets LD_DEBUG, which the proof"),
    ] {
        assert!(refused(&[text]).contains(part), "{text}: {}", refused(&[text]));
    }
    let variable = preload::VARIABLE;
    let two = refused(&[&format!("jemalloc,{variable}=/lib/libmimalloc.so")]);
    assert!(two.contains(&format!("sets {variable}, and only one allocator can serve a program")), "{two}");
}

#[test]
fn an_unknown_name_is_answered_with_the_nearest() {
    assert!(refused(&["tcmaloc"]).contains(
        "'tcmaloc' is no allocator that is known; the nearest is 'tcmalloc'; there are system, jeshim, jemalloc"
    ));
    assert!(refused(&["sistem"]).contains("the nearest is 'system'"));
    assert!(refused(&["qqq"]).contains("known; there are system"));
    assert!(refused(&["libmimalloc.so.2"]).ends_with("for a file, write a path: ./libmimalloc.so.2"));
}

#[test]
fn options_are_for_jemalloc() {
    assert!(refused(&["system,conf=narenas:1"]).contains("system,conf=narenas:1: conf= is for jemalloc and jeshim"));
    assert!(refused(&["system,preset=debug"]).contains("preset= is for jemalloc and jeshim"));
    // The program's own may be jemalloc.
    let specs = vec!["own=system,MALLOC_CONF=narenas:1".to_owned(), "system".to_owned()];
    let allocators = parse(&specs, None).unwrap();
    assert_eq!(allocators[0].variables, [("MALLOC_CONF".into(), "narenas:1".into())]);
    assert_eq!((&allocators[0].label, &allocators[0].name), (&"own".to_owned(), &"system".to_owned()));
}

#[test]
fn labels_are_unique() {
    let labels = |specs: &[&str]| {
        let specs: Vec<String> = specs.iter().map(|&spec| spec.to_owned()).collect();
        parse(&specs, None).unwrap().into_iter().map(|allocator| allocator.label).collect::<Vec<_>>()
    };
    assert_eq!(labels(&["a=system", "b=system"]), ["a", "b"]);
    assert_eq!(labels(&["system", "b=system"]), ["system", "b"]);
    assert_eq!(labels(&["system,A=1", "b=system"]), ["system", "b"]);
    assert_eq!(labels(&["system,A=1", "system,A=2"]), ["system,A=1", "system,A=2"]);
    assert_eq!(labels(&["system", "system,A=2"]), ["system", "system,A=2"]);
    assert_eq!(labels(&["system=system", "system,A=2"]), ["system", "system,A=2"]);
    for specs in [["a=system", "a=system,A=1"], ["system", "system"], ["system,A=1", "system,A=1"]] {
        let said = refused(&specs);
        assert!(said.contains("would both be called"), "{said}");
    }
    assert!(refused(&["a=system", "a=system,A=1"]).ends_with("give one a label of its own: other=system,A=1"));
}

#[test]
fn what_would_bring_an_allocator_into_all_runs_is_left_out() {
    let given = |pairs: &[(&str, &str)]| {
        let pairs: Vec<(OsString, OsString)> =
            pairs.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
        without_allocators(pairs.into_iter())
    };
    let (kept, warnings) =
        given(&[("PATH", "/bin"), (preload::VARIABLE, "/x\n.so"), ("MALLOC_CONF", "narenas:1"), ("LD_DEBUG", "")]);
    assert_eq!(kept, [("PATH".into(), "/bin".into())]);
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("=/x?.so of the environment is left out of all runs; to have it take part"));
    assert!(warnings[1].contains("MALLOC_CONF=narenas:1 of the environment is left out"));
    assert_eq!(given(&[("A", "1"), ("B", "")]).0.len(), 2);
}

#[test]
fn what_the_dynamic_linker_refuses_is_read() {
    let said = "x\nERROR: ld.so: object '/a.so' from LD_PRELOAD cannot be preloaded (cannot open shared object file): ignored.\n";
    let message = "the dynamic linker says 'cannot open shared object file'";
    assert_eq!(trial::refusal(said, Path::new("/a.so")).as_deref(), Some(message));
    assert_eq!(trial::refusal(said, Path::new("/b.so")), None, "that was another's");
    let odd = "ERROR: ld.so: object '/a.so' from LD_PRELOAD cannot be preloaded: ignored.";
    assert_eq!(
        trial::refusal(odd, Path::new("/a.so")).as_deref(),
        Some("the dynamic linker says 'cannot be preloaded'")
    );
}
