//! What the library's file says about itself, in a section of its own, to whoever wants to know before anything loads
//! it: `jeshim run` checks options against this, `jeshim check` the size of the kernel's pages.
//!
//! Lines of words: `jeshim VERSION`, `jemalloc VERSION`, `page BYTES`, and for each option `option NAME TAKES`.
//! Lines may be added.

/// One option of jemalloc (conf.c, `malloc_conf_init_helper`) a line: its name as in `MALLOC_CONF`, and what it takes:
/// alternatives, or one of `NUMBER`, `SIGNED` (-1 for never), `RATIO` (a fraction), `TEXT`. Only those that this build
/// accepts: `tests/live.rs` asks it, and compares with jemalloc's source.
macro_rules! about {
    ($($name:literal $takes:literal)*) => {
        concat!(
            "jeshim ", env!("CARGO_PKG_VERSION"), "\n",
            "jemalloc 5.3.1\n",
            "page ", env!("JESHIM_PAGE_SIZE"), "\n",
            $("option ", $name, " ", $takes, "\n",)*
        )
    };
}

const TEXT: &str = about! {
    "abort" "true|false"
    "abort_conf" "true|false"
    "background_thread" "true|false"
    "bin_shards" "TEXT"
    "cache_oblivious" "true|false"
    "calloc_madvise_threshold" "NUMBER"
    "confirm_conf" "true|false"
    "debug_double_free_max_scan" "NUMBER"
    "dirty_decay_ms" "SIGNED"
    "disable_large_size_classes" "true|false"
    "dss" "disabled|primary|secondary"
    "experimental_hpa_enforce_hugify" "true|false"
    "experimental_hpa_max_purge_nhp" "SIGNED"
    "experimental_hpa_start_huge_if_thp_always" "true|false"
    "experimental_tcache_gc" "true|false"
    "hpa" "true|false"
    "hpa_dirty_mult" "RATIO|-1"
    "hpa_hugification_threshold" "NUMBER"
    "hpa_hugification_threshold_ratio" "RATIO"
    "hpa_hugify_delay_ms" "NUMBER"
    "hpa_hugify_style" "auto|none|eager|lazy"
    "hpa_hugify_sync" "true|false"
    "hpa_min_purge_delay_ms" "NUMBER"
    "hpa_min_purge_interval_ms" "NUMBER"
    "hpa_purge_threshold" "NUMBER"
    "hpa_purge_threshold_ratio" "RATIO"
    "hpa_sec_batch_fill_extra" "NUMBER"
    "hpa_sec_max_alloc" "NUMBER"
    "hpa_sec_max_bytes" "NUMBER"
    "hpa_sec_nshards" "NUMBER"
    "hpa_slab_max_alloc" "NUMBER"
    "huge_arena_pac_thp" "true|false"
    "junk" "true|false|alloc|free"
    "lg_extent_max_active_fit" "NUMBER"
    "lg_prof_interval" "SIGNED"
    "lg_prof_sample" "NUMBER"
    "lg_tcache_flush_large_div" "NUMBER"
    "lg_tcache_flush_small_div" "NUMBER"
    "lg_tcache_max" "NUMBER"
    "lg_tcache_nslots_mul" "SIGNED"
    "max_background_threads" "NUMBER"
    "metadata_thp" "disabled|auto|always"
    "mutex_max_spin" "SIGNED"
    "muzzy_decay_ms" "SIGNED"
    "narenas" "NUMBER|default"
    "narenas_ratio" "RATIO"
    "oversize_threshold" "NUMBER"
    "percpu_arena" "disabled|percpu|phycpu"
    "process_madvise_max_batch" "NUMBER"
    "prof" "true|false"
    "prof_accum" "true|false"
    "prof_active" "true|false"
    "prof_bt_max" "NUMBER"
    "prof_final" "true|false"
    "prof_gdump" "true|false"
    "prof_leak" "true|false"
    "prof_leak_error" "true|false"
    "prof_log" "true|false"
    "prof_pid_namespace" "true|false"
    "prof_prefix" "TEXT"
    "prof_recent_alloc_max" "SIGNED"
    "prof_stats" "true|false"
    "prof_sys_thread_name" "true|false"
    "prof_thread_active_init" "true|false"
    "prof_time_resolution" "default|high"
    "prof_unbias" "true|false"
    "retain" "true|false"
    "san_guard_large" "NUMBER"
    "san_guard_small" "NUMBER"
    "slab_sizes" "TEXT"
    "stats_interval" "SIGNED"
    "stats_interval_opts" "TEXT"
    "stats_print" "true|false"
    "stats_print_opts" "TEXT"
    "tcache" "true|false"
    "tcache_gc_delay_bytes" "NUMBER"
    "tcache_gc_incr_bytes" "NUMBER"
    "tcache_max" "NUMBER"
    "tcache_ncached_max" "TEXT"
    "tcache_nslots_large" "NUMBER"
    "tcache_nslots_small_max" "NUMBER"
    "tcache_nslots_small_min" "NUMBER"
    "thp" "default|always|never"
    "trust_madvise" "true|false"
    "zero" "true|false"
    "zero_realloc" "alloc|free|abort"
};

/// The section's contents; `tests/live.rs` sees that the linker has kept it.
#[used]
#[cfg_attr(elf, unsafe(link_section = ".jeshim.about"))]
#[cfg_attr(not(elf), unsafe(link_section = "__TEXT,__jeshim_about"))]
static ABOUT: [u8; TEXT.len()] = {
    let mut bytes = [0; TEXT.len()];
    let mut at = 0;
    while at < bytes.len() {
        bytes[at] = TEXT.as_bytes()[at];
        at += 1;
    }
    bytes
};
