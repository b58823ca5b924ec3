//! What the names that the library exports resolve to in this process.

use crate::{Binding, Zone};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::null_mut;

/// The path of this library as the dynamic linker knows it.
#[must_use]
pub fn library_path() -> &'static CStr {
    object_at((library_path as fn() -> &'static CStr) as *mut c_void).map_or(c"", |object| object.path)
}

/// Whose `name` the dynamic linker gives to the program and to the libraries that were loaded with it.
///
/// Takes the dynamic linker's lock; may allocate in one rare case (an earlier library in the order of lookup).
#[must_use]
pub fn resolve(name: &CStr) -> Binding {
    // SAFETY: `name` is a C string, and RTLD_DEFAULT is always valid.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    let own = object_at((resolve as fn(&CStr) -> Binding) as *mut c_void);
    let (Some(own), Some(found)) = (own, object_at(address)) else { return Binding::Nobody };
    if found.base == own.base {
        Binding::Ours
    } else if found.symbol_is_undefined {
        // An executable that is not position-independent and takes the function's address: the address everybody
        // sees is a jump in the executable, to the first definition after it.
        earlier_definition(name, &own).map_or(Binding::Ours, Binding::Other)
    } else {
        Binding::Other(found.path)
    }
}

/// The definition of `name` that the object around an address has, itself or through the libraries it needs; NULL for
/// none, and never our own. Good for as long as that object runs. Takes the dynamic linker's lock; may allocate.
#[must_use]
pub fn definition_of_object_at(address: *const c_void, name: &CStr) -> *mut c_void {
    object_at(address.cast_mut()).map_or(null_mut(), |object| definition_of_library(object.path, name))
}

/// The same for a library, by its name, when it is loaded; good until it is unloaded.
#[must_use]
pub fn definition_of_library(library: &CStr, name: &CStr) -> *mut c_void {
    // SAFETY: both are C strings; RTLD_NOLOAD loads nothing, and closing takes back only what opening counted.
    let found = unsafe {
        let handle = libc::dlopen(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null() {
            return null_mut();
        }
        let found = libc::dlsym(handle, name.as_ptr());
        libc::dlclose(handle);
        found
    };
    not_ours(found)
}

/// The definition of `name` that comes after this library's in the order of lookup; NULL for none, and never our own.
/// Takes the dynamic linker's lock; may allocate.
#[must_use]
pub fn next_definition(name: &CStr) -> *mut c_void {
    // SAFETY: the name is a C string, RTLD_NEXT valid in an object that the dynamic linker loaded.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if next.is_null() || !not_ours(next).is_null() {
        return next;
    }
    // Ours: somebody interposes dlsym and passes the question on by a call, so that "next" meant what comes after him,
    // before us. libc's own is known by its version.
    #[cfg(target_env = "gnu")]
    for version in [c"GLIBC_2.34", c"GLIBC_2.17", c"GLIBC_2.2.5"] {
        // SAFETY: C strings; the function found has dlsym's type.
        unsafe {
            let real = libc::dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), version.as_ptr());
            if !real.is_null() {
                type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
                let real = core::mem::transmute::<*mut c_void, Dlsym>(real);
                return not_ours(real(libc::RTLD_NEXT, name.as_ptr()));
            }
        }
    }
    null_mut()
}

/// The address, or NULL when it lies in this library.
fn not_ours(address: *mut c_void) -> *mut c_void {
    let own = object_at((not_ours as fn(*mut c_void) -> *mut c_void) as *mut c_void);
    let is_ours = own.zip(object_at(address)).is_some_and(|(own, found)| own.base == found.base);
    if is_ours { null_mut() } else { address }
}

/// There are no zones: who serves `malloc` is who has the name.
#[must_use]
pub fn zone() -> Option<Zone> {
    None
}

struct Object {
    base: *mut c_void,
    path: &'static CStr,
    symbol_is_undefined: bool,
}

/// The loaded object that contains an address.
fn object_at(address: *mut c_void) -> Option<Object> {
    if address.is_null() {
        return None;
    }
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    let mut symbol: *mut c_void = null_mut();
    // SAFETY: both places are writable; any address may be asked about.
    let known = unsafe { dladdr1(address, info.as_mut_ptr(), &mut symbol, RTLD_DL_SYMENT) };
    if known == 0 {
        return None;
    }
    // SAFETY: zeroed is a valid Dl_info, and the call filled it.
    let info = unsafe { info.assume_init() };
    let path = if info.dli_fname.is_null() {
        c""
    } else {
        // SAFETY: a C string that lives as long as the object is loaded; these are never unloaded.
        unsafe { CStr::from_ptr(info.dli_fname) }
    };
    // st_shndx stands at offset 6 in Elf64_Sym and 14 in Elf32_Sym; SHN_UNDEF is 0.
    let offset = if cfg!(target_pointer_width = "64") { 6 } else { 14 };
    // SAFETY: RTLD_DL_SYMENT gives the symbol table entry, of the processor's ELF class, or NULL.
    let section = (!symbol.is_null()).then(|| unsafe { symbol.byte_add(offset).cast::<u16>().read_unaligned() });
    let symbol_is_undefined = section == Some(0);
    Some(Object { base: info.dli_fbase, path, symbol_is_undefined })
}

/// The path of an object between the executable and this library, in the order of lookup, that defines `name`.
fn earlier_definition(name: &CStr, own: &Object) -> Option<&'static CStr> {
    // SAFETY: a NULL name asks for the executable; the handle of glibc and musl is its link map.
    let mut map = unsafe { libc::dlopen(core::ptr::null(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) }.cast::<LinkMap>();
    // SAFETY: the list of loaded objects only grows, and the linker keeps the start of it as it is.
    while let Some(object) = unsafe { map.as_ref() } {
        if object.base == own.base {
            return None;
        }
        map = object.next;
        if object.name.is_null() {
            continue;
        }
        // SAFETY: a C string of the linker's.
        let path = unsafe { CStr::from_ptr(object.name) };
        if path.is_empty() {
            continue;
        }
        // SAFETY: RTLD_NOLOAD loads nothing; an unknown name (the vdso's) gives NULL.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if handle.is_null() {
            continue;
        }
        // SAFETY: the handle is valid until closed below.
        let definition = unsafe { object_at(libc::dlsym(handle, name.as_ptr())) };
        // SAFETY: takes back what dlopen counted.
        unsafe { libc::dlclose(handle) };
        if definition.is_some_and(|definition| definition.base == object.base) {
            return Some(path);
        }
    }
    None
}

/// The public part of the dynamic linker's `struct link_map` (`link.h`).
#[repr(C)]
struct LinkMap {
    base: *mut c_void,
    name: *const c_char,
    dynamic: *mut c_void,
    next: *mut LinkMap,
}

const RTLD_DL_SYMENT: c_int = 1;

unsafe extern "C" {
    fn dladdr1(address: *const c_void, info: *mut libc::Dl_info, extra: *mut *mut c_void, flags: c_int) -> c_int;
}
