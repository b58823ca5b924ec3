//! Tells the linker what the library needs of it.

#[path = "src/seams/table.rs"]
mod table;

use std::env;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/seams/table.rs");
    println!("cargo:rustc-check-cfg=cfg(elf)");
    println!("cargo:rustc-env=JESHIM_PAGE_SIZE={}", page_size());
    // Where symbols interpose and the linker wraps: everything but Apple's and Windows' formats.
    if env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cfg=elf");
        link_elf();
    }
}

fn link_elf() {
    let arguments = [
        // Programs may link with the library instead of preloading it.
        "-Wl,-soname,libjeshim.so",
        // Blocks and thread data outlive every dlclose.
        "-Wl,-z,nodelete",
        // A name that nobody defines, such as a seam without its function, is an error now and not at load.
        "-Wl,-z,defs",
        "-Wl,-z,relro,-z,now",
        "-Wl,-z,noexecstack",
        "-Wl,-z,text",
    ];
    for argument in arguments {
        println!("cargo:rustc-cdylib-link-arg={argument}");
    }
    // There, the library itself goes through libc's `syscall` (platform/src/linux/kernel.rs).
    let through_libc = !matches!(env::var("CARGO_CFG_TARGET_ARCH").as_deref(), Ok("x86_64" | "aarch64"));
    for seam in table::SEAMS.iter().filter(|seam| !(through_libc && seam.name == "syscall")) {
        println!("cargo:rustc-cdylib-link-arg=-Wl,--wrap={}", seam.name);
    }
}

/// The page size that jemalloc's configure script has taken: what it was told (tikv-jemalloc-sys, build.rs), else this
/// machine's, else, for another machine, 4096. 0 where jemalloc is not built at all.
fn page_size() -> u64 {
    let target = env::var("TARGET").unwrap_or_default();
    let told = format!("{}_JEMALLOC_SYS_WITH_LG_PAGE", target.to_uppercase().replace('-', "_"));
    for name in [told.as_str(), "JEMALLOC_SYS_WITH_LG_PAGE", "JEMALLOC_OVERRIDE"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    if env::var_os("JEMALLOC_OVERRIDE").is_some() {
        return 0;
    }
    let told = env::var(told).or_else(|_| env::var("JEMALLOC_SYS_WITH_LG_PAGE"));
    if let Some(exponent) = told.ok().and_then(|value| value.parse::<u32>().ok()) {
        return 1 << exponent;
    }
    let here = Command::new("getconf").arg("PAGESIZE").output();
    match here {
        Ok(output) if env::var("HOST").is_ok_and(|host| host == target) => {
            String::from_utf8_lossy(&output.stdout).trim().parse().unwrap_or(4096)
        }
        _ => 4096,
    }
}
