//! What is seen of a run from outside: memory over time, of one process and of several, and whether a library is there.

use super::one_run::observe;
use crate::harness::{compile, library};
use jeshim_cli::compare::execute::program::Observed;
use std::path::Path;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(600);
const OFTEN: Duration = Duration::from_millis(10);

fn sampled(words: &[&str]) -> Observed {
    let observed = observe(words, OFTEN, LONG, None, &[]).1.expect("it runs");
    assert_eq!(observed.finished.ended, jeshim_host::launch::Ended::Exited(0), "{observed:?}");
    observed
}

/// A program that has 200 MB for a while, and gives them back; with forks, as many processes that share them.
fn plateau(forks: u32) -> Observed {
    let program = compile(
        "#include <stdlib.h>\n#include <string.h>\n#include <sys/mman.h>\n#include <sys/wait.h>\n#include <unistd.h>
        int main(int c, char **v) {
            usleep(200000);
            size_t size = 200 << 20;
            char *block = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            memset(block, 1, size);
            for (int i = atoi(v[1]); i > 0; i--) if (!fork()) { usleep(1500000); _exit(0); }
            usleep(1500000);
            munmap(block, size);
            while (wait(0) > 0) { }
            usleep(300000);
        }",
        &["-O1", "-w"],
    );
    sampled(&[program.to_str().expect("UTF-8"), &forks.to_string()])
}

/// How many samples say so much, give or take.
fn samples_at(observed: &Observed, bytes: u64, tolerance: u64) -> usize {
    observed.memory.iter().filter(|(_, seen)| seen.abs_diff(bytes) < tolerance).count()
}

#[test]
fn a_plateau_is_seen_and_so_is_its_end() {
    let observed = plateau(0);
    assert!(samples_at(&observed, 200 << 20, 4 << 20) >= 5, "{:?}", observed.memory);
    assert!(observed.tree_peak.abs_diff(200 << 20) < 4 << 20, "{}", observed.tree_peak);
    let (first, last) = (observed.memory[0], observed.memory[observed.memory.len() - 1]);
    assert!(first.1 < 10 << 20 && last.1 < 10 << 20 && last.1 > 0, "{:?}", observed.memory);
    assert!(observed.memory.is_sorted_by(|a, b| a.0 < b.0), "{:?}", observed.memory);
    let wall = observed.finished.wall.as_secs_f32();
    assert!(first.0 < wall / 2.0 && last.0 > wall / 2.0 && last.0 <= wall, "{wall}: {:?}", observed.memory);
    assert!(observed.memory.len() > 20, "{}", observed.memory.len());
}

#[test]
fn what_processes_share_is_counted_once() {
    let observed = plateau(3);
    assert!(samples_at(&observed, 200 << 20, 10 << 20) >= 5, "{:?}", observed.memory);
    assert!(observed.tree_peak < 215 << 20, "{}: {:?}", observed.tree_peak, observed.memory);
}

#[test]
fn what_processes_have_each_for_itself_is_added_up() {
    let one = "b = bytearray(100 << 20); import time; time.sleep(1.5)";
    let script = format!("for i in 1 2 3; do python3 -S -c '{one}' & done; wait");
    let observed = sampled(&["sh", "-c", &script]);
    assert!(observed.finished.peak < 140 << 20, "{observed:?}");
    assert!(observed.tree_peak > 300 << 20 && observed.tree_peak < 360 << 20, "{observed:?}");
}

#[test]
fn a_library_is_seen_where_it_is_and_only_there() {
    let ours = library();
    let loaded = |words: &[&str], preload: bool| {
        let variables: &[(&str, &Path)] = if preload { &[("LD_PRELOAD", ours.as_path())] } else { &[] };
        observe(words, Duration::ZERO, LONG, Some(&ours), variables).1.expect("it runs").loaded
    };
    assert_eq!(loaded(&["sleep", "1"], true), Some(true));
    assert_eq!(loaded(&["sleep", "1"], false), Some(false));
    // In a process of the tree that is not the first.
    let ours = ours.to_str().expect("UTF-8");
    assert_eq!(loaded(&["sh", "-c", &format!("sleep 0.2; LD_PRELOAD={ours} sleep 1; sleep 0.2")], false), Some(true));
    // Static: it is over before anybody can look.
    let at_once = compile("int main(void) { return 0; }", &["-static"]);
    assert_eq!(loaded(&[at_once.to_str().expect("UTF-8")], true), None);
}
