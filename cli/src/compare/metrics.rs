//! Figures of the program itself: read from what it prints.

/// Which figures are looked for.
#[derive(Debug, Default)]
pub struct Metrics {}
