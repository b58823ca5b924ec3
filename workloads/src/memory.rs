//! The resident set, as the kernel counts it.

use std::fs;

/// Bytes of this process that are in memory: now, and at the highest so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Bytes resident now.
    pub resident: u64,
    /// The most that was ever resident.
    pub peak: u64,
}

/// Reads `/proc/self/status`. The error says what cannot be measured and why: a system without it is no reason to stop.
pub fn memory() -> Result<Memory, String> {
    const SOURCE: &str = "/proc/self/status";
    let status = fs::read_to_string(SOURCE)
        .map_err(|error| format!("no memory figures: this system has no {SOURCE} to read them from ({error})"))?;
    parse(&status).ok_or_else(|| format!("no memory figures: {SOURCE} has no VmRSS and VmHWM lines in kB"))
}

fn parse(status: &str) -> Option<Memory> {
    let kilobytes = |name: &str| -> Option<u64> {
        let value = status.lines().find_map(|line| line.strip_prefix(name))?;
        value.trim().strip_suffix(" kB")?.trim().parse().ok()
    };
    Some(Memory { resident: kilobytes("VmRSS:")? * 1024, peak: kilobytes("VmHWM:")? * 1024 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_kernels_form() {
        let status = "Name:\tx\nVmPeak:\t  9000 kB\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\nThreads:\t1\n";
        assert_eq!(parse(status), Some(Memory { resident: 1 << 20, peak: 2 << 20 }));
    }

    #[test]
    fn does_not_guess() {
        assert_eq!(parse("VmRSS:\t 1024 kB\n"), None);
        assert_eq!(parse("VmHWM:\t 1 MB\nVmRSS:\t 1 MB\n"), None);
        assert_eq!(parse(""), None);
    }
}
