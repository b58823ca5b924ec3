//! One run of a program: what is seen of it, and that nothing of it stays.

use crate::harness::scratch;
use jeshim_cli::compare::execute::program::{Failure, Observed, Order, figures, pad, run, standard_figures};
use jeshim_cli::compare::execute::sampler::Wanted;
use jeshim_host::interrupts::Interrupts;
use jeshim_host::launch::Ended;
use jeshim_host::starter::Starter;
use jeshim_host::tree;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

const NEVER: Duration = Duration::ZERO;
const LONG: Duration = Duration::from_secs(600);

/// Runs a program in the environment of this test.
pub(super) fn observe(
    words: &[&str],
    sample: Duration,
    timeout: Duration,
    library: Option<&Path>,
    variables: &[(&str, &Path)],
) -> (Starter, Result<Observed, Failure>) {
    // The programs get the mask that this thread has now.
    let mut starter = Starter::new().expect("a starter");
    // In a thread of its own, signals are held back there alone.
    let interrupts = Interrupts::hold();
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    let mut environment: Vec<(OsString, OsString)> = vec![("PATH".into(), "/usr/bin:/bin".into())];
    environment.extend(variables.iter().map(|(name, value)| (name.into(), value.into())));
    let order = Order { words: &words, variables: &environment, folder: None, input: None };
    let wanted = library.map(|library| Wanted { library, everywhere: true });
    let observed = run(&mut starter, &order, sample, timeout, wanted, &interrupts, &scratch("one-run"));
    // Not `release`: it would throw away what waits for another test's thread.
    if !interrupts.arrived() {
        // SAFETY: an initialised set, of which this thread's mask is made.
        unsafe {
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut none);
            libc::pthread_sigmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
        }
    }
    (starter, observed)
}

fn simply(words: &[&str]) -> Result<Observed, Failure> {
    observe(words, NEVER, LONG, None, &[]).1
}

#[test]
fn a_run_is_seen_from_start_to_end() {
    let script = "echo out; echo err >&2; perl -e '$i++ while (times)[0] < 0.2'; sleep 0.1; exit 3";
    let observed = simply(&["sh", "-c", script]).expect("it runs");
    assert_eq!((observed.finished.ended, observed.timed_out), (Ended::Exited(3), false));
    assert_eq!((observed.output.as_slice(), observed.errors.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
    // Nobody looked.
    assert_eq!((observed.memory.len(), observed.loaded, observed.tree_peak), (0, None, observed.finished.peak));
    let figures = figures(&observed);
    assert!(figures["user"] >= 0.2 && figures["cpu"] >= figures["user"] + figures["system"] - 1e-9, "{figures:?}");
    assert!(figures["wall"] >= figures["user"] + 0.1, "{figures:?}");
    assert!(figures["peak_rss"] > 1e6 && figures["minor_faults"] > 50.0, "{figures:?}");
    let described: BTreeSet<String> = standard_figures().into_iter().map(|figure| figure.id).collect();
    assert_eq!(described, figures.into_keys().collect());
}

#[test]
fn of_a_great_deal_of_output_beginning_and_end_are_kept() {
    let script = "print 'a' x (32 << 20), 'b' x (10 << 20), 'c' x (32 << 20)";
    let output = simply(&["perl", "-e", script]).expect("it runs").output;
    assert_eq!(output.len(), (64 << 20) + 1, "a line ends where something is left out");
    assert!(!output.contains(&b'b') && output.starts_with(b"a") && output.ends_with(b"c"));
    let output = simply(&["perl", "-e", "print 'a' x (32 << 20), 'b'"]).expect("it runs").output;
    assert_eq!((output.len(), output.last()), ((32 << 20) + 1, Some(&b'b')));
}

#[test]
fn what_does_not_end_in_time_is_ended_with_all_below_it() {
    let (starter, observed) = observe(
        &["sh", "-c", "trap '' TERM; echo begun; sleep 600 & setsid sleep 600"],
        NEVER,
        Duration::from_millis(300),
        None,
        &[],
    );
    let observed = observed.expect("it runs");
    assert!(observed.timed_out && observed.finished.ended == Ended::Killed(9), "{observed:?}");
    assert_eq!(observed.output, b"begun\n");
    assert!(observed.finished.wall >= Duration::from_millis(300) && observed.finished.wall < Duration::from_secs(60));
    assert!(tree::below(starter.pid()).is_empty());
    // One that ends when it is asked to is not killed.
    let words = ["perl", "-e", "$SIG{TERM} = sub { exit 5 }; sleep 600"];
    let (_, observed) = observe(&words, NEVER, Duration::from_secs(4), None, &[]);
    let observed = observed.expect("it runs");
    assert_eq!((observed.timed_out, observed.finished.ended), (true, Ended::Exited(5)));
}

#[test]
fn what_is_left_running_is_told_and_ended() {
    let (starter, observed) = observe(&["sh", "-c", "setsid sleep 600 & echo"], NEVER, LONG, None, &[]);
    let left = observed.expect("it runs").finished.left_running;
    assert_eq!(left.len(), 1);
    assert!(!tree::is_running(left[0]));
    assert!(tree::below(starter.pid()).is_empty());
}

#[test]
fn when_this_command_is_to_stop_all_is_ended() {
    // In the thread that has them blocked: a signal to the process would end it by another.
    let (starter, observed) = std::thread::spawn(|| {
        let _interrupts = Interrupts::hold();
        // SAFETY: sends a signal to this thread, which holds it back.
        unsafe { libc::raise(libc::SIGTERM) };
        let started = Instant::now();
        let seen = observe(&["sleep", "600"], NEVER, LONG, None, &[]);
        assert!(started.elapsed() < Duration::from_secs(60));
        seen
    })
    .join()
    .expect("it ends");
    assert!(matches!(observed, Err(Failure::Interrupted)), "{observed:?}");
    assert!(tree::below(starter.pid()).is_empty());
}

#[test]
fn what_cannot_be_started_is_told_from_what_breaks() {
    let cannot = |words: &[&str]| match simply(words) {
        Err(Failure::CannotStart(error)) => error.kind(),
        other => panic!("{other:?}"),
    };
    assert_eq!(cannot(&["no-such-program"]), std::io::ErrorKind::NotFound);
    assert_eq!(cannot(&["/etc/passwd"]), std::io::ErrorKind::PermissionDenied);
    let (mut starter, _) = observe(&["true"], NEVER, LONG, None, &[]);
    let words = ["true".into()];
    let order = Order { words: &words, variables: &[], folder: None, input: None };
    let nowhere = Path::new("/no/such/folder");
    let broken = run(&mut starter, &order, NEVER, LONG, None, &Interrupts::hold(), nowhere);
    assert!(
        matches!(&broken, Err(Failure::Broken(error)) if error.to_string().contains("/no/such/folder")),
        "{broken:?}"
    );
}

#[test]
fn the_environment_has_another_size_each_time() {
    let mut random = fastrand::Rng::with_seed(7);
    let mut variables = vec![("A".into(), "b".into())];
    let mut sizes = BTreeSet::new();
    for _ in 0..200 {
        pad(&mut variables, &mut random);
        let [(name, value), (padding, text)] = variables.as_slice() else { panic!("{variables:?}") };
        assert_eq!((name.to_str(), value.to_str(), padding.to_str()), (Some("A"), Some("b"), Some("COMPARE_PADDING")));
        sizes.insert(text.len());
    }
    assert!(
        sizes.len() > 150 && sizes.last() <= Some(&4096) && sizes.last() > Some(&3500) && sizes.first() < Some(&500)
    );
}
