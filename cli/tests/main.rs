//! All tests of the command: one executable, one module a behaviour.

mod harness;
mod pid;
