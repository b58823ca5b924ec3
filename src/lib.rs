//! libjeshim: jemalloc under a program that is already built.
//!
//! Loaded with `LD_PRELOAD` (Linux) or `DYLD_INSERT_LIBRARIES` (macOS). This crate is a library to be loaded, not one
//! to be called: it has no Rust interface.
//!
//! | module | what it does |
//! |---|---|
//! | `about` | what the file says about itself |
//! | `exports` | the names that programs bind to, from one table; each is one jump |
//! | `options` | composes jemalloc's option string when jemalloc asks for it |
//! | [`seams`] | mends jemalloc from outside, through the linker |
//! | `load` | what happens at load: nothing, unless a variable asks for it |
//! | `report` | the proof record |
//! | `live` | what can be seen of a process from outside |
//! | `statistics` | jemalloc's figures |
//! | `next` | the definition of a name that comes after ours |
//! | `message` | what is said on stderr, and only when something is wrong |
#![no_std]
// Unit tests are an executable, in which the exported names, the seams and the constructor would take effect: these
// are left out there, and much of the rest is then not called.
#![cfg_attr(test, allow(dead_code))]

mod about;
mod exports;
#[cfg(elf)]
mod live;
#[cfg(not(test))]
mod load;
mod message;
#[cfg(elf)]
mod next;
mod options;
mod report;
pub mod seams;
#[cfg_attr(not(elf), allow(dead_code))] // What only glibc's functions ask for.
mod statistics;
