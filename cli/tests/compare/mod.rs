//! `jeshim compare`.

mod memory_over_time;
mod one_run;
