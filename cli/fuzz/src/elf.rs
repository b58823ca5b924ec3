//! Bytes as an ELF file: `cargo fuzz run elf`, in cli/; with a corpus of small programs it reaches the tables.

#![no_main]

use jeshim_cli::elf::Elf;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(elf) = Elf::read(bytes) {
        let _ = elf.target();
    }
});
