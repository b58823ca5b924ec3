//! What a measurement has to say of the machine that it was made on: from the system's variables (`man 3 sysctl`).

use crate::machine::Description;
use std::ffi::CStr;
use std::path::Path;

/// Describes the machine. What the system does not tell is `None`; nothing is read below `root`.
pub fn describe(_root: &Path) -> Description {
    let part = |name| text(name).unwrap_or_default();
    Description {
        system: format!("{} {} {}", part(c"kern.ostype"), part(c"kern.osrelease"), part(c"hw.machine")),
        distribution: text(c"kern.osproductversion").map(|version| format!("macOS {version}")),
        processor: text(c"machdep.cpu.brand_string"),
        governor: None,
        boost: None,
        huge_pages: None,
        memory: value(c"hw.memsize").and_then(|bytes| Some(u64::from_ne_bytes(bytes.try_into().ok()?))),
        load: load(),
    }
}

/// A variable's bytes.
fn value(name: &CStr) -> Option<Vec<u8>> {
    let mut length = 0;
    // SAFETY: without a place for the value, only its length is written, to our variable.
    let asked =
        unsafe { libc::sysctlbyname(name.as_ptr(), std::ptr::null_mut(), &mut length, std::ptr::null_mut(), 0) };
    if asked != 0 {
        return None;
    }
    let mut bytes = vec![0_u8; length];
    // SAFETY: the buffer has as many bytes as `length` says, and what was written replaces that.
    let asked =
        unsafe { libc::sysctlbyname(name.as_ptr(), bytes.as_mut_ptr().cast(), &mut length, std::ptr::null_mut(), 0) };
    bytes.truncate(length);
    (asked == 0).then_some(bytes)
}

fn text(name: &CStr) -> Option<String> {
    let bytes = value(name)?;
    let text = CStr::from_bytes_until_nul(&bytes).ok()?.to_string_lossy().into_owned();
    Some(text).filter(|text| !text.is_empty())
}

/// The load average of one minute.
fn load() -> Option<f64> {
    let mut load = [0.0];
    // SAFETY: one number is asked for, and there is room for one.
    let numbers = unsafe { libc::getloadavg(load.as_mut_ptr(), 1) };
    (numbers == 1).then_some(load[0])
}
