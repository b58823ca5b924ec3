//! A result against an older one.

use super::{compare, planted, read};
use crate::harness::{scratch, stderr, stdout};

#[test]
fn what_has_changed_since_an_older_result_is_shown_everywhere() {
    let program = planted();
    let folder = scratch("earlier");
    let path = |name: &str| folder.join(name).to_str().expect("a path").to_owned();
    let with = |megabytes: u32| {
        let of = |label: &str, megabytes: u32| format!("{label}=system,MEBIBYTES={megabytes}");
        [
            "--with".to_owned(),
            of("a", 20),
            "--with".to_owned(),
            of("b", megabytes),
            "--rounds".to_owned(),
            "9".to_owned(),
        ]
    };
    let older = compare().args(with(20)).args([&format!("--json={}", path("older")), "--", &program]).output();
    assert!(older.expect("jeshim").status.success());
    let output = compare()
        .args(with(30))
        .args(["--against", &path("older"), &format!("--markdown={}", path("md")), "--html", &path("html")])
        .args([&format!("--json={}", path("json")), "--", &program])
        .output()
        .expect("jeshim");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("Since the older result") && text.contains("MEBIBYTES"), "{text}");
    for report in ["md", "html"] {
        let text = std::fs::read_to_string(path(report)).expect("a report");
        assert!(text.contains("Since the older result") && text.contains("b, peak RSS"), "{report}: {text}");
    }
    let json = read(&std::process::Output { stdout: std::fs::read(path("json")).expect("a report"), ..output });
    let changes = json["against"]["changes"].as_array().expect("changes");
    let peak = changes.iter().find(|change| {
        json["figures"][change["figure"].as_u64().unwrap() as usize]["id"] == "peak_rss" && change["participant"] == 1
    });
    let peak = peak.expect("the peak of b");
    assert_eq!(peak["ratio"]["verdict"], "worse", "{peak}");
    assert!((1.3..1.5).contains(&peak["ratio"]["median"].as_f64().expect("a number")), "{peak}");
}

#[test]
fn what_is_no_result_is_refused_before_anything_is_run() {
    let file = scratch("earlier").join("none.json");
    std::fs::write(&file, "{\"comparison\": 1, ").expect("a file");
    let output = compare().args(["--against", file.to_str().expect("a path"), "--", "true"]).output().expect("jeshim");
    let said = stderr(&output);
    assert!(output.status.code() == Some(125) && said.contains("none.json"), "{said}");
}
