//! The next definition of a name after ours, in the order in which the dynamic linker looks names up.

use core::ffi::{CStr, c_void};
use core::num::NonZeroUsize;
use core::ptr::null_mut;
use jeshim_platform::binding;
use once_cell::race::OnceNonZeroUsize;

/// A function of which somebody else has the next definition; looked up when it is first needed.
pub(crate) struct Next {
    name: &'static CStr,
    /// Libraries that have it, though they may be visible only to the plugin that brought them.
    libraries: &'static [&'static CStr],
    /// What stands in when nobody has it.
    otherwise: extern "C" fn() -> *mut c_void,
    /// The definition that everybody sees, once it was found. Others come and go with their plugins.
    found: OnceNonZeroUsize,
}

impl Next {
    pub(crate) const fn new(
        name: &'static CStr,
        libraries: &'static [&'static CStr],
        otherwise: extern "C" fn() -> *mut c_void,
    ) -> Next {
        Next { name, libraries, otherwise, found: OnceNonZeroUsize::new() }
    }

    /// The address, for a call from `caller`, or from anywhere when that is NULL. Takes the dynamic linker's lock until
    /// it has found one that everybody sees; may allocate when there is none.
    ///
    /// Without one, the object that calls may have its own: a plugin with the C++ runtime linked in calls our operator,
    /// which comes first, and has the next itself. Another runtime's would throw what it cannot catch.
    pub(crate) fn address_for(&self, caller: *const c_void) -> usize {
        if let Some(address) = self.found.get() {
            return address.get();
        }
        if let Some(address) = NonZeroUsize::new(binding::next_definition(self.name) as usize) {
            return self.found.get_or_init(|| address).get();
        }
        let own = binding::definition_of_object_at(caller, self.name);
        let address = if own.is_null() { self.of_known_libraries() } else { own };
        if address.is_null() { self.otherwise as *const () as usize } else { address as usize }
    }

    fn of_known_libraries(&self) -> *mut c_void {
        let found = |library: &&CStr| binding::definition_of_library(library, self.name);
        self.libraries.iter().map(found).find(|address| !address.is_null()).unwrap_or(null_mut())
    }
}

/// The next `dlopen`: libc's, or that of another library that watches it.
pub(crate) static DLOPEN: Next = Next::new(c"dlopen", &[], nothing);

extern "C" fn nothing() -> *mut c_void {
    null_mut()
}
