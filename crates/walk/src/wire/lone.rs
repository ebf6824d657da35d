//! A walker alone in its datagram, with nothing that only some walkers carry, under a key: the form of nearly all
//! datagrams. It has a fixed length, so it is written and read in one piece, and the tags of two are computed side by
//! side: each of them alone would leave the processor waiting for itself. The form is that of [`Codec`].

use super::record::{plain, plain_words};
use super::{Codec, HEADER, MAGIC, VERSION, WALKER, Walker};
use crate::seal::{Key, TAG};

/// Bytes of such a datagram.
pub(crate) const LONE: usize = HEADER + WALKER + TAG;
/// Words under its tag.
const SEALED: usize = (HEADER + WALKER) / 8;

/// A datagram of a walker alone.
pub(crate) type Lone = [u8; LONE];

impl Codec {
    /// The first words of such datagrams from `server`.
    pub(crate) fn lone_header(&self, server: u16) -> [u64; 2] {
        let [magic, more] = MAGIC;
        let start = u32::from_le_bytes([magic, more, VERSION, u8::from(self.key.is_some())]);
        let (count, length) = (1, LONE as u64);
        [u64::from(start) | u64::from(self.job) << 32, u64::from(server) | count << 16 | length << 32]
    }
}

/// Writes a walker without its tag; nothing if it carries more.
#[inline]
pub(crate) fn write(header: [u64; 2], walker: &Walker, out: &mut Vec<u8>) -> bool {
    let Some(words) = plain_words(walker) else { return false };
    let mut bytes = [0; LONE];
    let all = header.into_iter().chain(words);
    bytes.chunks_exact_mut(8).zip(all).for_each(|(to, word)| to.copy_from_slice(&word.to_le_bytes()));
    out.extend_from_slice(&bytes);
    true
}

/// Puts the tags on datagrams that begin at `starts` of `out`.
#[inline]
pub(crate) fn seal<const N: usize>(key: &Key, out: &mut [u8], starts: [usize; N]) {
    let words = starts.map(|at| words(out[at..].first_chunk().expect("a whole datagram")));
    let tags = key.tags(words.map(|[sealed @ .., _]: [u64; SEALED + 1]| sealed));
    for (at, tag) in starts.into_iter().zip(tags) {
        out[at + 8 * SEALED..at + LONE].copy_from_slice(&tag.to_le_bytes());
    }
}

/// Reads the walkers of datagrams that came together. Nothing for one that is not of this form, or not right: the long
/// way says why.
#[inline]
pub(crate) fn read<const N: usize>(key: &Key, header: [u64; 2], lones: [&Lone; N]) -> [Option<Walker>; N] {
    let words = lones.map(words);
    let tags = key.tags(words.map(|[sealed @ .., _]: [u64; SEALED + 1]| sealed));
    std::array::from_fn(|i| {
        let [first, second, walker @ .., tag] = words[i];
        // All bits at once, so that how long it takes tells nothing.
        let right = (first ^ header[0]) | (second ^ header[1]) | (tag ^ tags[i]) == 0;
        if right { plain(walker) } else { None }
    })
}

#[inline(always)]
fn words(lone: &Lone) -> [u64; SEALED + 1] {
    let (words, _) = lone.as_chunks::<8>();
    std::array::from_fn(|i| u64::from_le_bytes(words[i]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Record, WalkId};
    use proptest::prelude::*;

    fn codec() -> Codec {
        Codec { job: 77, server: 3, key: Some(Key::new([9; 16])) }
    }

    fn walker(start: u32, at: u32, attempt: u16, random: u64) -> Walker {
        let id = WalkId { start, number: 5, attempt, epoch: 4, born_ns: random / 3 };
        let (previous, candidate, path) = (None, None, Vec::new());
        Walker { id, source: 2, at, previous, candidate, steps: 6, random, path }
    }

    proptest! {
        #[test]
        fn it_is_the_form_of_the_codec(start in 0..u32::MAX, at in 0..u32::MAX, attempt in 1..=u16::MAX, random: u64) {
            let walkers = [walker(start, at, attempt, random), walker(at, start, attempt, !random)];
            let (codec, key) = (codec(), Key::new([9; 16]));
            let mut out = Vec::new();
            for walker in &walkers {
                prop_assert!(write(codec.lone_header(3), walker, &mut out));
            }
            seal(&key, &mut out, [0, LONE]);
            let long = walkers.clone().map(|walker| codec.encode(&[Record::Walker(walker)]));
            prop_assert_eq!(&out, &long.concat());
            let (lones, _) = out.as_chunks::<LONE>();
            let read = read(&key, codec.lone_header(3), [&lones[0], &lones[1]]);
            prop_assert_eq!(read, walkers.map(Some));
        }

        #[test]
        fn any_change_sends_it_the_long_way(at in 0..LONE, xor in 1u8..) {
            let (codec, key) = (codec(), Key::new([9; 16]));
            let mut bytes = codec.encode(&[Record::Walker(walker(1, 2, 3, 4))]);
            bytes[at] ^= xor;
            let lone = bytes.first_chunk().unwrap();
            prop_assert_eq!(read(&key, codec.lone_header(3), [lone]), [None]);
        }
    }

    #[test]
    fn what_the_codec_refuses_or_takes_otherwise_is_not_taken() {
        let (codec, key) = (codec(), Key::new([9; 16]));
        let lone = |walker: Walker| {
            let bytes = codec.encode(&[Record::Walker(walker)]);
            let [read] = read(&key, codec.lone_header(3), [bytes.first_chunk().unwrap()]);
            read
        };
        assert!(lone(walker(1, 2, 3, 4)).is_some());
        assert!(lone(walker(u32::MAX, 2, 3, 4)).is_none(), "no such node");
        assert!(lone(walker(1, u32::MAX, 3, 4)).is_none(), "no such node");
        assert!(lone(walker(1, 2, 0, 4)).is_none(), "attempts count from 1");
        let mut more = walker(1, 2, 3, 4);
        more.previous = Some(1);
        let mut out = Vec::new();
        assert!(!write(codec.lone_header(3), &more, &mut out) && out.is_empty());
        assert!(lone(more).is_none(), "it carries more");
    }
}
