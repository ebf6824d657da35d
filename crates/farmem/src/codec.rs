//! Pages that travel and are kept compressed: an LZ4 block or a Zstandard frame (RFC 8878), each page
//! separately.
//!
//! A page that does not shrink is not packed. Foreign input may be anything: unpacking writes at most a page,
//! and reports input that is not a packed page. All memory comes from Rust's allocator, and after one page in
//! each direction nothing more is allocated, so that a page-fault handler can use it. Not here: which pages,
//! and where they are kept.

use crate::wire::PAGE;
use lz4_flex::block::{self, CompressTable};
use std::fmt;
use zstd_safe::{CCtx, DCtx};

/// Zstandard's level: the library's own default, which is Linux's for zram and zswap too.
const LEVEL: i32 = zstd_safe::CLEVEL_DEFAULT;
/// What either needs for a page that does not get smaller.
const ROOM: usize = PAGE + PAGE / 8 + 64;

/// How pages are made smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// Fast.
    Lz4,
    /// Smaller.
    Zstd,
}

impl Codec {
    /// All of them.
    pub const ALL: [Codec; 2] = [Codec::Lz4, Codec::Zstd];

    /// As people write it.
    pub fn name(self) -> &'static str {
        match self {
            Codec::Lz4 => "lz4",
            Codec::Zstd => "zstd",
        }
    }
}

/// What came is no packed page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

enum Contexts {
    Lz4(CompressTable),
    Zstd(CCtx<'static>, DCtx<'static>),
}

/// Packs and unpacks.
pub struct Packer {
    contexts: Contexts,
    room: Box<[u8; ROOM]>,
}

impl fmt::Debug for Packer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let codec = match self.contexts {
            Contexts::Lz4(_) => Codec::Lz4,
            Contexts::Zstd(..) => Codec::Zstd,
        };
        write!(f, "Packer({codec:?})")
    }
}

impl Packer {
    /// One that uses this codec.
    pub fn new(codec: Codec) -> Packer {
        let contexts = match codec {
            Codec::Lz4 => Contexts::Lz4(CompressTable::small()),
            Codec::Zstd => Contexts::Zstd(CCtx::create(), DCtx::create()),
        };
        Packer { contexts, room: Box::new([0; ROOM]) }
    }

    /// The page in fewer bytes; nothing where it does not get smaller.
    pub fn pack(&mut self, page: &[u8; PAGE]) -> Option<&[u8]> {
        let room = self.room.as_mut_slice();
        let packed = match &mut self.contexts {
            Contexts::Lz4(table) => block::compress_into_with_table(page, room, table).ok(),
            Contexts::Zstd(context, _) => context.compress(room, page, LEVEL).ok(),
        };
        packed.filter(|bytes| *bytes < PAGE).map(|bytes| &self.room[..bytes])
    }

    /// Makes the page of it again.
    ///
    /// # Errors
    /// When it is none; what is in `page` then means nothing.
    pub fn unpack(&mut self, packed: &[u8], page: &mut [u8; PAGE]) -> Result<(), Damaged> {
        let bytes = match &mut self.contexts {
            Contexts::Lz4(_) => block::decompress_into(packed, page).map_err(|_| Damaged)?,
            Contexts::Zstd(_, context) => context.decompress(page, packed).map_err(|_| Damaged)?,
        };
        if bytes == PAGE { Ok(()) } else { Err(Damaged) }
    }
}
