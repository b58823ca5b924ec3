//! `jeshim compare`.

mod report;
