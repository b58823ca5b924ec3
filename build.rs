//! Tells the linker what the library needs of it.

#[path = "src/seams/table.rs"]
mod table;

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/seams/table.rs");
    println!("cargo:rustc-check-cfg=cfg(elf)");
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
