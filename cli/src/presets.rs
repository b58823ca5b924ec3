//! Sets of options for a purpose. What the texts say of cost is measured: `docs/presets.md`.

use comfy_table::presets::NOTHING;
use comfy_table::{Attribute, Cell, ContentArrangement, Table};
use std::process::ExitCode;

/// A set of options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// As typed.
    pub name: &'static str,
    /// As in MALLOC_CONF.
    pub conf: &'static str,
    /// What it is for.
    pub purpose: &'static str,
    /// What it costs.
    pub cost: &'static str,
}

/// All of them.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "default",
        conf: "",
        purpose: "jemalloc as it comes: freed memory goes back to the system within ten seconds of use",
        cost: "nothing is set",
    },
    Preset {
        name: "low-rss",
        conf: "background_thread:true,dirty_decay_ms:1000,narenas:2",
        purpose: "little memory: freed pages go back within about a second, also while the program is idle",
        cost: "a thread more in every process; large buffers stay for that second: 2.9 times the peak where a program has little else",
    },
    Preset {
        name: "throughput",
        conf: "background_thread:true,oversize_threshold:1073741824",
        purpose: "little CPU: large buffers, and the memory of threads that come and go, are used again instead of taken anew",
        cost: "a thread more in every process; large buffers stay: up to 2.9 times the peak; nothing is gained without such buffers or short-lived threads",
    },
    Preset {
        name: "low-latency",
        conf: "oversize_threshold:1073741824,dirty_decay_ms:-1",
        purpose: "even times: what a running thread has freed is never given back, so it need not be taken again",
        cost: "memory stays at its peak until the program ends; little was gained by it in what was measured, other than with large buffers",
    },
    Preset {
        name: "debug",
        conf: "junk:true,zero_realloc:abort,abort_conf:true",
        purpose: "finding bugs: fresh and freed memory is filled with junk, realloc to size 0 aborts, wrong options abort",
        cost: "up to twice the time and a tenth more memory; a program that is right by glibc's rules may call realloc with size 0",
    },
];

/// A preset by its name.
///
/// # Errors
/// Cause and remedy in one line.
pub fn find(name: &str) -> anyhow::Result<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| {
        let nearest = crate::options::nearest(name, PRESETS.iter().map(|preset| preset.name))
            .map(|nearest| format!("the nearest is '{nearest}'; "))
            .unwrap_or_default();
        let all: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        anyhow::anyhow!(
            "'{}' is not a preset; {nearest}there are {}; --preset help says what each one trades",
            crate::terminal::printable(name),
            all.join(", ")
        )
    })
}

/// `--preset help`.
///
/// # Errors
/// When standard output cannot be written.
pub fn show() -> anyhow::Result<ExitCode> {
    crate::terminal::write_report(&format!("{}\n", table()), None, true)?;
    Ok(ExitCode::SUCCESS)
}

fn table() -> Table {
    let mut table = Table::new();
    table.load_preset(NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    for preset in PRESETS {
        let options = if preset.conf.is_empty() { "no options" } else { preset.conf };
        let text = format!("{}\ncosts: {}\n{options}\n", preset.purpose, preset.cost);
        table.add_row([Cell::new(preset.name).add_attribute(Attribute::Bold), Cell::new(text)]);
    }
    table
}
