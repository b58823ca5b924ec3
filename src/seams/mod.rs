//! jemalloc mended from outside, by the linker: see [`table`] for what and why.

pub mod table;

#[cfg(all(elf, not(test)))]
mod fills;
#[cfg(all(elf, not(test)))]
mod kernel;
#[cfg(all(elf, not(test)))]
mod libc_calls;
#[cfg(any(elf, test))]
mod math;
#[cfg(all(elf, not(test)))]
mod mutex;
#[cfg(all(elf, not(test)))]
mod options;
#[cfg(all(elf, not(test)))]
mod pages;
#[cfg(all(elf, not(test)))]
mod size_classes;
#[cfg(all(elf, not(test)))]
mod threads;

/// Defines what the linker leads calls of `$name` to. The symbol has to be visible to jemalloc's objects and to
/// nobody else: `#[no_mangle]` would put it into the library's list of exports, so a hidden label is written instead,
/// from which it is one jump to the function.
#[cfg(all(elf, not(test)))]
macro_rules! seam {
    ($(#[$meta:meta])* $name:ident ($($p:ident: $t:ty),* $(,)?) $(-> $r:ty)? $body:block) => {
        mod $name {
            use super::*;
            $(#[$meta])*
            unsafe extern "C" fn $name($($p: $t),*) $(-> $r)? $body
            core::arch::global_asm!(
                concat!(".pushsection .text.__wrap_", stringify!($name), ",\"ax\",%progbits"),
                concat!(".globl __wrap_", stringify!($name)),
                concat!(".hidden __wrap_", stringify!($name)),
                concat!(".type __wrap_", stringify!($name), ",%function"),
                concat!("__wrap_", stringify!($name), ":"),
                $crate::seams::jump!(),
                concat!(".size __wrap_", stringify!($name), ", . - __wrap_", stringify!($name)),
                ".popsection",
                sym $name,
            );
        }
    };
}
#[cfg(all(elf, not(test)))]
use seam;

#[cfg(all(elf, not(test), any(target_arch = "x86_64", target_arch = "x86")))]
macro_rules! jump {
    () => {
        "jmp {}"
    };
}
#[cfg(all(elf, not(test), any(target_arch = "aarch64", target_arch = "arm")))]
macro_rules! jump {
    () => {
        "b {}"
    };
}
#[cfg(all(elf, not(test), any(target_arch = "riscv32", target_arch = "riscv64")))]
macro_rules! jump {
    () => {
        "tail {}"
    };
}
#[cfg(all(elf, not(test)))]
use jump;
