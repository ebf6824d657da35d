//! Static data that begins as zeros (bss) of the program and of the libraries that it is linked with: memory
//! elsewhere ([`crate::elsewhere`]), when it is large.
//!
//! That of the C library and the loader stays local, and so does this library's: who handles faults uses it.
//! So do variables of the C library that the linker has put into the program's (copy relocations: `stdout`).
//! A library that is loaded later is not seen here; the launcher counts what it has.

use crate::callers;
use crate::elsewhere;
use crate::granted;
use crate::layout::BASE;
use std::ops::Range;

/// Kind of a relocation that copies a variable.
const COPY: u64 = if cfg!(target_arch = "aarch64") { 1024 } else { 5 };

/// Takes charge of it.
pub(crate) fn take() {
    let mut found: Vec<Range<usize>> = Vec::new();
    // SAFETY: the callback gets the pointer that is given here.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
    for range in found {
        if let Some(place) = elsewhere::take(range.start, range.len()) {
            granted::commit(place);
        }
    }
}

unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, found: *mut libc::c_void) -> i32 {
    // SAFETY: the C library passes a valid description with so many headers; and what `take` gave it.
    let (base, headers, found) = unsafe {
        let headers = std::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum.into());
        ((*info).dlpi_addr as usize, headers, &mut *found.cast::<Vec<Range<usize>>>())
    };
    let at = |header: &libc::Elf64_Phdr| base + header.p_vaddr as usize;
    let is_of = |address: usize| {
        let loads = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
        loads.into_iter().any(|load| address.wrapping_sub(at(load)) < load.p_memsz as usize)
    };
    let is_system = headers.iter().any(|header| {
        header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0 && callers::is_system(at(header))
    });
    if is_system || is_of(take as *const () as usize) {
        return 0;
    }
    for load in
        headers.iter().filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W != 0)
    {
        let zeros = at(load) + load.p_filesz as usize..at(load) + load.p_memsz as usize;
        let dynamic = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC);
        // SAFETY: the loader has mapped the table there.
        let copied = dynamic.map(|table| unsafe { copied(base, at(table), &zeros) });
        let start = copied.unwrap_or(zeros.start).next_multiple_of(BASE);
        let end = zeros.end.next_multiple_of(BASE);
        if start < end {
            found.push(start..end);
        }
    }
    0
}

/// Where the last variable of another library that was copied there ends; or the beginning.
///
/// # Safety
/// It is the table PT_DYNAMIC of a program that is loaded at `base`.
unsafe fn copied(base: usize, table: usize, within: &Range<usize>) -> usize {
    const SYMTAB: usize = 6;
    const RELA: usize = 7;
    const RELASZ: usize = 8;
    let mut found = [0usize; 9];
    let mut next = table as *const [u64; 2];
    // SAFETY: as the caller promises, pairs of a tag and a value, of which the last has the tag 0.
    while let [tag @ 1..=u64::MAX, value] = unsafe { *next } {
        if let Some(slot) = found.get_mut(tag as usize) {
            *slot = value as usize;
        }
        // SAFETY: it was not the last.
        next = unsafe { next.add(1) };
    }
    // The loader makes addresses of what are offsets in the file.
    let address = |tag: usize| if found[tag] < base { found[tag] + base } else { found[tag] };
    if found[RELA] == 0 || found[SYMTAB] == 0 {
        return within.start;
    }
    let count = found[RELASZ] / size_of::<libc::Elf64_Rela>();
    // SAFETY: the table says where they are, and how many.
    let relocations = unsafe { std::slice::from_raw_parts(address(RELA) as *const libc::Elf64_Rela, count) };
    let copies = relocations.iter().filter(|each| each.r_info & 0xffff_ffff == COPY);
    let ends = copies.filter_map(|each| {
        // SAFETY: a relocation's symbol is in the table of symbols.
        let symbol =
            unsafe { &*(address(SYMTAB) as *const libc::Elf64_Sym).add((each.r_info >> 32) as usize) };
        let start = base + each.r_offset as usize;
        within.contains(&start).then_some(start + symbol.st_size as usize)
    });
    ends.max().unwrap_or(within.start)
}
