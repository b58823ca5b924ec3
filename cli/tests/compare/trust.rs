//! That it can be trusted: no difference where there is none, and what is planted is found. `scripts/prove-compare.sh` is
//! the long form.

use super::{cell, planted, result};

#[test]
fn nothing_is_seen_where_there_is_nothing() {
    let program = planted();
    let claims = (0..4)
        .filter(|_| {
            let result = result(&["--with", "a=system", "--with", "b=system", "--rounds", "10", "--", &program], 0);
            ["wall", "cpu", "peak_rss"].iter().any(|figure| {
                let verdict = &cell(&result, figure, 1)["ratio"]["verdict"];
                verdict == "better" || verdict == "worse"
            })
        })
        .count();
    // One in twenty is allowed; two of four would be one in a hundred.
    assert!(claims <= 1, "{claims} of 4 comparisons of the same allocator saw a difference");
}

#[test]
fn a_planted_slowdown_is_found() {
    let program = planted();
    // 3 per cent is shown by the long form; here the machine may be busy with other tests.
    let with = ["--with", "a=system", "--with", "b=system,SLOWER=15", "--rounds", "20"];
    let result = result(&[&with[..], &["--", &program]].concat(), 0);
    let ratio = &cell(&result, "cpu", 1)["ratio"];
    assert_eq!(ratio["verdict"], "worse", "{ratio}");
    let median = ratio["median"].as_f64().expect("a number");
    assert!((1.05..1.30).contains(&median), "{median}");
}

#[test]
fn planted_memory_is_found() {
    let program = planted();
    let with = ["--with", "a=system", "--with", "b=system,LARGER=5", "--rounds", "10"];
    let result = result(&[&with[..], &["--", &program]].concat(), 0);
    let ratio = &cell(&result, "peak_rss", 1)["ratio"];
    assert_eq!(ratio["verdict"], "worse", "{ratio}");
    let median = ratio["median"].as_f64().expect("a number");
    assert!((1.03..1.06).contains(&median), "{median}");
}

#[test]
fn the_peak_of_a_small_program_is_its_own() {
    let program = planted();
    // The large one runs before the small one in the first round, behind it in the second.
    let with = ["--with", "small=system,MEBIBYTES=1", "--with", "large=system,MEBIBYTES=300", "--rounds", "4"];
    let result = result(&[&with[..], &["--", &program]].concat(), 0);
    let small = cell(&result, "peak_rss", 0)["range"][1].as_f64().expect("a number") / 1048576.0;
    let large = cell(&result, "peak_rss", 1)["median"].as_f64().expect("a number") / 1048576.0;
    assert!(small < 4.0, "{small} MiB");
    assert!((300.0..306.0).contains(&large), "{large} MiB");
}
