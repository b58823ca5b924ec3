//! What the workloads share: the options every one has, and the form in which they print.
//!
//! The programs themselves use whatever `malloc` the process has, through std's default allocator: which one that is, is
//! decided from outside, by a preload library. Nothing here may name an allocator.

mod memory;
pub mod node;
mod print;

pub use memory::{Memory, memory};
pub use print::{Checksum, figure, figure_f64, memory_figure};

use clap::Args;

/// Options that mean the same in every workload.
#[derive(Args, Clone, Copy, Debug)]
pub struct Size {
    /// Seed of the random numbers: the same seed gives the same allocations and the same checksum
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    pub seed: u64,

    /// Size of the work: 1 takes well under a second, 0.01 is a smoke test, 10 is a long run
    #[arg(long, default_value_t = 1.0, value_name = "FACTOR", value_parser = scale)]
    pub scale: f64,
}

impl Size {
    /// `base` times the scale, at least one.
    pub fn scaled(&self, base: u32) -> usize {
        // Bounded by the parser below to 1000 * u32::MAX, so the conversion cannot lose the value.
        (f64::from(base) * self.scale).round().max(1.0) as usize
    }
}

fn scale(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 1000.0 => Ok(value),
        _ => Err("a number above 0 and at most 1000 is wanted".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_is_positive_and_bounded() {
        assert_eq!(scale("0.5"), Ok(0.5));
        for bad in ["0", "-1", "1001", "NaN", "inf", "much", ""] {
            assert!(scale(bad).is_err(), "{bad:?} was taken");
        }
    }

    #[test]
    fn a_tiny_scale_still_leaves_something_to_do() {
        let size = Size { seed: 1, scale: 0.0001 };
        assert_eq!(size.scaled(100), 1);
        assert_eq!(size.scaled(200_000), 20);
    }
}
