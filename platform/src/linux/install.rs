//! Putting jemalloc in place: on Linux the dynamic linker does it, by symbol interposition.

/// Nothing to do: the exported names come first in the program's lookup order.
pub fn install() {}
