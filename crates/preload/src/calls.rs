//! syscall(2): programs that ask the kernel for memory by number get it where they would by name, and forks
//! are prepared for ([`fork`]).
//!
//! Instructions of the program's own that enter the kernel can't be seen here: what they get stays local, and
//! the launcher counts it.

use crate::mappings::{madvise, mmap, mprotect, mremap, munmap};
use crate::{fork, raw};

/// Of `struct clone_args`: where it has the new process's stack, which follows five numbers.
const STACK: usize = 5 * size_of::<u64>();
/// A new process shares the memory: a bit of the first number.
const SHARES: u32 = libc::CLONE_VM.trailing_zeros();

/// Calls of memory come here with their number last, and so do forks; all others go to the kernel at once,
/// and this stack is not used for them: a process that shares it may return first (vfork(2)), and one with
/// another stack would not find it.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn syscall() {
    std::arch::naked_asm!(
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "mov r10, r8",
        "mov r8, r9",
        "mov r9, [rsp + 8]",
        "cmp rax, 28",
        "ja 5f",
        "mov ecx, {memory}",
        "bt ecx, eax",
        "jc 3f",
        "2:",
        "syscall",
        "cmp rax, -4095",
        "jae 4f",
        "ret",
        "3:",
        "mov rcx, r10",
        "push rax",
        "call {ours}",
        "add rsp, 8",
        "ret",
        "4:",
        "neg eax",
        "mov edi, eax",
        "jmp {failed}",
        "5:",
        "cmp rax, {fork}",
        "je 3b",
        "cmp rax, {clone}",
        "je 6f",
        "cmp rax, {clone3}",
        "jne 2b",
        "test rdi, rdi",
        "jz 2b",
        "cmp rsi, {stack} + 8",
        "jb 2b",
        "cmp qword ptr [rdi + {stack}], 0",
        "jne 2b",
        "bt qword ptr [rdi], {shares}",
        "jc 2b",
        "jmp 3b",
        "6:",
        "bt rdi, {shares}",
        "jc 2b",
        "test rsi, rsi",
        "jz 3b",
        "jmp 2b",
        fork = const libc::SYS_fork,
        clone = const libc::SYS_clone,
        clone3 = const libc::SYS_clone3,
        stack = const STACK,
        shares = const SHARES,
        memory = const 1 << libc::SYS_mmap | 1 << libc::SYS_mprotect | 1 << libc::SYS_munmap
            | 1 << libc::SYS_mremap | 1 << libc::SYS_madvise,
        ours = sym memory,
        failed = sym failed,
    );
}

/// As above; here no such number is below 214 (`brk`) or above 233 (`madvise`).
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn syscall() {
    std::arch::naked_asm!(
        "mov x8, x0",
        "mov x0, x1",
        "mov x1, x2",
        "mov x2, x3",
        "mov x3, x4",
        "mov x4, x5",
        "mov x5, x6",
        "cmp x8, {munmap}",
        "b.eq 3f",
        "cmp x8, {mremap}",
        "b.eq 3f",
        "cmp x8, {mmap}",
        "b.eq 3f",
        "cmp x8, {mprotect}",
        "b.eq 3f",
        "cmp x8, {madvise}",
        "b.eq 3f",
        "cmp x8, {clone}",
        "b.eq 5f",
        "cmp x8, {clone3}",
        "b.eq 6f",
        "2:",
        "svc 0",
        "cmn x0, 4095",
        "b.cs 4f",
        "ret",
        "3:",
        "mov x6, x8",
        "b {ours}",
        "4:",
        "neg x0, x0",
        "b {failed}",
        "5:",
        "tbnz x0, {shares}, 2b",
        "cbz x1, 3b",
        "b 2b",
        "6:",
        "cbz x0, 2b",
        "cmp x1, {stack} + 8",
        "b.lo 2b",
        "ldr x9, [x0, {stack}]",
        "cbnz x9, 2b",
        "ldr x9, [x0]",
        "tbz x9, {shares}, 3b",
        "b 2b",
        clone = const libc::SYS_clone,
        clone3 = const libc::SYS_clone3,
        stack = const STACK,
        shares = const SHARES,
        munmap = const libc::SYS_munmap, mremap = const libc::SYS_mremap, mmap = const libc::SYS_mmap,
        mprotect = const libc::SYS_mprotect, madvise = const libc::SYS_madvise,
        ours = sym memory,
        failed = sym failed,
    );
}

extern "C" fn failed(error: i32) -> i64 {
    raw::fail(error);
    -1
}

extern "C" fn memory(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize, number: i64) -> i64 {
    let at = a as *mut libc::c_void;
    match number {
        libc::SYS_mmap => mmap(at, b, c as i32, d as i32, e as i32, f as i64) as i64,
        libc::SYS_munmap => munmap(at, b).into(),
        libc::SYS_mprotect => mprotect(at, b, c as i32).into(),
        libc::SYS_madvise => madvise(at, b, c as i32).into(),
        // SAFETY: as the caller promises.
        libc::SYS_mremap => unsafe { mremap(at, b, c, d as i32, e as *mut libc::c_void) as i64 },
        // SAFETY: as the caller promises; the new process has this stack too.
        _ => unsafe { fork::by_number(number, [a, b, c, d, e, f]) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{self, BASE};
    use crate::testing::{alone, want};

    const BOTH: usize = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    const ANONYMOUS: usize = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as usize;

    fn map(protection: usize, flags: usize) -> usize {
        memory(0, BASE, protection, flags, usize::MAX, 0, libc::SYS_mmap) as usize
    }

    fn is_ours(at: usize) -> bool {
        assert_ne!(at as i64, -1);
        let ours = layout::offset(at).is_some();
        assert_eq!(memory(at, BASE, 0, 0, 0, 0, libc::SYS_munmap), 0);
        ours
    }

    #[test]
    fn memory_by_number_is_where_it_is_by_name() {
        alone!({
            assert!(!is_ours(map(BOTH, ANONYMOUS)), "the launcher has wanted nothing yet");
            want("local=1073741824,rate=1");
            assert!(is_ours(map(BOTH, ANONYMOUS)));
            assert!(is_ours(map(0, ANONYMOUS | libc::MAP_NORESERVE as usize)), "a reservation");
            assert!(is_ours(map(BOTH, ANONYMOUS | libc::MAP_STACK as usize)), "a stack");
            assert!(!is_ours(map(BOTH | libc::PROT_EXEC as usize, ANONYMOUS)), "code runs from it");
            for flag in [libc::MAP_LOCKED, libc::MAP_GROWSDOWN] {
                assert!(!is_ours(map(BOTH, ANONYMOUS | flag as usize)), "{flag:x}");
            }
            let shared = (libc::MAP_SHARED | libc::MAP_ANONYMOUS) as usize;
            assert!(!is_ours(map(BOTH, shared)), "other processes see it");
        });
    }

    #[test]
    fn what_the_kernel_would_refuse_is_refused() {
        alone!({
            want("local=1073741824,rate=1");
            let at = map(BOTH, ANONYMOUS);
            let errno = || std::io::Error::last_os_error().raw_os_error();
            for (number, arguments) in [
                (libc::SYS_munmap, [at + 1, BASE, 0, 0]),
                (libc::SYS_munmap, [at, 0, 0, 0]),
                (libc::SYS_munmap, [layout::start(), BASE, 0, 0]),
                (libc::SYS_madvise, [at + 1, BASE, 4, 0]),
                (libc::SYS_mremap, [at, BASE, 0, 1]),
                (libc::SYS_mremap, [at, BASE, BASE, 1 << 10]),
                (libc::SYS_mremap, [at, BASE, 2 * BASE, libc::MREMAP_FIXED as usize]),
            ] {
                let [a, b, c, d] = arguments;
                assert_eq!((memory(a, b, c, d, 0, 0, number), errno()), (-1, Some(libc::EINVAL)), "{number}");
            }
            assert!(is_ours(at), "it is still there");
        });
    }
}
