//! What is shown on standard error while it is measured: a line with the round, what runs now, and the time that is left.

use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

/// The line. Nothing is shown where standard error is no terminal.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
}

/// So often the time that has passed is shown anew, while one run takes long.
const EVERY: Duration = Duration::from_millis(200);

impl Progress {
    /// Begins it; `quiet`: shows nothing at all.
    pub fn new(quiet: bool) -> Progress {
        // The default target: standard error, hidden where that is no terminal.
        let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::no_length() };
        Progress::on(bar)
    }

    fn on(bar: ProgressBar) -> Progress {
        bar.set_style(style("{spinner} {elapsed} {wide_msg}"));
        if !bar.is_hidden() {
            bar.enable_steady_tick(EVERY);
        }
        Progress { bar }
    }

    /// Something that is done before or after the measured runs: "proving mimalloc".
    pub fn phase(&self, what: &str) {
        self.bar.unset_length();
        self.bar.set_style(style("{spinner} {elapsed} {wide_msg}"));
        self.bar.set_message(crate::terminal::printable(what));
    }

    /// A measured run begins: so many are done, of how many that are expected; the time that is left, when it is known.
    pub fn run(&self, done: u64, expected: u64, left: Option<Duration>, what: &str) {
        let expected = expected.max(done);
        let left = left.map(|left| format!(", {:#} left", indicatif::HumanDuration(left))).unwrap_or_default();
        if self.bar.length() != Some(expected) {
            self.bar.set_length(expected);
            self.bar.set_style(style("{spinner} {elapsed} [{bar:24}] {pos} of {len} {wide_msg}"));
        }
        self.bar.set_position(done);
        self.bar.set_message(format!("{}{left}", crate::terminal::printable(what)));
    }

    /// Takes a message to standard error without a mess on the line.
    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// Ends it, and leaves no line.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

fn style(template: &str) -> ProgressStyle {
    // The templates are right; one that was not would cost the looks only.
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::{ProgressDrawTarget, TermLike};
    use std::io;
    use std::sync::{Arc, Mutex};

    /// What the line was last.
    #[derive(Debug, Clone, Default)]
    struct Terminal(Arc<Mutex<String>>);

    impl TermLike for Terminal {
        fn width(&self) -> u16 {
            100
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.lock().expect("no panic").push_str(text);
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            self.0.lock().expect("no panic").clear();
            Ok(())
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    fn shown(act: impl FnOnce(&Progress)) -> String {
        let terminal = Terminal::default();
        let bar = ProgressBar::no_length();
        bar.set_draw_target(ProgressDrawTarget::term_like(Box::new(terminal.clone())));
        let progress = Progress::on(bar);
        act(&progress);
        terminal.0.lock().expect("no panic").clone()
    }

    #[test]
    fn a_run_is_shown_with_what_is_left() {
        let text = shown(|progress| progress.run(3, 12, Some(Duration::from_secs(90)), "round 2, jeshim, threads=4"));
        for part in ["3 of 12", "round 2, jeshim, threads=4", "2m left"] {
            assert!(text.contains(part), "{part:?} in {text:?}");
        }
    }

    #[test]
    fn a_phase_has_no_bar_and_more_runs_than_expected_no_nonsense() {
        let text = shown(|progress| progress.phase("proving mimalloc\u{1b}[2J"));
        assert!(text.contains("proving mimalloc?[2J") && !text.contains(" of "), "{text:?}");
        assert!(shown(|progress| progress.run(13, 12, None, "x")).contains("13 of 13"));
    }

    #[test]
    fn nothing_is_left_behind() {
        assert_eq!(
            shown(|progress| {
                progress.run(1, 2, None, "x");
                progress.finish();
            }),
            ""
        );
        assert!(Progress::new(true).bar.is_hidden());
    }
}
