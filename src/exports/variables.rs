//! jemalloc's three public variables, under their unprefixed names.
//!
//! An executable that defines one of them (`const char *malloc_conf = "…";`, man 3 jemalloc) exports its own, since
//! libjemalloc.so or this library, which it was linked with, has it too; it comes first in the order of lookup, and
//! every access here goes through the dynamic symbol, so the executable's is then the one that is read.

use core::ffi::{c_char, c_void};
use core::sync::atomic::AtomicPtr;

/// Options, weaker than `/etc/malloc.conf` and `MALLOC_CONF`.
#[cfg_attr(not(test), unsafe(export_name = "malloc_conf"))]
pub(crate) static MALLOC_CONF: AtomicPtr<c_char> = AtomicPtr::new(core::ptr::null_mut());

/// Options that are stronger than every other source.
#[cfg_attr(not(test), unsafe(export_name = "malloc_conf_2_conf_harder"))]
pub(crate) static MALLOC_CONF_2_CONF_HARDER: AtomicPtr<c_char> = AtomicPtr::new(core::ptr::null_mut());

/// `void (*malloc_message)(void *, const char *)`: what jemalloc's messages are given to, instead of stderr.
#[cfg_attr(not(test), unsafe(export_name = "malloc_message"))]
pub(crate) static MALLOC_MESSAGE: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
