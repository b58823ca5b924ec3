//! C++'s operators new, and what of delete is more than a jump.
//!
//! An operator new must call the new-handler and throw std::bad_alloc when there is no memory. The next definition
//! after ours, that of libstdc++ or libc++, does just that: it calls malloc, which is ours and fails again, then the
//! handler, then throws. So on failure we jump there, with the arguments as they were. Nothing of the C++ runtime
//! has to be linked, programs without one pay nothing for it, and the exception passes no frame of ours.

use super::Ptr;
use crate::message;
use crate::next::Operator;
use core::ffi::c_void;
use core::ptr::null_mut;
use tikv_jemalloc_sys as je;

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

macro_rules! next {
    ($static:ident = $name:literal / $name32:literal, or $otherwise:ident) => {
        static $static: Operator =
            Operator::new(if cfg!(target_pointer_width = "64") { $name } else { $name32 }, $otherwise);
    };
}
next!(NEW = c"_Znwm" / c"_Znwj", or cannot_throw);
next!(NOTHROW = c"_ZnwmRKSt9nothrow_t" / c"_ZnwjRKSt9nothrow_t", or no_memory);
next!(ARRAY_NOTHROW = c"_ZnamRKSt9nothrow_t" / c"_ZnajRKSt9nothrow_t", or no_memory);
next!(ALIGNED = c"_ZnwmSt11align_val_t" / c"_ZnwjSt11align_val_t", or cannot_throw);
next!(ALIGNED_NOTHROW = c"_ZnwmSt11align_val_tRKSt9nothrow_t" / c"_ZnwjSt11align_val_tRKSt9nothrow_t", or no_memory);
next!(ARRAY_ALIGNED_NOTHROW = c"_ZnamSt11align_val_tRKSt9nothrow_t" / c"_ZnajSt11align_val_tRKSt9nothrow_t", or no_memory);

/// Whether the program has its own definition of a name that we export.
macro_rules! is_replaced {
    ($name:literal) => {{
        let (first, own): (usize, usize);
        #[cfg(all(target_arch = "x86_64", not(test)))]
        // SAFETY: reads the address of the first definition from the GOT, and computes that of ours. In assembly,
        // since a compiler may take two names for two functions, and the comparison for false.
        unsafe {
            core::arch::asm!(
                concat!("mov {}, qword ptr [rip + ", $name, "@GOTPCREL]"),
                concat!("lea {}, [rip + jeshim_own_", $name, "]"),
                out(reg) first, out(reg) own, options(nostack, pure, readonly, preserves_flags));
        }
        #[cfg(all(target_arch = "aarch64", not(test)))]
        // SAFETY: as above.
        unsafe {
            core::arch::asm!(
                concat!("adrp {0}, :got:", $name),
                concat!("ldr {0}, [{0}, :got_lo12:", $name, "]"),
                concat!("adrp {1}, jeshim_own_", $name),
                concat!("add {1}, {1}, :lo12:jeshim_own_", $name),
                out(reg) first, out(reg) own, options(nostack, pure, readonly, preserves_flags));
        }
        // Not written for other processors, and not there in unit tests.
        #[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
        {
            (first, own) = (0, 0);
        }
        first != own
    }};
}

/// Whether the nothrow forms have to be left to the C++ runtime: the standard has them call operator new, and the
/// program has its own. The runtime's forms do call it, and catch what it throws; we could not.
fn new_is_replaced() -> bool {
    is_replaced!("_Znwm") || is_replaced!("_Znam")
}

/// The same for the aligned forms.
fn aligned_new_is_replaced() -> bool {
    is_replaced!("_ZnwmSt11align_val_t") || is_replaced!("_ZnamSt11align_val_t")
}

/// NULL leads to the runtime's form.
unsafe extern "C" fn allocate_nothrow(size: usize) -> Ptr {
    if new_is_replaced() {
        return null_mut();
    }
    // SAFETY: any size may be asked for.
    unsafe { je::malloc(size) }
}

/// aligned_alloc with the operators' order of arguments.
unsafe extern "C" fn allocate_aligned(size: usize, alignment: usize) -> Ptr {
    // SAFETY: any size may be asked for, and a bad alignment gives NULL.
    unsafe { je::aligned_alloc(alignment, size) }
}

unsafe extern "C" fn allocate_aligned_nothrow(size: usize, alignment: usize) -> Ptr {
    if aligned_new_is_replaced() {
        return null_mut();
    }
    // SAFETY: as above.
    unsafe { allocate_aligned(size, alignment) }
}

/// libstdc++ rounds the size of an aligned block up without looking for overflow, and would answer SIZE_MAX with a
/// few bytes: what no allocator can serve goes to the form without alignment, which fails as it should.
fn for_size(size: usize, aligned: &'static Operator, plain: &'static Operator) -> &'static Operator {
    if isize::try_from(size).is_ok() { aligned } else { plain }
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
        mov rdi, [rsp]
        mov rsi, [rsp + 8]
        call {next}
        pop rdi
        .cfi_adjust_cfa_offset -8
        jmp rax
        .cfi_endproc
        "
    };
}

/// Any operator new of up to three arguments.
#[cfg(target_arch = "x86_64")]
macro_rules! general {
    () => {
        "
        .cfi_startproc
        sub rsp, 24
        .cfi_adjust_cfa_offset 24
        mov [rsp], rdi
        mov [rsp + 8], rsi
        mov [rsp + 16], rdx
        call {allocate}
        test rax, rax
        jz 2f
        add rsp, 24
        .cfi_remember_state
        .cfi_adjust_cfa_offset -24
        ret
    2:
        .cfi_restore_state
        mov rdi, [rsp]
        mov rsi, [rsp + 24]
        call {next}
        mov rdi, [rsp]
        mov rsi, [rsp + 8]
        mov rdx, [rsp + 16]
        add rsp, 24
        .cfi_adjust_cfa_offset -24
        jmp rax
        .cfi_endproc
        "
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! general {
    () => {
        "
        .cfi_startproc
        stp x0, x30, [sp, #-32]!
        .cfi_adjust_cfa_offset 32
        .cfi_rel_offset x30, 8
        stp x1, x2, [sp, #16]
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
        ldp x0, x1, [sp]
        bl {next}
        mov x16, x0
        ldp x1, x2, [sp, #16]
        ldp x0, x30, [sp], #32
        .cfi_adjust_cfa_offset -32
        .cfi_restore x30
        br x16
        .cfi_endproc
        "
    };
}
#[cfg(target_arch = "aarch64")]
use general as plain;

/// An operator: its shape, the function that allocates, and where to go on when that gives NULL.
macro_rules! operator {
    ($operator:ident($($p:ident: $t:ty),*): $shape:ident, $allocate:path, ($($a:ident),*), else |$size:ident| $next:expr) => {
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        #[unsafe(naked)]
        pub(super) unsafe extern "C" fn $operator($($p: $t),*) -> Ptr {
            extern "C" fn next($size: usize, caller: *const c_void) -> usize {
                let next: &'static Operator = $next;
                next.next_for(caller)
            }
            core::arch::naked_asm!($shape!(), allocate = sym $allocate, next = sym next)
        }

        /// Without the jump an exception cannot pass this frame, and ends the process.
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        pub(super) unsafe extern "C" fn $operator($($p: $t),*) -> Ptr {
            // SAFETY: any size may be asked for, and a bad alignment gives NULL.
            let ptr = unsafe { $allocate($($a),*) };
            if !ptr.is_null() {
                return ptr;
            }
            let next: &'static Operator = { let $size = size; $next };
            // SAFETY: an operator with the same signature, or a function that looks at no argument.
            unsafe { core::mem::transmute::<usize, unsafe extern "C" fn($($t),*) -> Ptr>(next.next_for(core::ptr::null()))($($p),*) }
        }
    };
}

operator!(new(size: usize): plain, je::malloc, (size), else |_size| &NEW);
operator!(new_nothrow(size: usize, tag: Ptr): general, allocate_nothrow, (size), else |_size| &NOTHROW);
operator!(new_array_nothrow(size: usize, tag: Ptr): general, allocate_nothrow, (size), else |_size| &ARRAY_NOTHROW);
operator!(new_aligned(size: usize, alignment: usize): general, allocate_aligned, (size, alignment),
    else |size| for_size(size, &ALIGNED, &NEW));
operator!(new_aligned_nothrow(size: usize, alignment: usize, tag: Ptr): general, allocate_aligned_nothrow, (size, alignment),
    else |size| for_size(size, &ALIGNED_NOTHROW, &NOTHROW));
operator!(new_array_aligned_nothrow(size: usize, alignment: usize, tag: Ptr): general, allocate_aligned_nothrow, (size, alignment),
    else |size| for_size(size, &ARRAY_ALIGNED_NOTHROW, &ARRAY_NOTHROW));

/// operator delete(ptr, size, alignment): the form without the size, of the program if it has one.
macro_rules! delete_without_size {
    ($operator:ident, $first:literal) => {
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        pub(super) unsafe extern "C" fn $operator(ptr: Ptr, size: usize, alignment: usize) {
            core::arch::naked_asm!("mov rsi, rdx", jump_to_first!($first))
        }
        #[cfg(target_arch = "aarch64")]
        #[unsafe(naked)]
        pub(super) unsafe extern "C" fn $operator(ptr: Ptr, size: usize, alignment: usize) {
            core::arch::naked_asm!("mov x1, x2", jump_to_first!($first))
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        pub(super) unsafe extern "C" fn $operator(ptr: Ptr, _size: usize, _alignment: usize) {
            // SAFETY: the caller's promise is that of free.
            unsafe { je::free(ptr) }
        }
    };
}
delete_without_size!(delete_sized_aligned, "_ZdlPvSt11align_val_t");
delete_without_size!(delete_array_sized_aligned, "_ZdaPvSt11align_val_t");
