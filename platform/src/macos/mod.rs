//! macOS. Type-checked for arm64 and x86-64 by `scripts/check-macos.sh`; never run on a Mac.

pub mod binding;
pub mod cpus;
pub mod install;
pub mod process;
pub mod record;
