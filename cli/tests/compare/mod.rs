//! `jeshim compare`.

mod scenarios;
