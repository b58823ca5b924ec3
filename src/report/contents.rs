//! What a record says. Members are only ever added; a change of meaning raises the number in `"record"`.

use super::json::Json;
use crate::statistics::{self, Parts, Reader, Requested, Served};
use crate::{exports, options};
use core::ffi::CStr;
use jeshim_platform::text::Text;
use jeshim_platform::{Binding, Zone, binding, process};

/// Room for the part that is known at load: names, options and a few paths.
pub(super) const BODY_SIZE: usize = 24 * 1024;
/// Room in the file for what is known at exit.
pub(super) const SERVED_SIZE: usize = 1536;
/// Room for a whole record.
pub(super) const RECORD_SIZE: usize = BODY_SIZE + SERVED_SIZE + 8 * 1024;

/// Where in the file the values stand that are replaced later.
#[derive(Clone, Copy)]
pub(super) struct Places {
    /// `false`, to become `true `.
    #[cfg_attr(not(elf), allow(dead_code))] // It takes a seam.
    pub(super) serving: usize,
    /// `false`, to become `true `.
    pub(super) finished: usize,
    /// `null` and spaces, to become an object.
    pub(super) served: usize,
}

/// Writes the members that a process shares with its forked children.
pub(super) fn write_body(text: &mut Text) {
    let mut json = Json::new(text, 1, false);
    json.string("library", Some(binding::library_path().to_bytes()));
    json.string("library_version", Some(env!("CARGO_PKG_VERSION").as_bytes()));
    json.string("jemalloc_version", statistics::read_text(c"version").map(CStr::to_bytes));
    json.object("options", |json| {
        json.object("sources", |json| {
            for (name, value) in options::sources() {
                json.string(name, value.map(CStr::to_bytes));
            }
        });
        json.object("effective", write_effective_options);
    });
    json.object("bound", write_bindings);
    if let Some(zone) = binding::zone() {
        json.object("zone", |json| write_zone(json, &zone));
    }
}

/// A record of the process with this pid: all that is known at load, and room for the rest. `None` when it does not
/// fit. `program` is room for a path.
pub(super) fn write_record(text: &mut Text, body: &[u8], pid: u32, forked: bool, program: &mut [u8]) -> Option<Places> {
    text.push(b"{");
    let mut json = Json::new(text, 1, true);
    json.number("record", 1);
    json.raw("finished", b"false");
    let finished = json.length() - b"false".len();
    json.raw("serving", b"false");
    let serving = json.length() - b"false".len();
    json.number("pid", u64::from(pid));
    json.number("parent_pid", u64::from(process::parent_pid()));
    json.boolean("forked", forked);
    json.string("program", Some(process::program(program)));
    json.number("started", process::now());
    text.push(body);
    Json::new(text, 1, false).raw("served", b"");
    let served = text.as_bytes().len();
    text.push(b"null");
    for _ in b"null".len()..SERVED_SIZE {
        text.push(b" ");
    }
    text.push(b"\n}\n");
    text.is_complete().then_some(Places { finished, serving, served })
}

/// Writes the value of `served`; whether it fits the room that the record has for it. What was served has been read with
/// the same right, so that all figures are of one moment.
pub(super) fn write_served(
    text: &mut Text,
    reader: &Reader,
    [small, large]: [Served; 2],
    deepbind_cleared: u32,
) -> bool {
    text.push(b"{");
    let mut json = Json::new(text, 2, true);
    // Flat names, each on a line of its own: a shell script finds them.
    for (names, served) in [
        (["small_allocations", "small_bytes", "small_frees", "small_freed_bytes"], small),
        (["large_allocations", "large_bytes", "large_frees", "large_freed_bytes"], large),
    ] {
        let values = [served.allocations, served.bytes, served.frees, served.freed_bytes];
        for (name, value) in names.into_iter().zip(values) {
            json.number(name, value);
        }
    }
    for name in
        [c"stats.allocated", c"stats.active", c"stats.metadata", c"stats.resident", c"stats.mapped", c"stats.retained"]
    {
        let value = statistics::read::<usize>(name).unwrap_or(0) as u64;
        let name = name.to_str().unwrap_or("").strip_prefix("stats.").unwrap_or("");
        json.number(name, value);
    }
    let parts = Parts::now(reader);
    json.number("thread_caches", parts.thread_caches);
    json.number("internal", parts.internal);
    json.number("dirty", parts.dirty);
    json.number("muzzy", parts.muzzy);
    let requested = Requested::now(reader);
    for (name, value) in [
        ("requested", requested.map(|requested| requested.requested)),
        ("rounded", requested.map(|requested| requested.rounded)),
    ] {
        match value {
            Some(value) => json.number(name, value),
            None => json.raw(name, b"null"),
        }
    }
    json.number("deepbind_cleared", u64::from(deepbind_cleared));
    text.push(b"\n  }");
    text.is_complete() && text.as_bytes().len() <= SERVED_SIZE
}

fn write_bindings(json: &mut Json) {
    let (mut ours, mut all) = (0, 0);
    json.object("names", |json| {
        for name in exports::names() {
            all += 1;
            let key = name.to_str().unwrap_or("");
            match binding::resolve(name) {
                Binding::Ours => {
                    ours += 1;
                    json.boolean(key, true);
                }
                Binding::Other(path) => json.string(key, Some(path.to_bytes())),
                Binding::Nobody => json.boolean(key, false),
            }
        }
    });
    json.number("ours", ours);
    json.number("of", all);
}

/// Whether `malloc` leads to jemalloc, where that is not a matter of names (macOS).
fn write_zone(json: &mut Json, zone: &Zone) {
    json.boolean("serves", zone.serves());
    json.string("name", Some(zone.name.to_bytes()));
    json.boolean("is_ours", zone.is_ours);
    json.number("size_of_malloc_100", zone.size as u64);
    json.number("size_expected", zone.expected as u64);
    let (cause, remedy) = zone.cause_and_remedy().unzip();
    json.string("cause", cause.map(str::as_bytes));
    json.string("remedy", remedy.map(str::as_bytes));
}

/// The values in effect of the options that people set (man 3 jemalloc, `opt.`), by type.
fn write_effective_options(json: &mut Json) {
    const TEXTS: [&CStr; 6] =
        [c"opt.dss", c"opt.junk", c"opt.metadata_thp", c"opt.percpu_arena", c"opt.thp", c"opt.zero_realloc"];
    const SWITCHES: [&CStr; 15] = [
        c"opt.abort",
        c"opt.abort_conf",
        c"opt.background_thread",
        c"opt.cache_oblivious",
        c"opt.hpa",
        c"opt.prof",
        c"opt.prof_active",
        c"opt.prof_final",
        c"opt.prof_leak",
        c"opt.retain",
        c"opt.stats_print",
        c"opt.tcache",
        c"opt.trust_madvise",
        c"opt.xmalloc",
        c"opt.zero",
    ];
    const SIZES: [&CStr; 5] = [
        c"opt.lg_extent_max_active_fit",
        c"opt.lg_prof_sample",
        c"opt.max_background_threads",
        c"opt.oversize_threshold",
        c"opt.tcache_max",
    ];
    const TIMES: [&CStr; 2] = [c"opt.dirty_decay_ms", c"opt.muzzy_decay_ms"];
    fn key(name: &'static CStr) -> &'static str {
        name.to_str().unwrap_or("").strip_prefix("opt.").unwrap_or("")
    }
    if let Some(value) = statistics::read::<u32>(c"opt.narenas") {
        json.number("narenas", u64::from(value));
    }
    for name in TIMES {
        if let Some(value) = statistics::read::<isize>(name) {
            json.signed(key(name), value as i64);
        }
    }
    for name in SIZES {
        if let Some(value) = statistics::read::<usize>(name) {
            json.number(key(name), value as u64);
        }
    }
    for name in SWITCHES {
        if let Some(value) = statistics::read::<bool>(name) {
            json.boolean(key(name), value);
        }
    }
    for name in TEXTS {
        if let Some(value) = statistics::read_text(name) {
            json.string(key(name), Some(value.to_bytes()));
        }
    }
}
