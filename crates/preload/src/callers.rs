//! Tells callers apart: the C library and the loader, or the program. Memory of the former lies on the heap
//! that is never remote ([`crate::local`]).

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Most libraries that are told apart.
const MOST: usize = 4;
/// First address and the one behind the last of their code.
static CODE: [(AtomicUsize, AtomicUsize); MOST] =
    [const { (AtomicUsize::new(0), AtomicUsize::new(0)) }; MOST];

/// Whether the code at an address is the C library's or the loader's.
#[inline]
pub(crate) fn is_system(address: usize) -> bool {
    CODE.iter().any(|(first, end)| address < end.load(Relaxed) && address >= first.load(Relaxed))
}

/// Looks where they are.
pub(crate) fn find() {
    let mut found = 0usize;
    // SAFETY: the callback gets the pointer that is given here.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
}

unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, found: *mut libc::c_void) -> i32 {
    // SAFETY: the C library passes a valid description, with a name and headers; and what `find` gave it.
    let (info, found) = unsafe { (&*info, &mut *found.cast::<usize>()) };
    if info.dlpi_name.is_null() || *found == MOST {
        return 0;
    }
    // SAFETY: a C string, and so many headers.
    let (name, headers) = unsafe {
        let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
        (std::ffi::CStr::from_ptr(info.dlpi_name).to_bytes(), headers)
    };
    let name = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    if ![b"libc.so.6".as_slice(), b"libpthread.so.0", b"ld-linux"].iter().any(|its| name.starts_with(its)) {
        return 0;
    }
    for code in
        headers.iter().filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0)
    {
        if *found < MOST {
            let first = (info.dlpi_addr + code.p_vaddr) as usize;
            CODE[*found].0.store(first, Relaxed);
            CODE[*found].1.store(first + code.p_memsz as usize, Relaxed);
            *found += 1;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::alone;

    #[test]
    fn the_c_library_is_told_from_the_program() {
        alone!({
            let ours = find as *const () as usize;
            assert!(!is_system(libc_itself()), "nobody has looked yet");
            find();
            assert!(is_system(libc_itself()) && !is_system(ours));
        });
    }

    /// An address inside the C library: a program may have a way there of its own (its PLT).
    fn libc_itself() -> usize {
        // SAFETY: a C string.
        unsafe { libc::dlsym(libc::RTLD_NEXT, c"getpid".as_ptr()) as usize }
    }
}
