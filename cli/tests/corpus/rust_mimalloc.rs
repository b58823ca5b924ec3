//! The same with mimalloc in it.

#[path = "rust.rs"]
mod rust;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    rust::main();
}
