//! Offsets of this kernel's fields of a block I/O, from its own description of its types: BTF,
//! Documentation/bpf/btf.rst.
//!
//! It only reads bytes; a truncated or wrong description gives nothing. The BTF of the program's own two
//! functions is here too.

/// Bytes from a structure's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// `bio.bi_bdev`, the address of the device.
    pub device: i32,
    /// `block_device.bd_dev`, its number.
    pub number: i32,
    /// `bio.bi_opf`, what is to be done.
    pub operation: i32,
    /// `bio.bi_iter.bi_size`, bytes.
    pub bytes: i32,
}

const MAGIC: u16 = 0xEB9F;
const STRUCT: u32 = 4;
/// Bytes behind a type's head by its kind, and for each of its members: 1 is `INT` and 19 `ENUM64`.
const BEHIND: [(usize, usize); 20] = [
    (0, 0),
    (4, 0),
    (0, 0),
    (12, 0),
    (0, 12),
    (0, 12),
    (0, 8),
    (0, 0),
    (0, 0),
    (0, 0),
    (0, 0),
    (0, 0),
    (0, 0),
    (0, 8),
    (4, 0),
    (0, 12),
    (0, 0),
    (4, 0),
    (0, 0),
    (0, 12),
];

impl Layout {
    /// From `/sys/kernel/btf/vmlinux`'s bytes; nothing where a structure or a member of it is missing.
    pub fn read(btf: &[u8]) -> Option<Layout> {
        let types = Btf::new(btf)?;
        let iter = types.member("bio", "bi_iter")?;
        Some(Layout {
            device: types.member("bio", "bi_bdev")?,
            number: types.member("block_device", "bd_dev")?,
            operation: types.member("bio", "bi_opf")?,
            bytes: iter + types.member("bvec_iter", "bi_size")?,
        })
    }
}

struct Btf<'a> {
    types: &'a [u8],
    names: &'a [u8],
}

impl<'a> Btf<'a> {
    fn new(bytes: &'a [u8]) -> Option<Btf<'a>> {
        if bytes.get(..2)? != MAGIC.to_le_bytes() {
            return None;
        }
        let section = |at: usize| {
            let start = (word(bytes, 4)? as usize).checked_add(word(bytes, at)? as usize)?;
            bytes.get(start..start.checked_add(word(bytes, at + 4)? as usize)?)
        };
        Some(Btf { types: section(8)?, names: section(16)? })
    }

    /// Where a member of a structure is, in bytes.
    fn member(&self, structure: &str, member: &str) -> Option<i32> {
        let mut at = 0;
        loop {
            let info = word(self.types, at + 4)?;
            let (kind, count) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
            let (once, each) = *BEHIND.get(kind as usize)?;
            if kind == STRUCT && self.is_called(at, structure)? {
                let mut members = (0..count).map(|index| at + 12 + 12 * index);
                let found = members.find(|place| self.is_called(*place, member) == Some(true))?;
                // Bits; in a structure with bit fields the top byte is a field's width.
                return i32::try_from((word(self.types, found + 8)? & 0x00ff_ffff) / 8).ok();
            }
            at += 12 + once + count * each;
        }
    }

    /// Whether the type or member at this place has this name.
    fn is_called(&self, at: usize, name: &str) -> Option<bool> {
        let rest = self.names.get(word(self.types, at)? as usize..)?;
        Some(rest.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&0)))
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(word.try_into().expect("four bytes")))
}

/// The types' numbers in [`functions`].
pub const MAIN: u32 = 4;
/// As [`MAIN`].
pub const CALLED_BACK: u32 = 6;

/// The types of a program `int delay(void *)` and its function `static int spin(u64, void *)`: the kernel
/// calls back only what it knows the type of.
pub fn functions() -> Vec<u8> {
    let names = b"\0u64\0delay\0spin\0context\0turn\0";
    let [number, delay, spin, context, turn] = [1, 5, 11, 16, 24];
    let head = |name: u32, kind: u32, more: u32, count: u32| [name, kind << 24 | count, more];
    let types: Vec<u32> = [
        head(number, 1, 8, 0).as_slice(),
        &[64],
        // A pointer to nothing in particular.
        &head(0, 2, 0, 0),
        // Prototypes, with an argument's name and type each, and the functions; the second one is static.
        &head(0, 13, 1, 1),
        &[context, 2],
        &head(delay, 12, 3, 0),
        &head(0, 13, 1, 2),
        &[turn, 1, context, 2],
        &head(spin, 12, 5, 0),
    ]
    .concat();
    let header = [24, 0, 4 * types.len() as u32, 4 * types.len() as u32, names.len() as u32];
    let mut bytes = [MAGIC.to_le_bytes(), [1, 0]].concat();
    bytes.extend(header.iter().chain(&types).flat_map(|word| word.to_le_bytes()));
    bytes.extend(names);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// struct iter { u64 none; u64 bi_size; } with names as the kernel's.
    fn some() -> Vec<u8> {
        let names = b"\0bvec_iter\0bi_size\0bio\0bi_iter\0bi_bdev\0bi_opf\0block_device\0bd_dev\0";
        let at = |name: &str| {
            let whole = format!("\0{name}\0");
            names.windows(whole.len()).position(|part| part == whole.as_bytes()).map_or(0, |at| at as u32 + 1)
        };
        let structure =
            |name: &str, members: u32| [at(name), STRUCT << 24 | 0x8000_0000 | members, 64].to_vec();
        let types: Vec<u32> = [
            vec![0, 1 << 24, 8, 64],
            structure("bvec_iter", 1),
            vec![at("bi_size"), 1, 64],
            structure("bio", 3),
            vec![at("bi_bdev"), 1, 64, at("bi_opf"), 1, 128, at("bi_iter"), 2, 256],
            structure("block_device", 1),
            vec![at("bd_dev"), 1, 32 << 24 | 320],
        ]
        .concat();
        let length = 4 * types.len() as u32;
        let mut bytes = [0x9f, 0xeb, 1, 0].to_vec();
        let header = [24, 0, length, length, names.len() as u32];
        bytes.extend(header.iter().chain(&types).flat_map(|word| word.to_le_bytes()));
        bytes.extend(names);
        bytes
    }

    #[test]
    fn members_are_found_where_they_are() {
        let expected = Layout { device: 8, number: 40, operation: 16, bytes: 32 + 8 };
        assert_eq!(Layout::read(&some()), Some(expected));
    }

    #[test]
    fn of_what_is_cut_or_damaged_nothing_is_read_and_nothing_breaks() {
        let whole = some();
        for length in 0..whole.len() {
            let _ = Layout::read(&whole[..length]);
            for byte in [0, 0x7f, 0xff] {
                let mut damaged = whole.clone();
                damaged[length] = byte;
                let _ = Layout::read(&damaged);
            }
        }
        assert_eq!(Layout::read(&whole[..100]), None);
        assert_eq!(Layout::read(b"\x7fELF"), None);
    }

    #[test]
    fn this_kernels_own_description_is_understood() {
        let Ok(btf) = std::fs::read("/sys/kernel/btf/vmlinux") else {
            return eprintln!("skipped: this kernel has no description of its types");
        };
        let layout = Layout::read(&btf).expect("all kernels have these");
        assert!(layout.bytes > 0 && layout.device != layout.operation);
    }
}
