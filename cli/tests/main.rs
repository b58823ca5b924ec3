//! All tests of the command: one executable, one module a behaviour.

mod check;
mod doctor;
mod doctor_elsewhere;
mod examine;
mod harness;
mod pid;
mod env;
mod harness;
mod run;
mod run_as_program;
mod run_stats;
