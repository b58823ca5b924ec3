//! Bytes as a Mach-O file: `cargo fuzz run macho`, in cli/.

#![no_main]

use jeshim_cli::examine::macho;
use std::path::Path;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = macho::examine(Path::new("/fuzzed"), bytes, None);
});
