//! The exported functions: one naked jump each, made from the table.
#![allow(non_snake_case)] // C++'s mangled names.

#[macro_use]
mod jump;
#[macro_use]
mod table;
#[cfg(elf)]
mod cxx;
#[cfg(elf)]
pub(crate) mod deepbind;
#[cfg(elf)]
mod glibc;
#[cfg(elf)]
mod system;
pub(crate) mod variables;

/// Where there is no such flag.
#[cfg(not(elf))]
pub(crate) mod deepbind {
    pub(crate) fn keep() {}
    pub(crate) fn times_cleared() -> u32 {
        0
    }
}

use core::ffi::{CStr, c_char, c_int, c_void};
#[cfg(elf)]
use libc::FILE;
use tikv_jemalloc_sys as je;

type Ptr = *mut c_void;

/// The name of a line for this width of `size_t`.
#[cfg(target_pointer_width = "64")]
macro_rules! name {
    ($name:ident $($name32:ident)?) => {
        stringify!($name)
    };
}
#[cfg(target_pointer_width = "32")]
macro_rules! name {
    ($name:ident) => {
        stringify!($name)
    };
    ($name:ident $name32:ident) => {
        stringify!($name32)
    };
}

/// Takes the lines of the table that this system has.
macro_rules! define {
    (system { $($system:tt)* } jemalloc { $($jemalloc:tt)* } data { $($data:tt)* }) => {
        #[cfg(elf)]
        define_functions! { functions { $($system)* $($jemalloc)* } data { $($data)* } }
        #[cfg(not(elf))]
        define_functions! { functions { $($jemalloc)* } data { $($data)* } }
    };
}

/// Makes the functions and the list of names. A Rust function that calls would go through the GOT, one load and one
/// indirect jump more; a naked one links to a direct jump. Where the jump is not written it is a plain call.
macro_rules! define_functions {
    (functions {
        $($name:ident $(/ $name32:ident)? ($($p:ident: $t:ty),*) -> $r:ty
            = $module:ident::$to:ident $(/ $to32:ident)? ($($a:ident),*);)*
    }
    data { $($data:ident;)* }) => {
        $(
            // SAFETY: an exported name for a function with the same contract; registers are left as they are, so the
            // arguments arrive as they were given. The name is one that libc, libstdc++ or jemalloc define, and taking
            // its place is the purpose.
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
            #[cfg_attr(not(test), unsafe(export_name = name!($name $($name32)?)))]
            #[unsafe(naked)]
            unsafe extern "C" fn $name($($p: $t),*) -> $r {
                define_functions!(@jump name!($name $($name32)?), $module::$to $($to32)?)
            }

            // SAFETY: as above.
            #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
            #[cfg_attr(not(test), unsafe(export_name = name!($name $($name32)?)))]
            #[allow(unused_variables)]
            unsafe extern "C" fn $name($($p: $t),*) -> $r {
                // SAFETY: the caller keeps the contract of the function called.
                unsafe { define_functions!(@path $module::$to)($($a),*) }
            }
        )*

        /// All exported names, each ended by NUL. One string, so that the list needs no relocations at load.
        const NAMES: &str = concat!($(name!($name $($name32)?), "\0",)* $(stringify!($data), "\0",)*);
    };
    (@jump $name:expr, first::$to:ident $($to32:ident)?) => {
        core::arch::naked_asm!(own!($name), jump_to_first!(name!($to $($to32)?)))
    };
    (@jump $name:expr, $module:ident::$to:ident) => {
        core::arch::naked_asm!(own!($name), jump!(), sym $module::$to)
    };
    // Without the jump it is our own definition that is called.
    (@path first::$to:ident) => { $to };
    (@path $module:ident::$to:ident) => { $module::$to };
}
exports!(define);

/// The names that the library exports.
pub(crate) fn names() -> impl Iterator<Item = &'static CStr> {
    NAMES.as_bytes().split_inclusive(|byte| *byte == 0).filter_map(|name| CStr::from_bytes_with_nul(name).ok())
}
