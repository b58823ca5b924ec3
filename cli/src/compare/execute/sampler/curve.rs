//! Memory over time, with as many points as a picture can show.

use std::time::Duration;

/// Points that are kept at most.
const MOST: usize = 1000;

#[derive(Debug, Default)]
pub(super) struct Curve {
    points: Vec<(f32, u64)>,
    peak: u64,
}

impl Curve {
    /// Adds a point. Whether half of them had to go, so that the next ones are to be half as dense.
    #[must_use]
    pub(super) fn add(&mut self, time: Duration, bytes: u64) -> bool {
        self.peak = self.peak.max(bytes);
        self.points.push((time.as_secs_f32(), bytes));
        if self.points.len() <= MOST {
            return false;
        }
        let mut keep = false;
        self.points.retain(|_| {
            keep = !keep;
            keep
        });
        true
    }

    /// The points, and the largest number of bytes of all that were added.
    pub(super) fn finish(self) -> (Vec<(f32, u64)>, u64) {
        (self.points, self.peak)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_curve_has_every_second_point_and_its_peak() {
        let mut curve = Curve::default();
        let thinned = (0..=1500).filter(|ms| {
            let bytes = if *ms == 501 { 1 << 40 } else { 7 };
            curve.add(Duration::from_millis(*ms), bytes)
        });
        assert_eq!(thinned.collect::<Vec<_>>(), [1000, 1500]);
        let (points, peak) = curve.finish();
        assert_eq!((points.len(), peak), (501, 1 << 40));
        // It begins where it began, and ends with the last.
        assert_eq!((points[0].0, points[500].0), (0.0, 1.5));
    }
}
