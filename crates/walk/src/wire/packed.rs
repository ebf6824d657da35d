//! A walker in as many words as it takes on the wire, and in the same form. So most walkers of most jobs go
//! from their datagram to the queue and into the next datagram without being taken apart. What only some
//! carry is kept beside.

use super::record::{KIND_ENDED, KIND_WALKER, common, flags_of, id_words, node, put};
use super::said::{ENDED, End, HEADER, LONE, WALKER, WalkId, Walker};

/// What few walkers carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct More {
    previous: Option<u32>,
    candidate: Option<u32>,
    path: Vec<u32>,
}

/// The words of a walker, as a record has them; its flags say whether there is more to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packed(pub(super) [u64; WALKER / 8]);

impl Packed {
    /// A walker that carries nothing more, at the place where it begins.
    #[inline(always)]
    pub fn new(id: &WalkId, source: u16, random: u64) -> Packed {
        let [first, second, born] = id_words(KIND_WALKER, 0, id, source);
        Packed([first, second, born, u64::from(id.start), random])
    }

    /// The words of a walker, and what more it carries.
    #[inline]
    pub fn of(walker: Walker) -> (Packed, Option<More>) {
        let flags = flags_of(&walker);
        let Walker { id, source, at, previous, candidate, steps, random, path } = walker;
        let [first, second, born] = id_words(KIND_WALKER, flags, &id, source);
        let words = [first, second, born, u64::from(steps) << 32 | u64::from(at), random];
        (Packed(words), (flags != 0).then_some(More { previous, candidate, path }))
    }

    /// The words of a walker that carries nothing more; nothing if they mean none.
    #[inline(always)]
    pub fn read(words: [u64; WALKER / 8]) -> Option<Packed> {
        let [first, _, _, place, _] = words;
        let plain = first & 0xffff == u64::from(KIND_WALKER);
        let attempt = first as u32 >> 16 != 0;
        let nodes = node((first >> 32) as u32).is_ok() & node(place as u32).is_ok();
        (plain & attempt & nodes).then_some(Packed(words))
    }

    /// The walker with what more it carries.
    #[inline]
    pub fn unpack(self, more: Option<More>) -> Walker {
        let Packed([.., random]) = self;
        let (previous, candidate, path) = match more {
            Some(More { previous, candidate, path }) => (previous, candidate, path),
            None => (None, None, Vec::new()),
        };
        let (id, source, at, steps) = (self.id(), self.source(), self.at(), self.steps());
        Walker { id, source, at, previous, candidate, steps, random, path }
    }

    /// Whether it carries more.
    #[inline]
    pub fn has_more(self) -> bool {
        self.0[0] >> 8 & 0xff != 0
    }

    #[inline(always)]
    pub fn id(self) -> WalkId {
        common(self.0[0], self.0[1], self.0[2]).0
    }

    #[inline(always)]
    pub fn start(self) -> u32 {
        (self.0[0] >> 32) as u32
    }

    #[inline(always)]
    pub fn source(self) -> u16 {
        (self.0[1] >> 48) as u16
    }

    #[inline(always)]
    pub fn at(self) -> u32 {
        self.0[3] as u32
    }

    #[inline(always)]
    pub fn steps(self) -> u32 {
        (self.0[3] >> 32) as u32
    }

    #[inline(always)]
    pub fn random(self) -> u64 {
        self.0[4]
    }

    /// It has gone on.
    #[inline(always)]
    pub fn moved(&mut self, at: u32, steps: u32, random: u64) {
        (self.0[3], self.0[4]) = (u64::from(steps) << 32 | u64::from(at), random);
    }

    /// Puts it behind `out`.
    #[inline(always)]
    pub fn write(self, out: &mut Vec<u8>) {
        put(self.0, out);
    }

    /// Puts a datagram with nothing else in it behind `out`, with room for a tag.
    #[inline(always)]
    pub fn write_alone(self, [one, two]: [u64; HEADER / 8], out: &mut Vec<u8>) {
        let [a, b, c, d, e] = self.0;
        put([one, two, a, b, c, d, e, 0], out);
    }

    /// Reads a datagram with nothing else in it, whose tag is right. Nothing if it has not this header, or
    /// carries more.
    #[inline(always)]
    pub fn read_alone(header: [u64; HEADER / 8], datagram: &[u8; LONE]) -> Option<Packed> {
        let (words, _) = datagram.as_chunks::<8>();
        let words: [u64; LONE / 8] = std::array::from_fn(|i| u64::from_le_bytes(words[i]));
        let [one, two, walker @ .., _] = words;
        ([one, two] == header).then(|| Packed::read(walker)).flatten()
    }

    /// The record of its end, where it is.
    #[inline(always)]
    pub fn ended(self) -> PackedEnd {
        let [first, second, born, place, _] = self.0;
        PackedEnd([first & !0xffff | u64::from(KIND_ENDED), second & (u64::MAX >> 16), born, place])
    }
}

/// The words of the end of a walk without a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackedEnd(pub(super) [u64; ENDED / 8]);

impl PackedEnd {
    /// Nothing if the words mean none, or one with a path.
    #[inline(always)]
    pub fn read(words: [u64; ENDED / 8]) -> Option<PackedEnd> {
        let [first, second, _, place] = words;
        let plain = first & 0xffff == u64::from(KIND_ENDED) && second >> 48 == 0;
        let attempt = first as u32 >> 16 != 0;
        let nodes = node((first >> 32) as u32).is_ok() & node(place as u32).is_ok();
        (plain & attempt & nodes).then_some(PackedEnd(words))
    }

    /// Puts it behind `out`.
    #[inline(always)]
    pub fn write(self, out: &mut Vec<u8>) {
        put(self.0, out);
    }

    /// What it says.
    #[inline(always)]
    pub fn view(self) -> End<'static> {
        let [first, second, born, place] = self.0;
        let (id, ..) = common(first, second, born);
        End { id, end: place as u32, steps: (place >> 32) as u32, path: &[] }
    }
}
