//! C++'s operators new.
//!
//! An operator new must call the new-handler and throw std::bad_alloc when there is no memory. The next definition
//! after ours, that of libstdc++ or libc++, does just that: it calls malloc, which is ours and fails again, then the
//! handler, then throws. So on failure we jump there, with the arguments as they were. Nothing of the C++ runtime
//! has to be linked, programs without one pay nothing for it, and the exception passes no frame of ours.

use super::Ptr;
use crate::message;
use crate::next::Next;
use core::ffi::{CStr, c_void};
use core::ptr::null_mut;
use tikv_jemalloc_sys as je;

/// Where the operators are when they are visible only to the plugin that brought them.
const RUNTIMES: &[&CStr] = &[c"libstdc++.so.6", c"libc++.so.1"];

/// Stands in for a nothrow operator that nobody else has.
extern "C" fn no_memory() -> *mut c_void {
    null_mut()
}

/// Stands in for a throwing operator that nobody else has: NULL is not allowed, and throwing not possible.
extern "C" fn cannot_throw() -> *mut c_void {
    message::line(&[
        b"operator new: out of memory, and no C++ runtime is loaded that could throw std::bad_alloc; raise the memory limit",
    ]);
    // SAFETY: ends the process.
    unsafe { libc::abort() }
}

/// operator new(size): the hot one, saves one register only.
#[cfg(target_arch = "x86_64")]
macro_rules! plain {
    () => {
        "
        .cfi_startproc
        push rdi
        .cfi_adjust_cfa_offset 8
        call {allocate}
        test rax, rax
        jz 2f
        pop rcx
        .cfi_remember_state
        .cfi_adjust_cfa_offset -8
        ret
    2:
        .cfi_restore_state
        call {next}
        pop rdi
        .cfi_adjust_cfa_offset -8
        jmp rax
        .cfi_endproc
        "
    };
}

/// Any operator new of up to three arguments; `$swap` puts alignment and size in aligned_alloc's order.
#[cfg(target_arch = "x86_64")]
macro_rules! general {
    ($swap:literal) => {
        concat!(
            "
        .cfi_startproc
        sub rsp, 24
        .cfi_adjust_cfa_offset 24
        mov [rsp], rdi
        mov [rsp + 8], rsi
        mov [rsp + 16], rdx
        ",
            $swap,
            "
        call {allocate}
        test rax, rax
        jz 2f
        add rsp, 24
        .cfi_remember_state
        .cfi_adjust_cfa_offset -24
        ret
    2:
        .cfi_restore_state
        call {next}
        mov rdi, [rsp]
        mov rsi, [rsp + 8]
        mov rdx, [rsp + 16]
        add rsp, 24
        .cfi_adjust_cfa_offset -24
        jmp rax
        .cfi_endproc
        "
        )
    };
}

#[cfg(target_arch = "x86_64")]
macro_rules! swapped {
    () => {
        general!("xchg rdi, rsi")
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! general {
    ($swap:literal) => {
        concat!(
            "
        .cfi_startproc
        stp x0, x30, [sp, #-32]!
        .cfi_adjust_cfa_offset 32
        .cfi_rel_offset x30, 8
        stp x1, x2, [sp, #16]
        ",
            $swap,
            "
        bl {allocate}
        cbz x0, 2f
        ldr x30, [sp, #8]
        add sp, sp, #32
        .cfi_remember_state
        .cfi_adjust_cfa_offset -32
        .cfi_restore x30
        ret
    2:
        .cfi_restore_state
        bl {next}
        mov x16, x0
        ldp x1, x2, [sp, #16]
        ldp x0, x30, [sp], #32
        .cfi_adjust_cfa_offset -32
        .cfi_restore x30
        br x16
        .cfi_endproc
        "
        )
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! plain {
    () => {
        general!("")
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! swapped {
    () => {
        general!("mov x3, x0\n mov x0, x1\n mov x1, x3")
    };
}

/// An operator: what it does (`plain`, `general`, `swapped`), through which allocation function, and the name of the
/// next definition for both widths of `size_t`, with what stands in for that.
macro_rules! operator {
    ($operator:ident($($p:ident: $t:ty),*): $shape:ident($($literal:literal)?) $allocate:ident($($a:ident),*),
     next $name:literal / $name32:literal, or $otherwise:ident) => {
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        #[unsafe(naked)]
        pub(super) unsafe extern "C" fn $operator($($p: $t),*) -> Ptr {
            extern "C" fn next() -> usize {
                operator!(@next $name / $name32, $otherwise)
            }
            core::arch::naked_asm!($shape!($($literal)?), allocate = sym je::$allocate, next = sym next)
        }

        /// Without the jump: an exception cannot pass this frame, and ends the process instead.
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        pub(super) unsafe extern "C" fn $operator($($p: $t),*) -> Ptr {
            // SAFETY: any size may be asked for, and a bad alignment gives NULL.
            let ptr = unsafe { je::$allocate($($a),*) };
            if !ptr.is_null() {
                return ptr;
            }
            let next = operator!(@next $name / $name32, $otherwise);
            // SAFETY: the address is that of an operator with the same signature, or of a function that takes none
            // of the arguments.
            unsafe { core::mem::transmute::<usize, unsafe extern "C" fn($($t),*) -> Ptr>(next)($($p),*) }
        }
    };
    (@next $name:literal / $name32:literal, $otherwise:ident) => {{
        const NAME: &CStr = if cfg!(target_pointer_width = "64") { $name } else { $name32 };
        static NEXT: Next = Next::new(NAME, RUNTIMES, $otherwise);
        NEXT.address()
    }};
}

operator!(new(size: usize): plain() malloc(size),
    next c"_Znwm" / c"_Znwj", or cannot_throw);
operator!(new_array(size: usize): plain() malloc(size),
    next c"_Znam" / c"_Znaj", or cannot_throw);
operator!(new_nothrow(size: usize, tag: Ptr): general("") malloc(size),
    next c"_ZnwmRKSt9nothrow_t" / c"_ZnwjRKSt9nothrow_t", or no_memory);
operator!(new_array_nothrow(size: usize, tag: Ptr): general("") malloc(size),
    next c"_ZnamRKSt9nothrow_t" / c"_ZnajRKSt9nothrow_t", or no_memory);
operator!(new_aligned(size: usize, alignment: usize): swapped() aligned_alloc(alignment, size),
    next c"_ZnwmSt11align_val_t" / c"_ZnwjSt11align_val_t", or cannot_throw);
operator!(new_array_aligned(size: usize, alignment: usize): swapped() aligned_alloc(alignment, size),
    next c"_ZnamSt11align_val_t" / c"_ZnajSt11align_val_t", or cannot_throw);
operator!(new_aligned_nothrow(size: usize, alignment: usize, tag: Ptr): swapped() aligned_alloc(alignment, size),
    next c"_ZnwmSt11align_val_tRKSt9nothrow_t" / c"_ZnwjSt11align_val_tRKSt9nothrow_t", or no_memory);
operator!(new_array_aligned_nothrow(size: usize, alignment: usize, tag: Ptr): swapped() aligned_alloc(alignment, size),
    next c"_ZnamSt11align_val_tRKSt9nothrow_t" / c"_ZnajSt11align_val_tRKSt9nothrow_t", or no_memory);
