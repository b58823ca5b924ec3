//! What is shown of a comparison: on a terminal ([`text`]), as [`markdown`], as one page with plots ([`html`]); for
//! machines [`csv`] and [`json`]; and how any of them gets into a file ([`write`]). [`show`] does what was asked for.
//!
//! | module | what it does |
//! |---|---|
//! | `document` | what is said, whatever it is written in: made of the modules from `verdicts` to `sentences` |
//! | `verdicts`, `table`, `memory`, `served`, `sentences` | its parts |
//! | `numbers` | how figures are written |
//! | `terminal_text`, `markdown`, `csv`, `json`, `html` | what it is written in |
//! | `plots` | drawings for the page |
//! | `output` | which of it was asked for, and where it goes |
//! | `file` | writing without harm to what was there |

mod changes;
mod csv;
mod document;
mod file;
mod html;
mod json;
mod markdown;
mod memory;
mod numbers;
mod output;
mod plots;
mod sentences;
mod served;
mod table;
mod terminal_text;
mod verdicts;

pub use self::csv::csv;
pub use self::file::write;
pub use self::html::html;
pub use self::json::json;
pub use self::markdown::markdown;
pub use self::output::{can_write, show};
pub use self::terminal_text::text;
