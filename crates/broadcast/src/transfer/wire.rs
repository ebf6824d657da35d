//! Messages between nodes, framed on streams: a length of four bytes and a message; numbers are little-endian. The bytes
//! of a chunk follow its message, outside of the frame.
//!
//! Every byte is hostile: a frame is at most [`FRAME_MAX`] bytes, a list no longer than its frame, a chunk one of the
//! file and as long as that, and what doesn't fit exactly is [`Malformed`].

use super::chunks::{CHUNKS_MAX, Chunks};
use super::set::ChunkSet;
use super::store::Hash;
use process::{HostId, Payload};

/// Longest message in bytes: a set of all chunks fits, and a plan of [`TREES_MAX`] trees.
pub(crate) const FRAME_MAX: usize = 192 << 10;
/// Most trees of a plan.
pub(crate) const TREES_MAX: usize = 10_000;
/// Longest text in bytes; longer ones are cut.
pub(crate) const TEXT_MAX: usize = 1024;
/// Hosts or edges that a message names at most.
pub(crate) const LIST_MAX: usize = 10_000;
/// Hashes of a message.
pub(crate) const HASHES_MAX: u32 = 4096;

/// What a parent says of a child: how fast data went there since the last report, and what kept it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    /// Who receives.
    pub child: HostId,
    /// What the child confirmed, in bytes.
    pub bytes: u64,
    /// In so many microseconds.
    pub micros: u64,
    /// Of them, with data at hand that the network did not take.
    pub network_micros: u64,
    /// Of them, with data at hand that the pace held back.
    pub paced_micros: u64,
}

/// What nodes say to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// To the coordinator: here I am, and this is what I have.
    Join { have: ChunkSet },
    /// To the coordinator: so much I have, and so the data went to my children.
    Report { chunks: u32, edges: Vec<Edge> },
    /// To the coordinator: I have everything, and it is the source's.
    Complete,
    /// To the coordinator: I can't go on.
    Failed { reason: String },
    /// To the coordinator: a parent can't be reached.
    Unreachable { host: HostId },
    /// To the coordinator: I have all chunks, what is the hash over their hashes?
    AskRoot,
    /// To the coordinator: what are the hashes of the chunks from this one on?
    AskHashes { from: u32 },
    /// From the coordinator: the rates of all trees in bit/s, the trees that the receiver of this is in, and who feeds
    /// it there.
    Plan { version: u32, rates: Vec<u64>, mine: Vec<(u32, HostId)> },
    /// From the coordinator: it is there, and the first hosts that have everything.
    Beat { complete: Vec<HostId> },
    /// From the coordinator: the answer to [`Message::AskRoot`].
    Root { hash: Hash },
    /// From the coordinator: the answer to [`Message::AskHashes`].
    Hashes { from: u32, hashes: Vec<Hash> },
    /// From the coordinator: streams with this host lead nowhere.
    Gone { host: HostId },
    /// From the coordinator: everybody has everything, or has failed.
    Finish,
    /// From the coordinator: the broadcast can't be finished.
    Abandon { reason: String },
    /// To who took it for the coordinator: it follows another one, or nobody.
    Elsewhere { coordinator: Option<HostId> },
    /// To a parent, first of all.
    Fetch,
    /// To a parent: send these chunks when there; chunks of class 0 before those of class 1. Or: `now`, the others
    /// come back.
    Want { class: u8, now: bool, set: ChunkSet },
    /// To a parent: don't send these, and say which weren't sent.
    Drop { set: ChunkSet },
    /// To a parent: the plan's rate, in bit/s.
    Pace { rate: u64 },
    /// To a parent: so many chunks have come on this stream in all.
    Got { chunks: u32 },
    /// From a parent: a chunk, whose bytes follow; so many more are there that were asked for.
    Chunk { number: u32, ready: u32, hash: Hash },
    /// From a parent: these won't be sent.
    Dropped { set: ChunkSet },
}

/// What came is no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

struct Writer(Vec<u8>);

impl Writer {
    fn byte(&mut self, n: u8) -> &mut Writer {
        self.0.push(n);
        self
    }
    fn word(&mut self, n: u32) -> &mut Writer {
        self.0.extend(n.to_le_bytes());
        self
    }
    fn long(&mut self, n: u64) -> &mut Writer {
        self.0.extend(n.to_le_bytes());
        self
    }
    fn text(&mut self, text: &str) -> &mut Writer {
        let end = text.floor_char_boundary(TEXT_MAX);
        self.word(end as u32);
        self.0.extend_from_slice(&text.as_bytes()[..end]);
        self
    }
    fn set(&mut self, set: &ChunkSet) -> &mut Writer {
        let (first, words) = set.to_words();
        self.word(first).word(words.len() as u32);
        words.iter().fold(self, |w, word| w.long(*word))
    }
    fn hosts(&mut self, hosts: &[HostId]) -> &mut Writer {
        self.word(hosts.len() as u32);
        hosts.iter().fold(self, |w, host| w.word(host.0))
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, rest) = self.0.split_first_chunk::<N>().ok_or(Malformed)?;
        self.0 = rest;
        Ok(*head)
    }
    fn byte(&mut self) -> Result<u8, Malformed> {
        self.take::<1>().map(|[byte]| byte)
    }
    fn flag(&mut self) -> Result<bool, Malformed> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed),
        }
    }
    fn word(&mut self) -> Result<u32, Malformed> {
        self.take().map(u32::from_le_bytes)
    }
    fn long(&mut self) -> Result<u64, Malformed> {
        self.take().map(u64::from_le_bytes)
    }
    fn host(&mut self) -> Result<HostId, Malformed> {
        self.word().map(HostId)
    }
    fn text(&mut self) -> Result<String, Malformed> {
        let n = self.word()? as usize;
        if n > TEXT_MAX || n > self.0.len() {
            return Err(Malformed);
        }
        let (text, rest) = self.0.split_at(n);
        self.0 = rest;
        Ok(str::from_utf8(text).map_err(|_| Malformed)?.to_owned())
    }
    /// So many things of at least `bytes` each: no more than are there.
    fn count(&mut self, most: usize, bytes: usize) -> Result<usize, Malformed> {
        let n = self.word()? as usize;
        if n > most || n * bytes > self.0.len() { Err(Malformed) } else { Ok(n) }
    }
    fn set(&mut self) -> Result<ChunkSet, Malformed> {
        let first = self.word()?;
        let n = self.count(CHUNKS_MAX as usize / 64, 8)?;
        if first as usize + n > CHUNKS_MAX as usize / 64 {
            return Err(Malformed);
        }
        let words: Vec<u64> = (0..n).map(|_| self.long()).collect::<Result<_, _>>()?;
        Ok(ChunkSet::from_words(first, &words))
    }
    fn hosts(&mut self) -> Result<Vec<HostId>, Malformed> {
        (0..self.count(LIST_MAX, 4)?).map(|_| self.host()).collect()
    }
    fn edge(&mut self) -> Result<Edge, Malformed> {
        Ok(Edge {
            child: self.host()?,
            bytes: self.long()?,
            micros: self.long()?,
            network_micros: self.long()?,
            paced_micros: self.long()?,
        })
    }
}

/// Stands for "no host".
const NOBODY: u32 = u32::MAX;

impl Message {
    /// The message as a frame.
    pub(crate) fn encode(&self) -> Payload {
        let mut w = Writer(vec![0; 4]);
        match self {
            Message::Join { have } => w.byte(1).set(have),
            Message::Report { chunks, edges } => {
                w.byte(2).word(*chunks).word(edges.len() as u32);
                edges.iter().fold(&mut w, |w, edge| {
                    w.word(edge.child.0).long(edge.bytes).long(edge.micros);
                    w.long(edge.network_micros).long(edge.paced_micros)
                })
            }
            Message::Complete => w.byte(3),
            Message::Failed { reason } => w.byte(4).text(reason),
            Message::Unreachable { host } => w.byte(5).word(host.0),
            Message::AskRoot => w.byte(6),
            Message::AskHashes { from } => w.byte(7).word(*from),
            Message::Plan { version, rates, mine } => {
                w.byte(8).word(*version).word(rates.len() as u32);
                rates.iter().for_each(|rate| {
                    w.long(*rate);
                });
                w.word(mine.len() as u32);
                mine.iter().fold(&mut w, |w, (tree, parent)| w.word(*tree).word(parent.0))
            }
            Message::Beat { complete } => w.byte(9).hosts(complete),
            Message::Root { hash } => {
                w.byte(10).0.extend(hash);
                &mut w
            }
            Message::Hashes { from, hashes } => {
                w.byte(11).word(*from).word(hashes.len() as u32);
                hashes.iter().for_each(|hash| w.0.extend(hash));
                &mut w
            }
            Message::Gone { host } => w.byte(12).word(host.0),
            Message::Finish => w.byte(13),
            Message::Abandon { reason } => w.byte(14).text(reason),
            Message::Elsewhere { coordinator } => w.byte(15).word(coordinator.map_or(NOBODY, |host| host.0)),
            Message::Fetch => w.byte(20),
            Message::Want { class, now, set } => w.byte(21).byte(*class).byte(u8::from(*now)).set(set),
            Message::Drop { set } => w.byte(22).set(set),
            Message::Pace { rate } => w.byte(23).long(*rate),
            Message::Got { chunks } => w.byte(24).word(*chunks),
            Message::Chunk { number, ready, hash } => {
                w.byte(25).word(*number).word(*ready).0.extend(hash);
                &mut w
            }
            Message::Dropped { set } => w.byte(26).set(set),
        };
        let length = (w.0.len() - 4) as u32;
        w.0[..4].copy_from_slice(&length.to_le_bytes());
        Payload::from(w.0)
    }

    /// The message in a frame's content, about a file of `chunks`.
    ///
    /// # Errors
    /// It is none.
    pub(crate) fn decode(content: &[u8], chunks: Chunks) -> Result<Message, Malformed> {
        let mut r = Reader(content);
        let of_file = |set: ChunkSet| {
            let beyond = set.iter().last().is_some_and(|last| last >= chunks.count());
            if beyond { Err(Malformed) } else { Ok(set) }
        };
        let message = match r.byte()? {
            1 => Message::Join { have: of_file(r.set()?)? },
            2 => {
                let chunks = r.word()?;
                let n = r.count(LIST_MAX, 36)?;
                Message::Report { chunks, edges: (0..n).map(|_| r.edge()).collect::<Result<_, _>>()? }
            }
            3 => Message::Complete,
            4 => Message::Failed { reason: r.text()? },
            5 => Message::Unreachable { host: r.host()? },
            6 => Message::AskRoot,
            7 => Message::AskHashes { from: r.word()? },
            8 => plan(&mut r)?,
            9 => Message::Beat { complete: r.hosts()? },
            10 => Message::Root { hash: r.take()? },
            11 => {
                let from = r.word()?;
                let n = r.count(HASHES_MAX as usize, 32)?;
                Message::Hashes { from, hashes: (0..n).map(|_| r.take()).collect::<Result<_, _>>()? }
            }
            12 => Message::Gone { host: r.host()? },
            13 => Message::Finish,
            14 => Message::Abandon { reason: r.text()? },
            15 => {
                let host = r.host()?;
                Message::Elsewhere { coordinator: (host.0 != NOBODY).then_some(host) }
            }
            20 => Message::Fetch,
            21 => {
                let (class, now) = (r.byte()?, r.flag()?);
                if class > 1 {
                    return Err(Malformed);
                }
                Message::Want { class, now, set: of_file(r.set()?)? }
            }
            22 => Message::Drop { set: of_file(r.set()?)? },
            23 => Message::Pace { rate: r.long()? },
            24 => Message::Got { chunks: r.word()? },
            25 => {
                let (number, ready, hash) = (r.word()?, r.word()?, r.take()?);
                if number >= chunks.count() {
                    return Err(Malformed);
                }
                Message::Chunk { number, ready, hash }
            }
            26 => Message::Dropped { set: of_file(r.set()?)? },
            _ => return Err(Malformed),
        };
        if r.0.is_empty() { Ok(message) } else { Err(Malformed) }
    }
}

fn plan(r: &mut Reader<'_>) -> Result<Message, Malformed> {
    let version = r.word()?;
    let trees = r.count(TREES_MAX, 8)?;
    let rates: Vec<u64> = (0..trees).map(|_| r.long()).collect::<Result<_, _>>()?;
    let n = r.count(trees, 8)?;
    let mine: Vec<(u32, HostId)> = (0..n).map(|_| Ok((r.word()?, r.host()?))).collect::<Result<_, _>>()?;
    // Each tree is one of the plan's, and named once, in order; its rate is none that a sum overflows with.
    let ascending = mine.windows(2).all(|two| two[0].0 < two[1].0);
    let known = mine.last().is_none_or(|last| (last.0 as usize) < trees);
    let sane = rates.iter().all(|rate| (1..=crate::topology::RATE_MAX as u64).contains(rate));
    if ascending && known && sane { Ok(Message::Plan { version, rates, mine }) } else { Err(Malformed) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn chunks() -> Chunks {
        Chunks::new(1000, 10).unwrap()
    }

    fn content(message: &Message) -> Vec<u8> {
        let Payload::Data(bytes) = message.encode() else { panic!("real bytes") };
        let (length, content) = bytes.split_first_chunk::<4>().unwrap();
        assert_eq!(u32::from_le_bytes(*length) as usize, content.len());
        content.to_vec()
    }

    fn all() -> Vec<Message> {
        let set: ChunkSet = [3, 70, 99].into_iter().collect();
        let edge = Edge { child: HostId(3), bytes: 1, micros: 2, network_micros: 3, paced_micros: 4 };
        let hash = [7; 32];
        vec![
            Message::Join { have: set.clone() },
            Message::Report { chunks: 5, edges: vec![edge, edge] },
            Message::Complete,
            Message::Failed { reason: "disk full".into() },
            Message::Unreachable { host: HostId(9) },
            Message::AskRoot,
            Message::AskHashes { from: 4 },
            Message::Plan { version: 2, rates: vec![10, 20], mine: vec![(1, HostId(4))] },
            Message::Beat { complete: vec![HostId(1), HostId(2)] },
            Message::Root { hash },
            Message::Hashes { from: 1, hashes: vec![hash; 3] },
            Message::Gone { host: HostId(1) },
            Message::Finish,
            Message::Abandon { reason: "nobody has it".into() },
            Message::Elsewhere { coordinator: None },
            Message::Elsewhere { coordinator: Some(HostId(0)) },
            Message::Fetch,
            Message::Want { class: 1, now: true, set: set.clone() },
            Message::Drop { set: ChunkSet::default() },
            Message::Pace { rate: 1 << 40 },
            Message::Got { chunks: 77 },
            Message::Chunk { number: 99, ready: 4, hash },
            Message::Dropped { set },
        ]
    }

    #[test]
    fn messages_come_back() {
        for message in all() {
            assert_eq!(Message::decode(&content(&message), chunks()), Ok(message));
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for message in all() {
            let content = content(&message);
            assert!(Message::decode(&content[..content.len() - 1], chunks()).is_err(), "{message:?}");
            assert!(Message::decode(&[content, vec![0]].concat(), chunks()).is_err(), "{message:?}");
        }
        let beyond: ChunkSet = [100].into_iter().collect();
        let refused = [
            Message::Drop { set: beyond },
            Message::Chunk { number: 100, ready: 0, hash: [0; 32] },
            Message::Want { class: 2, now: false, set: ChunkSet::default() },
            Message::Plan { version: 0, rates: vec![1], mine: vec![(1, HostId(0))] },
            Message::Plan { version: 0, rates: vec![0], mine: vec![] },
            Message::Plan { version: 0, rates: vec![1, 1], mine: vec![(1, HostId(0)), (1, HostId(1))] },
        ];
        for message in refused {
            assert_eq!(Message::decode(&content(&message), chunks()), Err(Malformed), "{message:?}");
        }
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let reason = "ü".repeat(TEXT_MAX);
        let Ok(Message::Failed { reason }) = Message::decode(&content(&Message::Failed { reason }), chunks())
        else {
            panic!("it is one")
        };
        assert_eq!(reason.len(), TEXT_MAX);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_none(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0u8..30) {
            let mut bytes = bytes;
            if let Some(first) = bytes.first_mut() {
                *first = kind;
            }
            if let Ok(message) = Message::decode(&bytes, chunks()) {
                prop_assert_eq!(Message::decode(&content(&message), chunks()), Ok(message));
            }
        }
    }
}
