//! `jeshim compare`: which allocator is better for this program.
//!
//! | module | what it does |
//! |---|---|
//! | [`plan`] | what is compared and how, from what was typed; [`scenario`] the same from a file |
//! | [`allocators`] | which there are, and what a program is run with for each |
//! | [`proof`] | whether a participant's allocator really serves the program |
//! | [`schedule`] | which runs, in which order, and when it is enough |
//! | [`execute`] | one run: a program or a server, and its figures; [`metrics`] those of the program itself |
//! | [`breakdown`] | where the memory went, for jemalloc |
//! | [`results`] | what was measured; [`analysis`] what follows from it, by [`statistics`]; [`against`] an older result |
//! | [`report`] | tables, files, the page with plots; [`progress`] what is shown until then |

pub mod against;
pub mod allocators;
pub mod analysis;
pub mod breakdown;
pub mod execute;
pub mod metrics;
pub mod plan;
pub mod progress;
pub mod proof;
pub mod report;
pub mod results;
pub mod scenario;
pub mod schedule;
pub mod statistics;
pub mod surroundings;
pub mod workloads;

use crate::arguments::Compare;
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
/// When it cannot do its work: exit status 125.
pub fn main(arguments: &Compare) -> anyhow::Result<ExitCode> {
    let _ = arguments;
    anyhow::bail!("not yet")
}
