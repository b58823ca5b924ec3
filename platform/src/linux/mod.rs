//! Linux.

pub mod binding;
mod cgroup;
pub mod cpus;
pub mod install;
pub mod kernel;
pub mod process;
pub mod record;
pub mod thread;
pub mod vdso;
