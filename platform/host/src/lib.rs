//! What the command asks of the system it runs on. One module for each question; below `linux` and `macos` are the
//! answers, and this is, with `jeshim-platform`, the only place with `cfg(target_os)`.

#[cfg(target_os = "linux")]
#[path = "linux"]
mod system {
    pub mod executable;
    pub mod preload;
}
#[cfg(target_os = "macos")]
#[path = "macos"]
mod system {
    pub mod executable;
    pub mod preload;
}

pub use system::executable;
pub use system::preload;
