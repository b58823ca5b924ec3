//! The same with jemalloc in it, under prefixed names.

#[path = "rust.rs"]
mod rust;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() {
    rust::main();
}
