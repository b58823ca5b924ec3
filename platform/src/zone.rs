//! What can be known of the malloc zone that comes first (macOS).

use core::ffi::CStr;

/// The malloc zone that the system's `malloc` leads to, on macOS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Its name.
    pub name: &'static CStr,
    /// Whether it lies in this library. The name alone says little: every jemalloc's zone has the same.
    pub is_ours: bool,
    /// What it says about the size of a block that `malloc(100)` gave: 0 when the block is not its own.
    pub size: usize,
    /// What this library's jemalloc makes of 100 bytes.
    pub expected: usize,
}

impl Zone {
    /// Whether `malloc` was seen to be served by this library.
    #[must_use]
    pub fn serves(&self) -> bool {
        self.is_ours && self.size == self.expected && self.expected != 0
    }

    /// Why `malloc` is not served by this library, and what to do about it; `None` when it is.
    #[must_use]
    pub fn cause_and_remedy(&self) -> Option<(&'static str, &'static str)> {
        if self.serves() {
            return None;
        }
        Some(match self.name.to_bytes() {
            _ if self.is_ours => (
                "jemalloc's zone comes first, but malloc is answered by something before all zones",
                "run without malloc stack logging (unset MallocStackLogging)",
            ),
            b"jemalloc_zone" => (
                "another jemalloc came first; jemalloc registers only in front of the system's own zone",
                "insert this library at launch, before any other allocator",
            ),
            b"DefaultMallocZone" => (
                "the system's zone still comes first: jemalloc's was not registered, or was put behind it again",
                "insert this library at launch; do not load it later",
            ),
            b"" => ("the list of malloc zones cannot be read", "report this as a defect of jeshim"),
            _ => (
                "another allocator's zone comes first (a sanitizer or a guard of the system's); jemalloc registers \
                 only in front of the system's own zone",
                "run without that allocator",
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: Zone = Zone { name: c"jemalloc_zone", is_ours: true, size: 112, expected: 112 };

    #[test]
    fn serves_only_when_the_zone_is_ours_and_owns_a_fresh_block() {
        assert!(OURS.serves());
        assert_eq!(OURS.cause_and_remedy(), None);
        let others = [
            Zone { is_ours: false, ..OURS },
            Zone { size: 0, ..OURS },
            Zone { size: 0, expected: 0, ..OURS },
            Zone { name: c"DefaultMallocZone", is_ours: false, size: 112, expected: 112 },
            Zone { name: c"asan", is_ours: false, size: 100, expected: 112 },
            Zone { name: c"", is_ours: false, size: 0, expected: 112 },
        ];
        for zone in others {
            assert!(!zone.serves(), "{zone:?}");
            assert!(zone.cause_and_remedy().is_some(), "{zone:?}");
        }
    }
}
