//! The next definition of a name after ours, in the order in which the dynamic linker looks names up.

use core::ffi::{CStr, c_char, c_int, c_void};
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

    /// The address. Takes the dynamic linker's lock the first time, and may allocate when nobody has the name.
    pub(crate) fn address(&self) -> usize {
        let find = || NonZeroUsize::new(self.look_up()).unwrap_or(NonZeroUsize::MIN);
        self.found.get_or_init(find).get()
    }

    /// The address for a call from `caller`. When nobody visible to all has the name, the object that calls may have
    /// its own: a plugin with the C++ runtime linked in calls ours, which comes first, and has the next.
    pub(crate) fn address_for(&self, caller: *const c_void) -> usize {
        let address = self.address();
        if address != self.otherwise as *const () as usize {
            return address;
        }
        let found = binding::symbol_of_object_at(caller, self.name);
        if found.is_null() { address } else { found as usize }
    }

    fn look_up(&self) -> usize {
        let address = binding::next_definition(self.name);
        if !address.is_null() {
            return address as usize;
        }
        for library in self.libraries {
            // SAFETY: names are C strings; RTLD_NOLOAD loads nothing. The handle is kept: the address is.
            let address = unsafe {
                let handle = real_dlopen()(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
                if handle.is_null() { null_mut() } else { libc::dlsym(handle, self.name.as_ptr()) }
            };
            if !address.is_null() {
                return address as usize;
            }
        }
        self.otherwise as *const () as usize
    }
}

/// The next `dlopen`: libc's, or that of another library that watches it.
pub(crate) static DLOPEN: Next = Next::new(c"dlopen", &[], nothing);

extern "C" fn nothing() -> *mut c_void {
    null_mut()
}

fn real_dlopen() -> unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void {
    // SAFETY: the address is that of a dlopen, or of `nothing`, which takes no argument and ignores what it gets.
    unsafe { core::mem::transmute(DLOPEN.address()) }
}
