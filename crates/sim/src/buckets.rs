//! The buckets of the event queue (`wheel.rs`): events by when they are due, in chunks of a cache line each.
//!
//! Chunks are shared by all buckets, so that what is touched stays as small as what is to come. Order within
//! a bucket is the wheel's business.

/// An event within its bucket: the lower half of its time above its key, so that a comparison of
/// integers is that of events. The upper half is the bucket's.
pub(crate) type Short = u64;

/// No chunk.
const NONE: u32 = u32::MAX;

/// Events of a bucket, in the order in which they were put in: a cache line of them.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, Default)]
struct Chunk {
    /// The chunk with later ones; the last is followed by the first.
    next: u32,
    count: u32,
    events: [Short; CHUNK],
}

const CHUNK: usize = 7;

/// Buckets of events to come.
#[derive(Debug)]
pub(crate) struct Buckets {
    /// The last chunk of each.
    last: Box<[u32]>,
    /// Their number, a power of two, less one.
    pub mask: u64,
    /// A bit for each that holds something.
    occupied: Box<[u64]>,
    chunks: Vec<Chunk>,
    /// The first of those that are free; the latest used are used again.
    free: u32,
}

impl Buckets {
    pub(crate) fn new(count: usize) -> Buckets {
        Buckets {
            last: vec![NONE; count].into_boxed_slice(),
            mask: count as u64 - 1,
            occupied: vec![0; count / 64].into_boxed_slice(),
            chunks: Vec::new(),
            free: NONE,
        }
    }

    #[inline(always)]
    pub(crate) fn put(&mut self, bucket: u64, short: Short) {
        let slot = bucket & self.mask;
        let last = self.last[slot as usize];
        match self.chunks.get_mut(last as usize) {
            Some(chunk) if (chunk.count as usize) < CHUNK => {
                chunk.events[chunk.count as usize] = short;
                chunk.count += 1;
            }
            _ => self.put_in_new_chunk(slot, short),
        }
    }

    #[inline(never)]
    fn put_in_new_chunk(&mut self, slot: u64, short: Short) {
        if self.free == NONE {
            self.free = self.chunks.len() as u32;
            self.chunks.push(Chunk { next: NONE, ..Chunk::default() });
        }
        let new = self.free;
        let chunk = &mut self.chunks[new as usize];
        (chunk.count, chunk.events[0]) = (1, short);
        self.free = std::mem::replace(&mut chunk.next, new);
        let last = std::mem::replace(&mut self.last[slot as usize], new);
        if last == NONE {
            self.occupied[(slot / 64) as usize] |= 1 << (slot % 64);
        } else {
            let first = std::mem::replace(&mut self.chunks[last as usize].next, new);
            self.chunks[new as usize].next = first;
        }
    }

    /// Moves the events of a bucket that holds some to `out`.
    #[inline(always)]
    pub(crate) fn empty(&mut self, bucket: u64, out: &mut Vec<Short>) {
        let slot = bucket & self.mask;
        let last = std::mem::replace(&mut self.last[slot as usize], NONE);
        let first = self.chunks[last as usize].next;
        let mut at = first;
        loop {
            let chunk = &mut self.chunks[at as usize];
            // All of it, for its length is known then.
            let end = out.len() + chunk.count as usize;
            out.extend_from_slice(&chunk.events);
            out.truncate(end);
            if at == last {
                chunk.next = std::mem::replace(&mut self.free, first);
                break;
            }
            at = chunk.next;
        }
        self.occupied[(slot / 64) as usize] &= !(1 << (slot % 64));
    }

    /// Asks for the first events of a bucket beforehand.
    pub(crate) fn prefetch(&self, bucket: u64) {
        mem::prefetch_at(&self.chunks, self.last[(bucket & self.mask) as usize] as usize);
    }

    /// The first bucket after `now`, within a turn, that holds something.
    #[inline]
    pub(crate) fn next_occupied(&self, now: u64) -> Option<u64> {
        let next = now + 1;
        let start = next & self.mask;
        let near = self.occupied[(start / 64) as usize] >> (start % 64);
        if near != 0 {
            return Some(next + u64::from(near.trailing_zeros()));
        }
        // Word by word, up to the part of the first that lies before `start`.
        let words = self.occupied.len() as u64;
        for step in 1..=words {
            let index = (start / 64 + step) & (words - 1);
            let word = self.occupied[index as usize];
            if word != 0 {
                let slot = index * 64 + u64::from(word.trailing_zeros());
                return Some(next + (slot.wrapping_sub(start) & self.mask));
            }
        }
        None
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.occupied.iter().all(|word| *word == 0)
    }
}
