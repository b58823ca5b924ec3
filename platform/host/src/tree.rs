//! The processes below one, and what they use: looked at from outside, and cheap enough to do it a hundred times a second
//! unless it says otherwise. `None` where a process has ended, is another user's, or the system does not tell.

pub use crate::system::tree::{below, has_executed, is_running, maps, processor_time, program, proportional, resident};

/// Memory of a process that the machine has at hand (not swapped out), in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resident {
    /// All of it. What processes share, each of them has.
    pub all: u64,
    /// Less what belongs to files and shared memory. Only forks that have not executed anything share of it.
    pub anonymous: u64,
}
