//! The next definition of a name after ours, in the order in which the dynamic linker looks names up.

use core::ffi::{CStr, c_void};
use core::num::NonZeroUsize;
use core::ptr::null_mut;
use jeshim_platform::binding;
use once_cell::race::OnceNonZeroUsize;

/// The next `dlopen`: libc's, or that of another library that watches it. Looked up once: both are there for good. Takes
/// the dynamic linker's lock the first time, as `dlopen` does.
pub(crate) fn dlopen() -> usize {
    extern "C" fn cannot_load() -> *mut c_void {
        null_mut()
    }
    static FOUND: OnceNonZeroUsize = OnceNonZeroUsize::new();
    let found = || NonZeroUsize::new(binding::next_definition(c"dlopen") as usize);
    let otherwise = || NonZeroUsize::new(cannot_load as *const () as usize).unwrap_or(NonZeroUsize::MIN);
    FOUND.get_or_init(|| found().unwrap_or_else(otherwise)).get()
}

/// An operator of C++ of which the C++ runtime has the next definition.
///
/// Looked up at each call, which is when there is no memory: what is found may belong to a plugin, and be gone at the
/// next. Takes the dynamic linker's lock; may allocate when nobody has it.
pub(crate) struct Operator {
    name: &'static CStr,
    /// What stands in when nobody has it.
    otherwise: extern "C" fn() -> *mut c_void,
}

/// Where the operators are when they are visible only to a plugin that brought them.
const RUNTIMES: [&CStr; 2] = [c"libstdc++.so.6", c"libc++.so.1"];

impl Operator {
    pub(crate) const fn new(name: &'static CStr, otherwise: extern "C" fn() -> *mut c_void) -> Operator {
        Operator { name, otherwise }
    }

    /// The address, for a call from `caller`.
    ///
    /// When nobody that all can see has it, the object that calls may have its own: a plugin with the C++ runtime linked
    /// in calls our operator, which comes first, and has the next itself. Another runtime's would throw what it cannot
    /// catch.
    pub(crate) fn next_for(&self, caller: *const c_void) -> usize {
        let of_runtime = |library: &&CStr| binding::definition_of_library(library, self.name);
        let mut address = binding::next_definition(self.name);
        if address.is_null() {
            address = binding::definition_of_object_at(caller, self.name);
        }
        if address.is_null() {
            address = RUNTIMES.iter().map(of_runtime).find(|address| !address.is_null()).unwrap_or(null_mut());
        }
        if address.is_null() { self.otherwise as *const () as usize } else { address as usize }
    }
}
