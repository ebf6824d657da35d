//! The form of messages on streams (`process::wire`). The bytes of a chunk follow its message, outside the
//! frame.
//!
//! Every byte is hostile: a chunk must be one of the file and have its length, a list must be within its
//! bounds, and anything that doesn't fit exactly is [`Malformed`].

use super::chunks::{CHUNKS_MAX, Chunks};
use super::message::{Edge, Message};
use super::ranked::OTHER;
use super::set::ChunkSet;
use process::Payload;
use process::wire::{Framing, Malformed, Reader, Writer};

/// Messages of up to 192 KiB: a set of all chunks fits, and a plan of [`TREES_MAX`] trees.
pub(crate) const FRAMING: Framing = Framing::new(4, 192 << 10);
/// Most trees of a plan.
pub(crate) const TREES_MAX: usize = 10_000;
/// Longest text in bytes; longer ones are cut.
pub(crate) const TEXT_MAX: usize = 1024;
/// Hosts or edges that a message names at most.
pub(crate) const LIST_MAX: usize = 10_000;
/// Longest time of a report, in microseconds (eleven days): sums and products of it stay exact.
const REPORT_MICROS_MAX: u64 = 1_000_000_000_000;
/// Hashes of a message.
pub(crate) const HASHES_MAX: u32 = 4096;

fn write_set<'a>(w: &'a mut Writer, set: &ChunkSet) -> &'a mut Writer {
    let (first, words) = set.to_words();
    w.word(first).list(words.iter(), |w, word| w.long(*word))
}

fn read_set(r: &mut Reader<'_>, chunks: Chunks) -> Result<ChunkSet, Malformed> {
    let first = r.word()?;
    let most = CHUNKS_MAX as usize / 64;
    let words = r.list(most, 8, Reader::long)?;
    if first as usize + words.len() > most {
        return Err(Malformed);
    }
    let set = ChunkSet::from_words(first, &words);
    let beyond = set.iter().last().is_some_and(|last| last >= chunks.count());
    if beyond { Err(Malformed) } else { Ok(set) }
}

fn read_class(r: &mut Reader<'_>) -> Result<u8, Malformed> {
    let class = r.byte()?;
    if class > OTHER { Err(Malformed) } else { Ok(class) }
}

fn write_edge<'w>(w: &'w mut Writer, edge: &Edge) -> &'w mut Writer {
    w.host(edge.child).long(edge.bytes).long(edge.micros).long(edge.network_micros).long(edge.paced_micros)
}

fn read_edge(r: &mut Reader<'_>) -> Result<Edge, Malformed> {
    let edge = Edge {
        child: r.host()?,
        bytes: r.long()?,
        micros: r.long()?,
        network_micros: r.long()?,
        paced_micros: r.long()?,
    };
    let parts = [edge.micros, edge.network_micros, edge.paced_micros];
    if parts.iter().all(|micros| *micros <= REPORT_MICROS_MAX) { Ok(edge) } else { Err(Malformed) }
}

impl Message {
    /// The message as a frame.
    pub(crate) fn encode(&self) -> Payload {
        let mut w = Writer::new(FRAMING);
        match self {
            Message::Join { have } => write_set(w.byte(1), have),
            Message::Report { chunks, edges } => w.byte(2).word(*chunks).list(edges.iter(), write_edge),
            Message::Complete => w.byte(3),
            Message::Failed { reason } => w.byte(4).text(reason, TEXT_MAX),
            Message::Unreachable { host } => w.byte(5).host(*host),
            Message::AskRoot => w.byte(6),
            Message::AskHashes { from } => w.byte(7).word(*from),
            Message::Plan { version, rates, mine } => {
                w.byte(8).word(*version).list(rates.iter(), |w, rate| w.long(*rate));
                w.list(mine.iter(), |w, (tree, parent)| w.word(*tree).host(*parent))
            }
            Message::Beat { complete } => w.byte(9).list(complete.iter(), |w, host| w.host(*host)),
            Message::Root { hash } => w.byte(10).bytes(hash),
            Message::Hashes { from, hashes } => {
                w.byte(11).word(*from).list(hashes.iter(), |w, hash| w.bytes(hash))
            }
            Message::Gone { host } => w.byte(12).host(*host),
            Message::Finish => w.byte(13),
            Message::Abandon { reason } => w.byte(14).text(reason, TEXT_MAX),
            Message::Elsewhere { coordinator } => w.byte(15).host_or_nobody(*coordinator),
            Message::Fetch => w.byte(20),
            Message::Want { class, now, set } => write_set(w.byte(21).byte(*class).flag(*now), set),
            Message::Drop { set } => write_set(w.byte(22), set),
            Message::Rank { class, set } => write_set(w.byte(27).byte(*class), set),
            Message::Pace { rate } => w.byte(23).long(*rate),
            Message::Got { chunks } => w.byte(24).word(*chunks),
            Message::Chunk { number, ready, hash } => w.byte(25).word(*number).word(*ready).bytes(hash),
            Message::Dropped { set } => write_set(w.byte(26), set),
        };
        Payload::from(w.finish())
    }

    /// The message in a frame's content, about a file of `chunks`.
    ///
    /// # Errors
    /// It is none.
    pub(crate) fn decode(content: &[u8], chunks: Chunks) -> Result<Message, Malformed> {
        let mut r = Reader::new(content);
        let message = match r.byte()? {
            1 => Message::Join { have: read_set(&mut r, chunks)? },
            2 => {
                let chunks = r.word()?;
                Message::Report { chunks, edges: r.list(LIST_MAX, 36, read_edge)? }
            }
            3 => Message::Complete,
            4 => Message::Failed { reason: r.text(TEXT_MAX)? },
            5 => Message::Unreachable { host: r.host()? },
            6 => Message::AskRoot,
            7 => Message::AskHashes { from: r.word()? },
            8 => plan(&mut r)?,
            9 => Message::Beat { complete: r.list(LIST_MAX, 4, Reader::host)? },
            10 => Message::Root { hash: r.take()? },
            11 => {
                let from = r.word()?;
                Message::Hashes { from, hashes: r.list(HASHES_MAX as usize, 32, Reader::take)? }
            }
            12 => Message::Gone { host: r.host()? },
            13 => Message::Finish,
            14 => Message::Abandon { reason: r.text(TEXT_MAX)? },
            15 => Message::Elsewhere { coordinator: r.host_or_nobody()? },
            20 => Message::Fetch,
            21 => {
                let (class, now) = (read_class(&mut r)?, r.flag()?);
                Message::Want { class, now, set: read_set(&mut r, chunks)? }
            }
            22 => Message::Drop { set: read_set(&mut r, chunks)? },
            23 => Message::Pace { rate: r.long()? },
            24 => Message::Got { chunks: r.word()? },
            25 => {
                let (number, ready, hash) = (r.word()?, r.word()?, r.take()?);
                if number >= chunks.count() {
                    return Err(Malformed);
                }
                Message::Chunk { number, ready, hash }
            }
            26 => Message::Dropped { set: read_set(&mut r, chunks)? },
            27 => Message::Rank { class: read_class(&mut r)?, set: read_set(&mut r, chunks)? },
            _ => return Err(Malformed),
        };
        r.end(message)
    }
}

fn plan(r: &mut Reader<'_>) -> Result<Message, Malformed> {
    let version = r.word()?;
    let rates = r.list(TREES_MAX, 8, Reader::long)?;
    let mine = r.list(rates.len(), 8, |r| Ok((r.word()?, r.host()?)))?;
    // Each tree is one of the plan's, and named once, in order; its rate is none that a sum overflows with.
    let ascending = mine.windows(2).all(|two| two[0].0 < two[1].0);
    let known = mine.last().is_none_or(|last| (last.0 as usize) < rates.len());
    let sane = rates.iter().all(|rate| (1..=crate::topology::RATE_MAX as u64).contains(rate));
    if ascending && known && sane { Ok(Message::Plan { version, rates, mine }) } else { Err(Malformed) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use process::HostId;
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
            Message::Rank { class: 0, set: set.clone() },
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
        let edge = Edge { child: HostId(3), bytes: 1, micros: u64::MAX, network_micros: 0, paced_micros: 0 };
        let refused = [
            Message::Report { chunks: 5, edges: vec![edge] },
            Message::Drop { set: beyond },
            Message::Chunk { number: 100, ready: 0, hash: [0; 32] },
            Message::Want { class: 3, now: false, set: ChunkSet::default() },
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
