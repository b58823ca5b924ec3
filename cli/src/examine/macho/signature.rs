//! The code signature at the end of a Mach-O file: which flags and entitlements the kernel will give the process. As in
//! xnu's `osfmk/kern/cs_blobs.h`; all numbers are big-endian. Nothing is verified: neither the hashes nor the
//! certificate.

use super::Damage;
use super::entitlements::Entitlements;

const SUPER_BLOB: u32 = 0xfade_0cc0;
const CODE_DIRECTORY: u32 = 0xfade_0c02;
const ENTITLEMENTS_XML: u32 = 0xfade_7171;
const ENTITLEMENTS_DER: u32 = 0xfade_7172;

const SLOT_CODE_DIRECTORY: u32 = 0;
const SLOT_ENTITLEMENTS_XML: u32 = 5;
const SLOT_ENTITLEMENTS_DER: u32 = 7;
/// The same with another hash, for newer systems.
const SLOTS_ALTERNATE: std::ops::Range<u32> = 0x1000..0x1005;

/// Signed by nobody in particular.
const ADHOC: u32 = 0x2;
/// Library validation, demanded by the system's policy, or by the signer.
const FORCED_LIBRARY_VALIDATION: u32 = 0x10;
const LIBRARY_VALIDATION: u32 = 0x2000;
const RESTRICT: u32 = 0x800;
const HARDENED_RUNTIME: u32 = 0x1_0000;

/// What a signature asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Signature {
    flags: u32,
    platform: u8,
    team: Option<String>,
    pub(super) entitlements: Entitlements,
}

impl Signature {
    /// Reads the bytes that LC_CODE_SIGNATURE points at.
    pub(super) fn read(bytes: &[u8]) -> Result<Signature, Damage> {
        let whole = blob(bytes, 0).ok_or_else(|| Damage::new("its code signature is cut off"))?;
        if u32_at(whole, 0) != Some(SUPER_BLOB) {
            return Err(Damage::new("its code signature does not begin as one"));
        }
        let index = whole.get(12..).unwrap_or_default().chunks_exact(8);
        let count = u32_at(whole, 8).unwrap_or(0) as usize;
        if count > index.len() {
            return Err(Damage::new("its code signature's index is longer than the signature"));
        }
        let (mut directory, mut xml, mut der) = (None::<&[u8]>, None, None);
        for entry in index.take(count) {
            let (slot, at) = (u32_at(entry, 0).unwrap_or(0), u32_at(entry, 4).unwrap_or(0));
            let part = blob(whole, at as usize);
            let damaged = || Damage::new(format!("part {slot:#x} of its code signature is cut off"));
            match slot {
                _ if slot == SLOT_CODE_DIRECTORY || SLOTS_ALTERNATE.contains(&slot) => {
                    let part = part.filter(|part| u32_at(part, 0) == Some(CODE_DIRECTORY)).ok_or_else(damaged)?;
                    // The kernel takes the strongest hash.
                    if directory.is_none_or(|best| strength(part) > strength(best)) {
                        directory = Some(part);
                    }
                }
                SLOT_ENTITLEMENTS_XML => xml = Some(part.ok_or_else(damaged)?),
                SLOT_ENTITLEMENTS_DER => der = Some(part.ok_or_else(damaged)?),
                _ => {}
            }
        }
        let directory = directory.ok_or_else(|| Damage::new("its code signature has no code directory"))?;
        let flags = u32_at(directory, 12).ok_or_else(|| Damage::new("its code directory is cut off"))?;
        // Since macOS 12 the binary form is the one that counts, where there is one.
        let entitlements = match (of_kind(der, ENTITLEMENTS_DER), of_kind(xml, ENTITLEMENTS_XML)) {
            (Some(der), _) => Entitlements::from_der(der)?,
            (None, Some(xml)) => Entitlements::from_xml(xml)?,
            (None, None) => Entitlements::default(),
        };
        Ok(Signature { flags, platform: directory.get(38).copied().unwrap_or(0), team: team(directory), entitlements })
    }

    /// Whether it is a program of the system's.
    pub(super) fn is_platform(&self) -> bool {
        self.platform != 0
    }

    pub(super) fn is_restricted(&self) -> bool {
        self.flags & RESTRICT != 0
    }

    pub(super) fn has_hardened_runtime(&self) -> bool {
        self.flags & HARDENED_RUNTIME != 0
    }

    /// Whether the process loads libraries of its own team and the system's only.
    pub(super) fn validates_libraries(&self) -> bool {
        self.flags & (HARDENED_RUNTIME | LIBRARY_VALIDATION | FORCED_LIBRARY_VALIDATION) != 0
            && !self.entitlements.has("com.apple.security.cs.disable-library-validation")
    }

    /// Who signed it; `None`: nobody in particular (ad hoc), or Apple itself.
    pub(super) fn team(&self) -> Option<&str> {
        self.team.as_deref().filter(|_| self.flags & ADHOC == 0)
    }
}

/// The blob at an offset, header included: its own length bounds it.
fn blob(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let rest = bytes.get(at..)?;
    rest.get(..u32_at(rest, 4)? as usize).filter(|blob| blob.len() >= 8)
}

/// What is in a blob of this kind; nothing when it is of another one.
fn of_kind(blob: Option<&[u8]>, magic: u32) -> Option<&[u8]> {
    blob.filter(|blob| u32_at(blob, 0) == Some(magic)).and_then(|blob| blob.get(8..))
}

/// xnu's order of hashes: SHA-1, SHA-256 cut to 20 bytes, SHA-256, SHA-384.
fn strength(directory: &[u8]) -> usize {
    let kind = directory.get(37).copied().unwrap_or(0);
    [1, 3, 2, 4].iter().position(|known| *known == kind).map_or(0, |rank| rank + 1)
}

fn team(directory: &[u8]) -> Option<String> {
    // Older versions of the structure end before it.
    let offset = u32_at(directory, 48).filter(|at| *at != 0 && u32_at(directory, 8) >= Some(0x2_0200))?;
    let text = directory.get(offset as usize..)?;
    let text = text.get(..memchr::memchr(0, text)?)?;
    (!text.is_empty()).then(|| String::from_utf8_lossy(text).into_owned())
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}
