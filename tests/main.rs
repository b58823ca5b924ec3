//! All tests that load the library into programs: one executable, since each more is linked with the whole of the
//! standard library anew. One module a behaviour: `cargo test record::` runs those of `record.rs`.

mod harness;

mod bad_input;
mod children;
mod cxx;
mod deepbind;
mod exports;
mod fork;
mod glibc_functions;
mod jemalloc_own_tests;
mod life_of_a_process;
mod live;
mod never_panics;
mod options;
mod other_preloads;
mod prove_macos;
mod real_programs;
mod record;
mod record_breakdown;
mod seams;
mod semantics;
mod source;
mod thread_exit;
