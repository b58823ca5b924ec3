//! `/proc/PID/smaps` (`man 5 proc_pid_smaps`).
//!
//! Read here and not by procfs: file names need not be UTF-8, which it refuses, and a file named `/SYSV` is one on which
//! it panics.

use crate::live::Mapping;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// All mappings in the order of their addresses. Lines that make no sense are left out.
pub(crate) fn parse(text: &[u8]) -> Vec<Mapping> {
    let mut mappings: Vec<Mapping> = Vec::new();
    for line in text.split(|byte| *byte == b'\n') {
        // Attributes begin with a capital letter, addresses are written with small ones.
        if line.first().is_some_and(u8::is_ascii_uppercase) {
            if let (Some(mapping), Some(bytes)) = (mappings.last_mut(), private(line)) {
                mapping.private = mapping.private.saturating_add(bytes);
            }
        } else if let Some(mapping) = mapping(line) {
            mappings.push(mapping);
        }
    }
    mappings
}

/// `7f5c8e400000-7f5c8e428000 r--p 00000000 fe:01 1234   /usr/lib/libc.so.6`
fn mapping(line: &[u8]) -> Option<Mapping> {
    let mut words = line.splitn(6, |byte| *byte == b' ').map(|word| std::str::from_utf8(word).ok());
    let (start, end) = words.next()??.split_once('-')?;
    let modes = words.next()??.as_bytes();
    let offset = words.next()??;
    let (major, minor) = words.next()??.split_once(':')?;
    let inode = words.next()??;
    // The name is whatever follows the blanks after the inode, as bytes.
    let name = line.splitn(6, |byte| *byte == b' ').nth(5).unwrap_or_default().trim_ascii_start();
    let hexadecimal = |text| u64::from_str_radix(text, 16).ok();
    let has = |index: usize, mode| modes.get(index) == Some(&mode);
    Some(Mapping {
        start: hexadecimal(start)?,
        end: hexadecimal(end)?,
        readable: has(0, b'r'),
        writable: has(1, b'w'),
        executable: has(2, b'x'),
        shared: has(3, b's'),
        offset: hexadecimal(offset)?,
        device: (u32::from_str_radix(major, 16).ok()?, u32::from_str_radix(minor, 16).ok()?),
        inode: inode.parse().ok()?,
        name: OsString::from_vec(name.to_vec()),
        private: 0,
    })
}

/// The bytes of an attribute that counts memory of this process alone.
fn private(line: &[u8]) -> Option<u64> {
    let (name, value) = std::str::from_utf8(line).ok()?.split_once(':')?;
    if !matches!(name, "Private_Clean" | "Private_Dirty" | "Private_Hugetlb" | "Swap") {
        return None;
    }
    value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bytes_and_attributes_belong_to_the_mapping_above() {
        let text = b"55d0c0000000-55d0c0001000 r-xp 00001000 fe:01 42                         /a b\xff (deleted)\n\
            Size:                  4 kB\nPrivate_Clean:         4 kB\nPrivate_Dirty:        12 kB\nSwap:  8 kB\n\
            VmFlags: rd ex mr mw me\n\
            7f0000000000-7f0000021000 rw-s 00000000 00:00 0 \nPrivate_Dirty: 1 kB\n\
            7f0000021000-7f0000022000 ---p 00000000 00:00 0 /SYSV\nSwapPss: 5 kB\n";
        let mappings = parse(text);
        assert_eq!(mappings.len(), 3);
        assert_eq!((mappings[0].private, mappings[1].private, mappings[2].private), (24 << 10, 1 << 10, 0));
        assert_eq!(mappings[0].name.as_encoded_bytes(), b"/a b\xff (deleted)");
        assert_eq!((mappings[0].device, mappings[0].inode, mappings[0].offset), ((0xfe, 1), 42, 0x1000));
        assert!(mappings[0].executable && !mappings[0].writable && !mappings[0].shared);
        assert!(mappings[1].shared && mappings[1].is_anonymous() && mappings[2].is_forbidden());
    }

    #[test]
    fn nonsense_is_left_out() {
        assert!(parse(b"\n-\nxyz\n1-2\n1-2 r--p\nPrivate_Clean: 3 kB\n1-2 r--p 0 0 0 x\n\xff\xfe").is_empty());
        let huge = b"0-1 ---p 0 0:0 0\nSwap: 18446744073709551615 kB\nSwap: 99999999999999999999 kB\n";
        assert_eq!(parse(huge)[0].private, 0);
    }
}
