//! The statistics of a comparison. All of it is exact or a formula: nothing is drawn at random, so the same runs give the
//! same answer, in whatever order their rounds were made.
//!
//! | module | what it does |
//! |---|---|
//! | [`describe`] | median, quartiles, range, geometric mean |
//! | [`bootstrap`] | the interval of a median, and of the difference of two |
//! | [`signed_rank`] | how probable pairs like these are without a difference (Wilcoxon) |
//! | [`rank_sum`] | the same without pairs (Mann and Whitney) |
//!
//! Ratios are treated as differences of logarithms: 0.5 and 2 are equally far from 1, and swapping who is measured
//! against whom turns every answer into its inverse.

pub mod bootstrap;
pub mod describe;
pub mod rank_sum;
mod ranks;
pub mod signed_rank;

#[cfg(test)]
mod properties;
