//! `jeshim doctor`: looks at the machine. One small function for each check; [`CHECKS`] is the table of all.
//!
//! A library that is not there, or not ours, is a problem that the command finds (exit status 1), and not a failure of
//! the command.

pub mod finding;
pub mod groups;
mod limits;
pub mod machine;
mod memory;
mod preloads;
mod processors;
mod settings;
mod show;
mod surroundings;
mod the_library;
pub mod trial;
mod watching;

use finding::{Finding, State};
use machine::Machine;
use std::process::ExitCode;

/// One thing that is looked at.
#[derive(Debug)]
pub struct Check {
    /// Its name, for people and machines.
    pub id: &'static str,
    /// One of [`GROUPS`].
    pub group: &'static str,
    /// Whether it asks what only Linux has.
    pub only_linux: bool,
    ask: fn(&Machine) -> Finding,
}

/// What one check found.
#[derive(Debug)]
pub struct Answer {
    /// Which check.
    pub check: &'static Check,
    /// What it found.
    pub finding: Finding,
}

const LIBRARY: &str = "Library";
const PRELOADS: &str = "Other preloads";
const SETTINGS: &str = "Settings";
const MEMORY: &str = "Memory";
const LIMITS: &str = "Limits";
const PROCESSORS: &str = "Processors";
const SURROUNDINGS: &str = "Surroundings";
const WATCHING: &str = "Watching other processes";

/// The groups, in the order in which they are shown.
pub const GROUPS: [&str; 8] = [LIBRARY, PRELOADS, SETTINGS, MEMORY, LIMITS, PROCESSORS, SURROUNDINGS, WATCHING];

const fn everywhere(id: &'static str, group: &'static str, ask: fn(&Machine) -> Finding) -> Check {
    Check { id, group, only_linux: false, ask }
}

const fn linux(id: &'static str, group: &'static str, ask: fn(&Machine) -> Finding) -> Check {
    Check { id, group, only_linux: true, ask }
}

/// All checks.
pub static CHECKS: [Check; 35] = [
    everywhere("library", LIBRARY, the_library::found),
    everywhere("loads", LIBRARY, the_library::loads),
    everywhere("readable", LIBRARY, the_library::readable),
    linux("c_library", LIBRARY, the_library::c_library),
    everywhere("page_size", LIBRARY, the_library::page_size),
    everywhere("preload", PRELOADS, preloads::variable),
    linux("ld_so_preload", PRELOADS, preloads::file),
    linux("ld_audit", PRELOADS, preloads::audit),
    linux("allocators", PRELOADS, preloads::other_allocators),
    everywhere("malloc_conf", SETTINGS, settings::malloc_conf),
    everywhere("etc_malloc_conf", SETTINGS, settings::etc_malloc_conf),
    everywhere("jeshim_variables", SETTINGS, settings::ours),
    everywhere("rjem_malloc_conf", SETTINGS, settings::prefixed),
    linux("glibc_tunables", SETTINGS, settings::glibc_tunables),
    linux("glibc_variables", SETTINGS, settings::glibc_variables),
    linux("huge_pages", MEMORY, memory::huge_pages),
    linux("huge_pages_defrag", MEMORY, memory::huge_pages_defrag),
    linux("overcommit", MEMORY, memory::overcommit),
    linux("max_map_count", MEMORY, memory::map_count),
    linux("cgroup_memory", MEMORY, memory::group_limit),
    linux("swap", MEMORY, memory::swap),
    everywhere("limit_address_space", LIMITS, limits::address_space),
    everywhere("limit_data", LIMITS, limits::data),
    everywhere("limit_stack", LIMITS, limits::stack),
    everywhere("limit_file_size", LIMITS, limits::file_size),
    everywhere("limit_core", LIMITS, limits::core),
    linux("cpus", PROCESSORS, processors::affinity_mask),
    linux("cgroup_cpu", PROCESSORS, processors::quota),
    everywhere("arenas", PROCESSORS, processors::arenas),
    linux("kernel", SURROUNDINGS, surroundings::kernel),
    linux("container", SURROUNDINGS, surroundings::container),
    linux("security_module", SURROUNDINGS, surroundings::security_module),
    linux("sandbox", SURROUNDINGS, surroundings::sandbox),
    linux("ptrace", WATCHING, watching::tracing),
    linux("perf_events", WATCHING, watching::perf_events),
];

/// Asks all checks that this system has.
pub fn examine(machine: &Machine) -> Vec<Answer> {
    let here = |check: &&Check| jeshim_host::machine::HAS_PROC || !check.only_linux;
    CHECKS.iter().filter(here).map(|check| Answer { check, finding: (check.ask)(machine) }).collect()
}

/// Runs the command.
///
/// # Errors
/// When what was found cannot be written: exit status 125.
pub fn main(arguments: &crate::arguments::Doctor) -> anyhow::Result<ExitCode> {
    let answers = examine(&Machine::this(arguments.lib.as_deref()));
    let text = if arguments.json { format!("{:#}\n", show::json(&answers)) } else { show::text(&answers) };
    crate::terminal::write_report(&text, None, true)?;
    let problem = answers.iter().any(|answer| answer.finding.state == State::Problem);
    Ok(ExitCode::from(u8::from(problem)))
}
