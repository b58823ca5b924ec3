//! The machine, and what this process is allowed on it. What has no answer on a system is an error there, of the kind
//! `Unsupported`.

pub use crate::system::description::describe;
pub use crate::system::machine::{HAS_PROC, c_library, confinement, memory, page_size};
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use std::io;

/// Limits of this process (`man 2 getrlimit`), the soft ones: bytes; `None` is unlimited.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// RLIMIT_AS.
    pub address_space: Option<u64>,
    /// RLIMIT_DATA.
    pub data: Option<u64>,
    /// RLIMIT_STACK.
    pub stack: Option<u64>,
    /// RLIMIT_FSIZE.
    pub file_size: Option<u64>,
    /// RLIMIT_CORE.
    pub core: Option<u64>,
}

/// Asks for the limits.
///
/// # Errors
/// When the system does not answer.
pub fn limits() -> io::Result<Limits> {
    let soft = |which| {
        let (soft, _) = getrlimit(which)?;
        io::Result::Ok((soft != RLIM_INFINITY).then_some(soft))
    };
    Ok(Limits {
        address_space: soft(Resource::RLIMIT_AS)?,
        data: soft(Resource::RLIMIT_DATA)?,
        stack: soft(Resource::RLIMIT_STACK)?,
        file_size: soft(Resource::RLIMIT_FSIZE)?,
        core: soft(Resource::RLIMIT_CORE)?,
    })
}

/// Memory of the machine, in bytes (`man 5 proc_meminfo`).
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    /// MemTotal.
    pub total: u64,
    /// SwapTotal.
    pub swap: u64,
    /// CommitLimit: what may be promised when vm.overcommit_memory is 2.
    pub commit_limit: Option<u64>,
    /// Committed_AS: what is promised.
    pub committed: u64,
}

/// The machine, and the state that it is in: what a measurement has to say of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Description {
    /// Kernel, its release, architecture: "Linux 6.1.0 x86_64".
    pub system: String,
    /// "Debian GNU/Linux 12 (bookworm)".
    pub distribution: Option<String>,
    /// The processor's name.
    pub processor: Option<String>,
    /// The scaling governors that its processors have: "performance".
    pub governor: Option<String>,
    /// Whether the processor may run faster for a while (turbo, boost).
    pub boost: Option<bool>,
    /// Transparent huge pages: "always", "madvise", "never".
    pub huge_pages: Option<String>,
    /// Bytes.
    pub memory: Option<u64>,
    /// Load average of one minute.
    pub load: Option<f64>,
}

/// What this process is kept from (`man 5 proc_pid_status`).
#[derive(Debug, Clone, Copy)]
pub struct Confinement {
    /// 0 none, 1 strict, 2 a filter; `None`: a kernel without seccomp.
    pub seccomp: Option<u32>,
    /// Whether it can gain rights by executing a file.
    pub no_new_privileges: bool,
    /// CPUs that it may run on.
    pub cpus_allowed: Option<u32>,
    /// Whether it may trace processes of others.
    pub may_trace_all: bool,
}

/// The C library that this command runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CLibrary {
    /// glibc, with its version: (2, 36).
    Glibc(u32, u32),
    /// Another one, or a version that is no version.
    Other,
}
