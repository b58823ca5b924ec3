//! One run: a program is started by the starter ([`jeshim_host::starter`]), looked at while it runs, and measured at its
//! end.

pub mod program;
pub mod sampler;
pub mod server;
pub mod words;
