//! The clock, read without entering the kernel and without libc.
//!
//! jemalloc asks for the time after every 64 KiB that a thread allocates (tcache.c, `tcache_gc_event`): a system call
//! each time is measurable, and libc's function may be interposed (libfaketime). The kernel maps the same function
//! that libc uses into every process, as a small ELF object (man 7 vdso).

use super::kernel::{self, minus_one};
use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicUsize, Ordering};

type ClockGettime = unsafe extern "C" fn(c_int, *mut libc::timespec) -> c_int;

/// clock_gettime(2), with -1 for every error; errno is left alone. Takes no lock and calls no libc function that
/// anybody interposes.
///
/// # Safety
/// `time` is writable.
pub unsafe fn clock_gettime(clock: c_int, time: *mut libc::timespec) -> c_int {
    /// Not looked for yet.
    const UNKNOWN: usize = 0;
    /// Looked for, and not there.
    const NONE: usize = 1;
    static FUNCTION: AtomicUsize = AtomicUsize::new(UNKNOWN);

    let mut function = FUNCTION.load(Ordering::Relaxed);
    if function == UNKNOWN {
        function = find().unwrap_or(NONE);
        FUNCTION.store(function, Ordering::Relaxed);
    }
    if function != NONE {
        // SAFETY: the address of the kernel's function, which has this type (man 7 vdso).
        let function = unsafe { core::mem::transmute::<usize, ClockGettime>(function) };
        // SAFETY: the caller's promise.
        if unsafe { function(clock, time) } == 0 {
            return 0;
        }
    }
    // SAFETY: the caller's promise.
    let answer = unsafe { kernel::syscall(libc::SYS_clock_gettime, [clock as usize, time as usize, 0, 0, 0, 0]) };
    minus_one(answer) as c_int
}

#[cfg(target_arch = "x86_64")]
const NAME: &CStr = c"__vdso_clock_gettime";
#[cfg(target_arch = "aarch64")]
const NAME: &CStr = c"__kernel_clock_gettime";

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn find() -> Option<usize> {
    None
}

/// The address of the kernel's function.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn find() -> Option<usize> {
    // SAFETY: getauxval only reads the vector that the kernel gave to the process.
    let base = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } as usize;
    if base == 0 {
        return None;
    }
    // SAFETY: the kernel mapped an ELF object there, readable, for the life of the process; everything that is read
    // below lies in it by the rules of that format (man 5 elf).
    unsafe {
        let header = &*(base as *const libc::Elf64_Ehdr);
        let segments = (base + header.e_phoff as usize) as *const libc::Elf64_Phdr;
        let (mut moved_by, mut dynamic) = (None, None);
        for index in 0..usize::from(header.e_phnum) {
            let segment = &*segments.add(index);
            match segment.p_type {
                libc::PT_LOAD if moved_by.is_none() => {
                    moved_by = Some((base + segment.p_offset as usize).wrapping_sub(segment.p_vaddr as usize));
                }
                libc::PT_DYNAMIC => dynamic = Some((base + segment.p_offset as usize) as *const [usize; 2]),
                _ => {}
            }
        }
        let (moved_by, mut entry) = (moved_by?, dynamic?);
        let mut tables = Tables { strings: 0, symbols: 0, hash: 0, gnu_hash: 0 };
        loop {
            let [tag, value] = *entry;
            let address = moved_by.wrapping_add(value);
            match tag {
                0 => break,
                4 => tables.hash = address,
                5 => tables.strings = address,
                6 => tables.symbols = address,
                0x6fff_fef5 => tables.gnu_hash = address,
                _ => {}
            }
            entry = entry.add(1);
        }
        tables.find().map(|value| moved_by.wrapping_add(value))
    }
}

/// Where an object's tables are: DT_STRTAB, DT_SYMTAB, and DT_HASH or DT_GNU_HASH; 0 for none.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
struct Tables {
    strings: usize,
    symbols: usize,
    hash: usize,
    gnu_hash: usize,
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
impl Tables {
    /// The value of the symbol NAME.
    ///
    /// # Safety
    /// The tables are those of a mapped object.
    unsafe fn find(&self) -> Option<usize> {
        if self.strings == 0 || self.symbols == 0 {
            return None;
        }
        // SAFETY: the caller's promise; the layout of both hash tables is that of the ELF and GNU specifications.
        unsafe {
            if self.hash != 0 {
                let chains = *((self.hash as *const u32).add(1)) as usize;
                return (0..chains).find_map(|index| self.value_if_named(index));
            }
            if self.gnu_hash != 0 {
                let table = self.gnu_hash as *const u32;
                let (buckets, first, bloom_words) = (*table as usize, *table.add(1) as usize, *table.add(2) as usize);
                let bucket = table.add(4 + bloom_words * (size_of::<usize>() / size_of::<u32>()));
                let chain = bucket.add(buckets);
                let hash = NAME
                    .to_bytes()
                    .iter()
                    .fold(5381_u32, |hash, byte| hash.wrapping_mul(33).wrapping_add(u32::from(*byte)));
                let mut index = *bucket.add((hash as usize).checked_rem(buckets)?) as usize;
                while index >= first {
                    if let Some(value) = self.value_if_named(index) {
                        return Some(value);
                    }
                    if *chain.add(index - first) & 1 == 1 {
                        break;
                    }
                    index += 1;
                }
            }
            None
        }
    }

    /// The value of a symbol when it is defined and its name is NAME.
    ///
    /// # Safety
    /// As for `find`, and the symbol exists.
    unsafe fn value_if_named(&self, index: usize) -> Option<usize> {
        // SAFETY: the caller's promise.
        unsafe {
            let symbol = &*(self.symbols as *const libc::Elf64_Sym).add(index);
            let name = CStr::from_ptr((self.strings + symbol.st_name as usize) as *const c_char);
            (symbol.st_shndx != 0 && name == NAME).then_some(symbol.st_value as usize)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;

    #[test]
    fn the_kernels_function_is_found_and_tells_the_same_time() {
        assert!(find().is_some(), "no vdso, or its tables are not understood");
        let mut ours = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let mut theirs = ours;
        // SAFETY: both are writable.
        unsafe {
            assert_eq!(clock_gettime(libc::CLOCK_MONOTONIC, &mut ours), 0);
            assert_eq!(libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut theirs), 0);
        }
        assert!((0..=5).contains(&(theirs.tv_sec - ours.tv_sec)), "{} {}", ours.tv_sec, theirs.tv_sec);
    }

    #[test]
    fn an_unknown_clock_is_an_error() {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: writable.
        assert_eq!(unsafe { clock_gettime(9999, &mut time) }, -1);
    }
}
