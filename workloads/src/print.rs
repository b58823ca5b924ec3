//! The form of the output: a line a figure, `name: value unit`, so that a regular expression can pick any of them.

use crate::{Memory, memory};
use std::fmt::Display;

/// Prints one figure.
pub fn figure(name: &str, value: impl Display, unit: &str) {
    println!("{name}: {value} {unit}");
}

/// Prints one measured figure, with three digits after the point.
pub fn figure_f64(name: &str, value: f64, unit: &str) {
    println!("{name}: {value:.3} {unit}");
}

/// Prints the resident set at a named point, and what it is over `live` bytes where the program knows how much it holds.
///
/// Where there is no such figure, standard error says why and the program goes on: its times and checksum still count.
pub fn memory_figure(name: &str, live: Option<u64>) -> Option<Memory> {
    match memory() {
        Ok(memory) => {
            figure(name, memory.resident, "bytes");
            if let Some(live) = live.filter(|&live| live > 0) {
                figure_f64(&format!("{name}_per_live"), memory.resident as f64 / live as f64, "ratio");
            }
            Some(memory)
        }
        Err(why) => {
            eprintln!("{name}: {why}");
            None
        }
    }
}

/// A checksum of what the program read back from its blocks: equal under every allocator, or one of them lost data.
///
/// FNV-1a, for it is ten lines and needs no promise beyond "differs when the data differs".
#[derive(Clone, Copy, Debug)]
pub struct Checksum(u64);

impl Default for Checksum {
    fn default() -> Self {
        Checksum(0xcbf2_9ce4_8422_2325)
    }
}

impl Checksum {
    /// Takes in some bytes; their order counts.
    pub fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// Takes in a number.
    pub fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    /// The checksum of all that was taken in.
    pub fn value(self) -> u64 {
        self.0
    }

    /// Prints it as the last line of a workload.
    pub fn print(self) {
        println!("checksum: {:016x} fnv1a", self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_fnv1a() {
        let mut checksum = Checksum::default();
        checksum.bytes(b"foobar");
        assert_eq!(checksum.value(), 0x8594_4171_f739_67e8, "the published value for \"foobar\"");
    }
}
