//! `jeshim compare`.

mod allocators;
