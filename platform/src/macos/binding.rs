//! Who serves malloc in this process, and what the names that the library exports resolve to.

use crate::{Binding, Zone};
use core::ffi::{CStr, c_char, c_uint, c_void};
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use tikv_jemalloc_sys as je;

/// The path of this library as the dynamic linker knows it.
#[must_use]
pub fn library_path() -> &'static CStr {
    object_at(own_address()).map_or(c"", |object| object.path)
}

/// Whose `name` a look-up in all loaded images finds (`dlsym(RTLD_DEFAULT)`), as programs do that ask at run time
/// whether jemalloc is there. What a program was linked with is bound by library and name, and is not seen by this.
#[must_use]
pub fn resolve(name: &CStr) -> Binding {
    // SAFETY: `name` is a C string, and RTLD_DEFAULT is always valid.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    match (object_at(own_address()), object_at(address)) {
        (Some(own), Some(found)) if found.base == own.base => Binding::Ours,
        (_, Some(found)) => Binding::Other(found.path),
        (_, None) => Binding::Nobody,
    }
}

/// The zone that comes first, and whether it is jemalloc's: found out by having the system allocate a block.
///
/// The first zone in the list, not `malloc_default_zone` or `malloc_zone_from_ptr`: these answer with a stand-in that is
/// named "DefaultMallocZone" whoever serves. To be called while the program has one thread: the list is not locked.
#[must_use]
pub fn zone() -> Option<Zone> {
    // SAFETY: any size may be asked about.
    let expected = unsafe { je::nallocx(SIZE, 0) };
    let unknown = Zone { name: c"", is_ours: false, size: 0, expected };
    let mut zones: *mut *mut MallocZone = null_mut();
    let mut count = 0;
    // SAFETY: both places are writable; without a reader the list is that of this process, which is not copied.
    let error = unsafe { malloc_get_all_zones(mach_task_self_, null_mut(), &mut zones, &mut count) };
    if error != libc::KERN_SUCCESS || count == 0 || zones.is_null() {
        return Some(unknown);
    }
    // SAFETY: the list has `count` entries, each a zone that is registered.
    let first = unsafe { *zones };
    // SAFETY: as above; zones are not freed while they are registered.
    let Some(zone) = (unsafe { first.as_ref() }) else { return Some(unknown) };
    let name = if zone.name.is_null() {
        c"(without a name)"
    } else {
        // SAFETY: a C string of the zone's, which stays as long as the zone.
        unsafe { CStr::from_ptr(zone.name) }
    };
    let is_ours =
        object_at(first.cast()).zip(object_at(own_address())).is_some_and(|(zone, own)| zone.base == own.base);
    // SAFETY: a plain allocation, given back below; a zone may be asked about any address.
    let size = unsafe {
        let block = libc::malloc(SIZE);
        let size = zone.size.map_or(0, |size| size(first, block));
        libc::free(block);
        size
    };
    Some(Zone { name, is_ours, size, expected })
}

/// Not one of jemalloc's size classes: the answer tells jemalloc (112) from allocators that have other classes.
const SIZE: usize = 100;

fn own_address() -> *mut c_void {
    (own_address as fn() -> *mut c_void) as *mut c_void
}

struct Object {
    base: *mut c_void,
    path: &'static CStr,
}

/// The loaded image that contains an address, of code or data.
fn object_at(address: *mut c_void) -> Option<Object> {
    if address.is_null() {
        return None;
    }
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the place is writable; any address may be asked about; zeroed is a valid Dl_info.
    let (known, info) = unsafe { (libc::dladdr(address, info.as_mut_ptr()), info.assume_init()) };
    if known == 0 {
        return None;
    }
    let path = if info.dli_fname.is_null() {
        c""
    } else {
        // SAFETY: a C string that lives as long as the image is loaded.
        unsafe { CStr::from_ptr(info.dli_fname) }
    };
    Some(Object { base: info.dli_fbase, path })
}

/// The start of `malloc_zone_t` (malloc/malloc.h). Function pointers in it are plain ones: processes of the arm64e ABI,
/// in which they are signed, cannot load this library.
#[repr(C)]
struct MallocZone {
    reserved: [*mut c_void; 2],
    size: Option<unsafe extern "C" fn(*mut MallocZone, *const c_void) -> usize>,
    /// malloc, calloc, valloc, free, realloc, destroy.
    functions: [*mut c_void; 6],
    name: *const c_char,
}

unsafe extern "C" {
    static mach_task_self_: c_uint;
    fn malloc_get_all_zones(
        task: c_uint,
        reader: *mut c_void,
        zones: *mut *mut *mut MallocZone,
        count: *mut c_uint,
    ) -> libc::kern_return_t;
}
