//! What a program used at most is its own, and not that of who started it. A file of its own: the starter has what this
//! process has when it is made.

use jeshim_host::starter::{Start, Starter};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// The peak of one small program differs by so much from run to run, with what else is in memory: code comes by 64 KiB.
const PAGES: u64 = 128 << 10;
const RUNS: usize = 15;

fn peak(starter: &mut Starter, words: &[&str]) -> u64 {
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (output, errors) = (folder.join("starter-peak-output"), folder.join("starter-peak-errors"));
    let start = Start { words: &words, variables: &[], folder: None, input: None, output: &output, errors: &errors };
    starter.start(&start).expect("it starts");
    starter.wait(None).expect("the starter lives").expect("an end").peak
}

#[test]
fn a_small_program_after_a_large_one_has_its_own_peak() {
    let mut starter = Starter::new().expect("a starter");
    // This process is large, too.
    let block = vec![1_u8; 300 << 20];
    let large = peak(&mut starter, &["dd", "if=/dev/zero", "of=/dev/null", "bs=500M", "count=1"]);
    assert!(large > 500 << 20 && large < 520 << 20, "{large}");
    let mut own: Vec<u64> = (0..RUNS).map(|_| peak(&mut starter, &["/bin/true"])).collect();
    assert!(block.iter().all(|byte| *byte == 1));
    own.sort_unstable();
    let own = own[RUNS / 2];
    let by_time = || {
        let output = Command::new("/usr/bin/time").args(["-f", "%M", "/bin/true"]).env_clear().output().ok()?;
        String::from_utf8_lossy(&output.stderr).trim().parse::<u64>().ok()
    };
    let Some(mut other) = (0..RUNS).map(|_| by_time()).collect::<Option<Vec<u64>>>() else {
        eprintln!("SKIPPED: the package time is not installed");
        return;
    };
    other.sort_unstable();
    let other = other[RUNS / 2] << 10;
    assert!(own.abs_diff(other) <= other / 100 + PAGES, "{own} here, {other} by time");
}
