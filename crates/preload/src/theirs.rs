//! The C library's own functions, which this library stands in for.

use std::ffi::CStr;

/// The function of this name; nothing where the C library has none.
///
/// # Safety
/// Its form is `F`, a pointer to a function.
pub(crate) unsafe fn theirs<F: Copy>(name: &CStr) -> Option<F> {
    // SAFETY: a C string; and as the caller promises, a pointer to a function that may be null.
    unsafe { std::mem::transmute_copy(&libc::dlsym(libc::RTLD_NEXT, name.as_ptr())) }
}
