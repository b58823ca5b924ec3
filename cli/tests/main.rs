//! All tests of the command: one executable, one module a behaviour.

mod doctor;
mod doctor_elsewhere;
mod harness;
