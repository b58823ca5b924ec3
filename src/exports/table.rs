//! Every name the library exports, one line each: the one table.
//!
//! `exports!(callback)` hands the whole table to `callback!`. The library expands it into the exported functions and
//! into the list of names that the proof record looks up (`exports/mod.rs`); `tests/exports.rs` expands it into the
//! list that `nm -D` must show, nothing more and nothing less.
//!
//! A line reads `name(parameters) -> result = what it jumps to(arguments);`. The arguments are the parameters, or the
//! first of them: a jump leaves every register as it is. C++ names carry the width of `size_t` in their mangling, so
//! those lines give both: `_Znwm / _Znwj` for 64 and 32 bits. `Ptr` is `void *`.
//!
//! `first::` stands before a name that a program may define itself: the jump goes to the first definition in the order
//! of lookup, the program's if it has one, else ours.
//!
//! The group `system` takes the place of names that libc and libstdc++ define, where symbols interpose (ELF). On macOS
//! the system's names stay the system's, and lead to jemalloc through its zone.

/// Hands the table to the macro that the argument names.
macro_rules! exports {
    ($callback:ident) => {
        $callback! {
            system {
                // C, POSIX and BSD.
                malloc(size: usize) -> Ptr = je::malloc(size);
                calloc(count: usize, size: usize) -> Ptr = je::calloc(count, size);
                realloc(ptr: Ptr, size: usize) -> Ptr = je::realloc(ptr, size);
                free(ptr: Ptr) -> () = je::free(ptr);
                aligned_alloc(alignment: usize, size: usize) -> Ptr = je::aligned_alloc(alignment, size);
                posix_memalign(out: *mut Ptr, alignment: usize, size: usize) -> c_int = je::posix_memalign(out, alignment, size);
                memalign(alignment: usize, size: usize) -> Ptr = system::memalign(alignment, size);
                valloc(size: usize) -> Ptr = system::valloc(size);
                pvalloc(size: usize) -> Ptr = system::pvalloc(size);
                reallocarray(ptr: Ptr, count: usize, size: usize) -> Ptr = system::reallocarray(ptr, count, size);
                malloc_usable_size(ptr: Ptr) -> usize = je::malloc_usable_size(ptr);
                free_sized(ptr: Ptr, size: usize) -> () = je::free(ptr);
                free_aligned_sized(ptr: Ptr, alignment: usize, size: usize) -> () = je::free(ptr);
                cfree(ptr: Ptr) -> () = je::free(ptr);

                // glibc's second set of names: left to glibc they would serve its own, second heap, and
                // free(__libc_malloc(n)) would crash.
                __libc_malloc(size: usize) -> Ptr = je::malloc(size);
                __libc_calloc(count: usize, size: usize) -> Ptr = je::calloc(count, size);
                __libc_realloc(ptr: Ptr, size: usize) -> Ptr = je::realloc(ptr, size);
                __libc_free(ptr: Ptr) -> () = je::free(ptr);
                __libc_memalign(alignment: usize, size: usize) -> Ptr = system::memalign(alignment, size);
                __libc_valloc(size: usize) -> Ptr = system::valloc(size);
                __libc_pvalloc(size: usize) -> Ptr = system::pvalloc(size);
                __posix_memalign(out: *mut Ptr, alignment: usize, size: usize) -> c_int = je::posix_memalign(out, alignment, size);

                // glibc's control and statistics, with jemalloc's answers.
                malloc_trim(pad: usize) -> c_int = glibc::malloc_trim(pad);
                mallinfo() -> libc::mallinfo = glibc::mallinfo();
                mallinfo2() -> glibc::Mallinfo2 = glibc::mallinfo2();
                malloc_stats() -> () = glibc::malloc_stats();
                malloc_info(options: c_int, stream: *mut FILE) -> c_int = glibc::malloc_info(options, stream);
                mallopt(parameter: c_int, value: c_int) -> c_int = glibc::mallopt(parameter, value);

                // C++ operator new: plain, nothrow, aligned, aligned nothrow; then new[], which calls new, as the
                // standard has it.
                _Znwm / _Znwj(size: usize) -> Ptr = cxx::new(size);
                _ZnwmRKSt9nothrow_t / _ZnwjRKSt9nothrow_t(size: usize, tag: Ptr) -> Ptr = cxx::new_nothrow(size, tag);
                _ZnwmSt11align_val_t / _ZnwjSt11align_val_t(size: usize, alignment: usize) -> Ptr = cxx::new_aligned(size, alignment);
                _ZnwmSt11align_val_tRKSt9nothrow_t / _ZnwjSt11align_val_tRKSt9nothrow_t(size: usize, alignment: usize, tag: Ptr) -> Ptr = cxx::new_aligned_nothrow(size, alignment, tag);
                _Znam / _Znaj(size: usize) -> Ptr = first::_Znwm / _Znwj(size);
                _ZnamRKSt9nothrow_t / _ZnajRKSt9nothrow_t(size: usize, tag: Ptr) -> Ptr = cxx::new_array_nothrow(size, tag);
                _ZnamSt11align_val_t / _ZnajSt11align_val_t(size: usize, alignment: usize) -> Ptr = first::_ZnwmSt11align_val_t / _ZnwjSt11align_val_t(size, alignment);
                _ZnamSt11align_val_tRKSt9nothrow_t / _ZnajSt11align_val_tRKSt9nothrow_t(size: usize, alignment: usize, tag: Ptr) -> Ptr = cxx::new_array_aligned_nothrow(size, alignment, tag);

                // C++ operator delete and delete[]. Each derived form calls the form that the standard says, and that
                // a program may have replaced. None of ours trusts the size or the alignment it is given: a wrong
                // one, or a zero-size over-aligned block, would be filed in the wrong size class and corrupt the heap
                // (jemalloc#2353).
                _ZdlPv(ptr: Ptr) -> () = je::free(ptr);
                _ZdlPvm / _ZdlPvj(ptr: Ptr, size: usize) -> () = first::_ZdlPv(ptr);
                _ZdlPvRKSt9nothrow_t(ptr: Ptr, tag: Ptr) -> () = first::_ZdlPv(ptr);
                _ZdaPv(ptr: Ptr) -> () = first::_ZdlPv(ptr);
                _ZdaPvm / _ZdaPvj(ptr: Ptr, size: usize) -> () = first::_ZdaPv(ptr);
                _ZdaPvRKSt9nothrow_t(ptr: Ptr, tag: Ptr) -> () = first::_ZdaPv(ptr);
                _ZdlPvSt11align_val_t(ptr: Ptr, alignment: usize) -> () = je::free(ptr);
                _ZdlPvSt11align_val_tRKSt9nothrow_t(ptr: Ptr, alignment: usize, tag: Ptr) -> () = first::_ZdlPvSt11align_val_t(ptr, alignment);
                _ZdlPvmSt11align_val_t / _ZdlPvjSt11align_val_t(ptr: Ptr, size: usize, alignment: usize) -> () = cxx::delete_sized_aligned(ptr, size, alignment);
                _ZdaPvSt11align_val_t(ptr: Ptr, alignment: usize) -> () = first::_ZdlPvSt11align_val_t(ptr, alignment);
                _ZdaPvSt11align_val_tRKSt9nothrow_t(ptr: Ptr, alignment: usize, tag: Ptr) -> () = first::_ZdaPvSt11align_val_t(ptr, alignment);
                _ZdaPvmSt11align_val_t / _ZdaPvjSt11align_val_t(ptr: Ptr, size: usize, alignment: usize) -> () = cxx::delete_array_sized_aligned(ptr, size, alignment);

                // Not allocation: the guard against RTLD_DEEPBIND.
                dlopen(path: *const c_char, flags: c_int) -> Ptr = deepbind::dlopen(path, flags);
            }
            jemalloc {
                // jemalloc's own interface, under the names that folly, RocksDB, MariaDB and redis look up.
                mallocx(size: usize, flags: c_int) -> Ptr = je::mallocx(size, flags);
                rallocx(ptr: Ptr, size: usize, flags: c_int) -> Ptr = je::rallocx(ptr, size, flags);
                xallocx(ptr: Ptr, size: usize, extra: usize, flags: c_int) -> usize = je::xallocx(ptr, size, extra, flags);
                sallocx(ptr: Ptr, flags: c_int) -> usize = je::sallocx(ptr, flags);
                dallocx(ptr: Ptr, flags: c_int) -> () = je::dallocx(ptr, flags);
                sdallocx(ptr: Ptr, size: usize, flags: c_int) -> () = je::sdallocx(ptr, size, flags);
                nallocx(size: usize, flags: c_int) -> usize = je::nallocx(size, flags);
                mallctl(name: *const c_char, old: Ptr, old_size: *mut usize, new: Ptr, new_size: usize) -> c_int = je::mallctl(name, old, old_size, new, new_size);
                mallctlnametomib(name: *const c_char, mib: *mut usize, length: *mut usize) -> c_int = je::mallctlnametomib(name, mib, length);
                mallctlbymib(mib: *const usize, length: usize, old: Ptr, old_size: *mut usize, new: Ptr, new_size: usize) -> c_int = je::mallctlbymib(mib, length, old, old_size, new, new_size);
                malloc_stats_print(write: Option<unsafe extern "C" fn(Ptr, *const c_char)>, opaque: Ptr, options: *const c_char) -> () = je::malloc_stats_print(write, opaque, options);
            }
            data {
                // An executable's own definitions of these come before ours, and are then the ones we read.
                malloc_conf;
                malloc_conf_2_conf_harder;
                malloc_message;
            }
        }
    };
}
