//! dlopen(3) without `RTLD_DEEPBIND`: a library that is loaded with it finds the C library's malloc and mmap
//! before this library's, and would free with one what the other has given. PHP loads its extensions so.

use crate::raw;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The C library's function, once it was found.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// The function looks for libraries as whoever calls it is built, so it returns there.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn dlopen() {
    std::arch::naked_asm!(
        "mov rax, [rip + {next}]",
        "test rax, rax",
        "jnz 2f",
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {find}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "2:",
        "and esi, {others}",
        "jmp rax",
        next = sym NEXT,
        find = sym find,
        others = const !libc::RTLD_DEEPBIND,
    );
}

/// As above.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn dlopen() {
    std::arch::naked_asm!(
        "adrp x9, {next}",
        "ldr x9, [x9, :lo12:{next}]",
        "cbnz x9, 2f",
        "stp x0, x1, [sp, #-32]!",
        "str x30, [sp, #16]",
        "bl {find}",
        "mov x9, x0",
        "ldr x30, [sp, #16]",
        "ldp x0, x1, [sp], #32",
        "2:",
        "and w1, w1, {others}",
        "br x9",
        next = sym NEXT,
        find = sym find,
        others = const !libc::RTLD_DEEPBIND as u32,
    );
}

extern "C" fn find() -> usize {
    // SAFETY: a C string.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, c"dlopen".as_ptr()) } as usize;
    if next == 0 {
        raw::die("the C library loads no libraries");
    }
    NEXT.store(next, Relaxed);
    next
}
