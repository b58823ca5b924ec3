//! What the kernel makes of the file of a program, before anything of it runs: `man 2 execve`, `man 7 capabilities`.

use crate::executable::Privilege;
use nix::sys::prctl;
use rustix::fs::{Access, StatVfsMountFlags};
use std::fs::Metadata;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// `#!` lines that the kernel follows one after the other (`exec_binprm` in `fs/exec.c`; tried on Linux 6.18).
pub const MOST_INTERPRETERS: usize = 5;
/// As much of a file's start does the kernel look at, in bytes, `#!` included (BINPRM_BUF_SIZE).
pub const FIRST_LINE: usize = 256;
/// Where programs are looked for when PATH is not set (`confstr(_CS_PATH)`).
pub const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Whether this process may execute the file.
pub fn may_execute(path: &Path) -> bool {
    rustix::fs::access(path, Access::EXEC_OK).is_ok()
}

/// What this process would gain by executing the file. Root gains nothing by what belongs to root, nor by capabilities.
pub fn privilege(path: &Path, metadata: &Metadata) -> Option<Privilege> {
    let nosuid = rustix::fs::statvfs(path).is_ok_and(|system| system.f_flag.contains(StatVfsMountFlags::NOSUID));
    if nosuid {
        return None;
    }
    // Under no_new_privs these bits are passed over, and the program starts as any other. Capabilities are not given
    // either, and yet the kernel tells the dynamic linker to be careful (`cap_bprm_creds_from_file` in
    // `security/commoncap.c`; tried on Linux 6.18).
    let obeys_bits = !prctl::get_no_new_privs().unwrap_or(false);
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let mode = metadata.permissions().mode();
    if obeys_bits && mode & libc::S_ISUID != 0 && metadata.uid() != user {
        return Some(Privilege::User(metadata.uid()));
    }
    // Without the right to execute, this bit once meant mandatory locks.
    let setgid = libc::S_ISGID | libc::S_IXGRP;
    if obeys_bits && mode & setgid == setgid && metadata.gid() != group {
        return Some(Privilege::Group(metadata.gid()));
    }
    (user != 0 && has_capabilities(path)).then_some(Privilege::Capabilities)
}

/// Whether the file gives capabilities (`struct vfs_cap_data` in `linux/capability.h`).
fn has_capabilities(path: &Path) -> bool {
    let mut value = [0_u8; 32];
    let Ok(length) = rustix::fs::getxattr(path, "security.capability", &mut value) else { return false };
    let word = |at: usize| {
        let bytes = value.get(at..at + 4).filter(|_| at + 4 <= length)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    };
    let effective = word(0).unwrap_or(0) & 1 != 0;
    let permitted = word(4).unwrap_or(0) | word(12).unwrap_or(0);
    effective || permitted != 0
}
