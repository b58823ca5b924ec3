//! All tests of the command: one executable, one module a behaviour.

mod check;
mod corpus;
mod doctor;
mod doctor_elsewhere;
mod harness;
