//! How often something is done that must not take more than a share of the time.

use std::time::{Duration, Instant};

/// A two-hundredth: half a per cent of one processor.
const SHARE: u32 = 200;
/// The longest that is waited.
const MOST: Duration = Duration::from_secs(3600);

/// The times of one kind of work.
#[derive(Debug)]
pub(super) struct Pace {
    every: Duration,
    next: Instant,
}

impl Pace {
    /// So often, beginning then.
    pub(super) fn new(every: Duration, first: Instant) -> Pace {
        Pace { every: every.min(MOST), next: first }
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        now >= self.next
    }

    /// When it is due.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// It was done, and took so long on a processor: more work is rarer work. In step, unless a step was missed.
    pub(super) fn done(&mut self, now: Instant, took: Duration) {
        let in_step = self.next + self.every;
        self.next = in_step.max(now + took.saturating_mul(SHARE).min(MOST));
        if self.next <= now {
            self.next = now + self.every;
        }
    }

    /// Half as often from now on.
    pub(super) fn slow_down(&mut self) {
        self.every = self.every.saturating_mul(2).min(MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cheap_work_keeps_its_step_and_dear_work_is_rare() {
        let start = Instant::now();
        let ms = Duration::from_millis;
        let mut pace = Pace::new(ms(10), start);
        assert!(pace.is_due(start));
        // A little late: the next is in step.
        pace.done(start + ms(3), Duration::from_micros(20));
        assert_eq!(pace.next(), start + ms(10));
        assert!(!pace.is_due(start + ms(9)));
        // Dear.
        pace.done(start + ms(10), ms(1));
        assert_eq!(pace.next(), start + ms(210));
        // A step was missed: none is made up for.
        pace.done(start + ms(1000), Duration::ZERO);
        assert_eq!(pace.next(), start + ms(1010));
        pace.slow_down();
        pace.done(start + ms(1010), Duration::ZERO);
        assert_eq!(pace.next(), start + ms(1030));
        pace.done(start, Duration::MAX);
        assert!(pace.next() <= start + ms(1050) + MOST);
    }
}
