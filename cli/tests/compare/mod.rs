//! `jeshim compare`.

mod allocators;
mod proof;
