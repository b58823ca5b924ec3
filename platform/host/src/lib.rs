//! What the command asks of the system it runs on. One module for each question; below `linux` and `macos` are the
//! answers, and this is, with `jeshim-platform`, the only place with `cfg(target_os)`.

#[cfg(target_os = "linux")]
#[path = "linux"]
mod system {
    pub(crate) mod description;
    pub(crate) mod executable;
    pub(crate) mod family;
    pub(crate) mod live_process;
    pub(crate) mod machine;
    pub(crate) mod ports;
    pub mod preload;
    pub(crate) mod process;
    pub(crate) mod signals;
    mod smaps;
    pub(crate) mod tree;
    pub(crate) mod watch;
}
#[cfg(target_os = "macos")]
#[path = "macos"]
mod system {
    pub(crate) mod description;
    pub(crate) mod executable;
    pub(crate) mod family;
    pub(crate) mod live_process;
    pub(crate) mod machine;
    pub(crate) mod ports;
    pub mod preload;
    pub(crate) mod process;
    pub(crate) mod signals;
    pub(crate) mod tree;
    pub(crate) mod watch;
}

pub mod at_start;
pub mod executable;
pub mod interrupts;
pub mod launch;
pub mod live;
pub mod machine;
pub mod ports;
pub mod process;
pub mod standard_input;
pub mod starter;
pub mod tree;
pub mod watch;

pub use system::preload;
