//! System calls that enter the kernel directly.
//!
//! Not through libc: every function of it may be interposed by another preloaded library, which may allocate in
//! there. Called by jemalloc while it holds its init lock, that is a deadlock (jemalloc#443, #916, #329,
//! fakechroot#21; libfaketime interposes clock_gettime, torsocks `syscall` and close, fakechroot readlink). It also
//! keeps errno as it is, which `free` promises.

use crate::Errno;
use core::ffi::{CStr, c_int, c_long, c_void};

/// One system call, with up to six arguments.
///
/// Returns the kernel's answer: negative error numbers in -4095..0 are errors. errno is not touched on x86-64 and
/// aarch64; elsewhere libc's `syscall` is used, and does.
///
/// # Safety
/// As the named system call demands of its arguments.
#[inline]
pub unsafe fn syscall(number: c_long, args: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = args;
    #[cfg(target_arch = "x86_64")]
    {
        let result: isize;
        // SAFETY: the kernel's calling convention (man 2 syscall): number in rax, arguments in rdi, rsi, rdx, r10,
        // r8, r9; rcx and r11 are lost. That memory passed in is valid is the caller's promise.
        unsafe {
            core::arch::asm!("syscall", inlateout("rax") number as isize => result,
                in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
                lateout("rcx") _, lateout("r11") _, options(nostack));
        }
        result
    }
    #[cfg(target_arch = "aarch64")]
    {
        let result: isize;
        // SAFETY: the kernel's calling convention (man 2 syscall): number in x8, arguments in x0 to x5. That memory
        // passed in is valid is the caller's promise.
        unsafe {
            core::arch::asm!("svc 0", in("x8") number, inlateout("x0") a as isize => result,
                in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f, options(nostack));
        }
        result
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        // SAFETY: the caller's promise is that of this function.
        let result = unsafe { libc::syscall(number, a, b, c, d, e, f) } as isize;
        // SAFETY: errno's address is valid in every thread.
        if result == -1 { -(unsafe { *libc::__errno_location() } as isize) } else { result }
    }
}

/// The answer of a system call as a result.
///
/// # Errors
/// The kernel's error number.
pub fn checked(answer: isize) -> Result<usize, Errno> {
    if (-4095..0).contains(&answer) { Err(Errno(-answer as i32)) } else { Ok(answer as usize) }
}

/// The answer of a system call as C functions give it: -1 for every error. errno is left alone.
#[must_use]
pub fn minus_one(answer: isize) -> isize {
    if (-4095..0).contains(&answer) { -1 } else { answer }
}

/// Opens a file, close-on-exec. `flags` and `mode` as for open(2).
///
/// # Errors
/// The kernel's error number.
pub fn open(path: &CStr, flags: c_int, mode: u32) -> Result<c_int, Errno> {
    let flags = flags | libc::O_CLOEXEC;
    // SAFETY: `path` is a valid C string.
    let answer = unsafe {
        syscall(
            libc::SYS_openat,
            [libc::AT_FDCWD as usize, path.as_ptr() as usize, flags as usize, mode as usize, 0, 0],
        )
    };
    checked(answer).map(|fd| fd as c_int)
}

/// Closes a descriptor. Errors mean nothing to a caller that is done with it.
pub fn close(fd: c_int) {
    // SAFETY: no memory is passed.
    unsafe { syscall(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]) };
}

/// Reads until the buffer is full or the file ends; the number of bytes read.
///
/// # Errors
/// The kernel's error number.
pub fn read(fd: c_int, buffer: &mut [u8]) -> Result<usize, Errno> {
    let mut filled = 0;
    while let Some(room) = buffer.get_mut(filled..).filter(|room| !room.is_empty()) {
        let (start, length) = (room.as_mut_ptr() as usize, room.len());
        // SAFETY: `room` is writable for `length` bytes.
        let answer = unsafe { syscall(libc::SYS_read, [fd as usize, start, length, 0, 0, 0]) };
        match checked(answer) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(Errno(libc::EINTR)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Reads the start of a file; `None` when it cannot be opened or read.
pub fn read_file<'b>(path: &CStr, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    let fd = open(path, libc::O_RDONLY, 0).ok()?;
    let result = read(fd, buffer);
    close(fd);
    buffer.get(..result.ok()?)
}

/// Writes everything.
///
/// # Errors
/// The kernel's error number; a part may have been written.
pub fn write_all(fd: c_int, bytes: &[u8]) -> Result<(), Errno> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let (start, length) = (rest.as_ptr() as usize, rest.len());
        // SAFETY: `rest` is readable for `length` bytes.
        let answer = unsafe { syscall(libc::SYS_write, [fd as usize, start, length, 0, 0, 0]) };
        match checked(answer) {
            Ok(count) => rest = rest.get(count..).unwrap_or(&[]),
            Err(Errno(libc::EINTR)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The target of a symbolic link, cut to the buffer.
pub fn read_link<'b>(path: &CStr, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    let (start, length) = (buffer.as_mut_ptr() as usize, buffer.len());
    // SAFETY: `path` is a C string and `buffer` is writable for `length` bytes.
    let answer = unsafe {
        syscall(libc::SYS_readlinkat, [libc::AT_FDCWD as usize, path.as_ptr() as usize, start, length, 0, 0])
    };
    buffer.get(..checked(answer).ok()?)
}

/// The number of CPUs this thread may run on; `None` when the kernel has more than the buffer holds (8192).
#[must_use]
pub fn affinity() -> Option<u32> {
    let mut mask = [0_u64; 128];
    let size = size_of_val(&mask);
    // SAFETY: `mask` is writable for `size` bytes.
    let answer = unsafe { syscall(libc::SYS_sched_getaffinity, [0, size, mask.as_mut_ptr() as usize, 0, 0, 0]) };
    checked(answer).ok()?;
    Some(mask.iter().map(|word| word.count_ones()).sum())
}

#[cfg(target_pointer_width = "64")]
const SYS_MMAP: c_long = libc::SYS_mmap;
/// Counts the offset in units of 4096 bytes.
#[cfg(target_pointer_width = "32")]
const SYS_MMAP: c_long = libc::SYS_mmap2;

/// Memory mapped from a file, readable, writable and shared.
///
/// # Errors
/// The kernel's error number.
pub fn map_shared(fd: c_int, length: usize) -> Result<*mut c_void, Errno> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let arguments = [0, length, protection as usize, libc::MAP_SHARED as usize, fd as usize, 0];
    // SAFETY: no address is asked for, so that nothing that exists is mapped over.
    let answer = unsafe { syscall(SYS_MMAP, arguments) };
    checked(answer).map(|address| address as *mut c_void)
}

/// Whether that many bytes of address space can be had at this moment.
#[must_use]
pub fn can_map(length: usize) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // As jemalloc will: what may not be written to counts against fewer limits.
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let arguments = [0, length, protection as usize, flags as usize, usize::MAX, 0];
    // SAFETY: as in `map_shared`; what was mapped is given back at once.
    match checked(unsafe { syscall(SYS_MMAP, arguments) }) {
        // SAFETY: nobody else knows the mapping.
        Ok(address) => checked(unsafe { syscall(libc::SYS_munmap, [address, length, 0, 0, 0, 0]) }).is_ok(),
        Err(_) => false,
    }
}
