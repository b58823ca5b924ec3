//! All tests of the command: one executable, one module a behaviour.

mod check;
mod check_hidden;
mod check_program;
mod compare;
mod corpus;
mod doctor;
mod doctor_elsewhere;
mod env;
mod examine;
mod harness;
mod macho;
mod packaging;
mod pid;
mod run;
mod run_as_program;
mod run_stats;
mod why_not;
