//! Messages between nodes: what Hadoop's RPCs, the block transfer protocol and the shuffle's HTTP say, in a
//! form of our own (`process::wire`).

use process::HostId;
use process::wire::{Framing, Malformed, Reader, Writer};

/// Longest message in bytes.
pub(crate) const FRAME_MAX: usize = 2048;
/// Longest list of hosts or maps in a message.
pub(crate) const LIST_MAX: usize = 64;
/// Length in bytes of a call and of its answer, as frames: what a call of the NameNode's or of the umbilical
/// takes with its headers is some hundred bytes.
pub(crate) const CALL_BYTES: usize = 300;
/// Finished maps that a message tells of at most.
pub(crate) const COMPLETED_MAX: usize = 200;

/// A map or a reduce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Map,
    Reduce,
}

/// What nodes say to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// NodeManager to master: here I am.
    Register,
    /// NodeManager to master: containers may be assigned.
    Heartbeat,
    /// NodeManager to master: which maps have finished, from the `from`-th event on?
    Poll { from: u32 },
    /// NodeManager to master: a task has ended.
    Done { kind: Kind, number: u32 },
    /// NodeManager to master: a task has failed.
    Failed { kind: Kind, number: u32 },
    /// NodeManager to master: the output of a map couldn't be fetched from a node.
    FetchFailed { map: u32, from: HostId },
    /// NodeManager to master, as the NameNode: `copies` data nodes for a block, not `without`.
    AddBlock { work: u64, copies: u8, log: bool, without: Option<HostId> },
    /// A remote call of no particular content: of a work to the master; of the application master, as work 0,
    /// by way of its node.
    Call { work: u64 },
    /// NodeManager to master: all logs are uploaded.
    Idle,
    /// Master to NodeManager: run a task, in a container that has run one before or in a new one.
    Run { kind: Kind, number: u32, reuse: bool },
    /// Master to NodeManager: maps that have finished, and where, from the `from`-th event on.
    Completed { from: u32, events: Vec<(u32, HostId)> },
    /// Master to NodeManager: the data nodes of a new block.
    Block { work: u64, nodes: Vec<HostId> },
    /// The answer to a call.
    Answer { work: u64 },
    /// Master to NodeManager: end a reduce, its container is needed.
    Kill { reduce: u32 },
    /// Master to NodeManager: the job is done.
    Finish,
    /// Master to NodeManager: the job has failed.
    Stop,
    /// To a data node: send so many bytes of a block.
    Read { bytes: u64 },
    /// To a data node: take in a block and pass it on to `rest`.
    Write { bytes: u64, group: u64, rest: Vec<HostId> },
    /// To a NodeManager's shuffle handler: send the parts of these maps for a reduce.
    Fetch { reduce: u32, maps: Vec<u32> },
}

/// Two bytes of length, and a message.
pub(crate) const FRAMING: Framing = Framing::new(2, FRAME_MAX);

fn list(w: &mut Writer, words: impl ExactSizeIterator<Item = u32>) -> &mut Writer {
    w.byte(words.len() as u8);
    words.fold(w, Writer::word)
}

fn kind(r: &mut Reader<'_>) -> Result<Kind, Malformed> {
    match r.byte()? {
        0 => Ok(Kind::Map),
        1 => Ok(Kind::Reduce),
        _ => Err(Malformed),
    }
}

/// The number of a work, and the padding of its call.
fn call(r: &mut Reader<'_>) -> Result<u64, Malformed> {
    let work = r.long()?;
    r.bytes(CALL_BYTES - FRAMING.prefix() - 1 - 8)?;
    Ok(work)
}

fn words(r: &mut Reader<'_>) -> Result<Vec<u32>, Malformed> {
    let n = usize::from(r.byte()?);
    if n > LIST_MAX { Err(Malformed) } else { (0..n).map(|_| r.word()).collect() }
}

fn hosts(r: &mut Reader<'_>) -> Result<Vec<HostId>, Malformed> {
    Ok(words(r)?.into_iter().map(HostId).collect())
}

impl Message {
    /// The message as a frame.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut w = Writer::new(FRAMING);
        match self {
            Message::Register => w.byte(1),
            Message::Heartbeat => w.byte(2),
            Message::Poll { from } => w.byte(3).word(*from),
            Message::Done { kind, number } => w.byte(4).byte(*kind as u8).word(*number),
            Message::Failed { kind, number } => w.byte(5).byte(*kind as u8).word(*number),
            Message::FetchFailed { map, from } => w.byte(6).word(*map).host(*from),
            Message::AddBlock { work, copies, log, without } => {
                w.byte(7).long(*work).byte(*copies).flag(*log).host_or_nobody(*without)
            }
            Message::Idle => w.byte(8),
            Message::Run { kind, number, reuse } => w.byte(9).byte(*kind as u8).word(*number).flag(*reuse),
            Message::Completed { from, events } => {
                w.byte(10).word(*from).byte(events.len() as u8);
                events.iter().fold(&mut w, |w, (map, host)| w.word(*map).host(*host))
            }
            Message::Block { work, nodes } => list(w.byte(11).long(*work), nodes.iter().map(|h| h.0)),
            Message::Kill { reduce } => w.byte(12).word(*reduce),
            Message::Finish => w.byte(13),
            Message::Stop => w.byte(14),
            Message::Read { bytes } => w.byte(15).long(*bytes),
            Message::Write { bytes, group, rest } => {
                list(w.byte(16).long(*bytes).long(*group), rest.iter().map(|h| h.0))
            }
            Message::Fetch { reduce, maps } => list(w.byte(17).word(*reduce), maps.iter().copied()),
            Message::Call { work } => w.byte(18).long(*work).pad(CALL_BYTES),
            Message::Answer { work } => w.byte(19).long(*work).pad(CALL_BYTES),
        };
        w.finish()
    }

    /// The message in a frame's content.
    pub(crate) fn decode(content: &[u8]) -> Result<Message, Malformed> {
        let mut r = Reader::new(content);
        let message = match r.byte()? {
            1 => Message::Register,
            2 => Message::Heartbeat,
            3 => Message::Poll { from: r.word()? },
            4 => Message::Done { kind: kind(&mut r)?, number: r.word()? },
            5 => Message::Failed { kind: kind(&mut r)?, number: r.word()? },
            6 => Message::FetchFailed { map: r.word()?, from: r.host()? },
            7 => {
                let (work, copies, log) = (r.long()?, r.byte()?, r.flag()?);
                Message::AddBlock { work, copies, log, without: r.host_or_nobody()? }
            }
            8 => Message::Idle,
            9 => Message::Run { kind: kind(&mut r)?, number: r.word()?, reuse: r.flag()? },
            10 => {
                let (from, n) = (r.word()?, usize::from(r.byte()?));
                let event = |_| Ok((r.word()?, r.host()?));
                Message::Completed { from, events: (0..n).map(event).collect::<Result<_, _>>()? }
            }
            11 => Message::Block { work: r.long()?, nodes: hosts(&mut r)? },
            12 => Message::Kill { reduce: r.word()? },
            13 => Message::Finish,
            14 => Message::Stop,
            15 => Message::Read { bytes: r.long()? },
            16 => Message::Write { bytes: r.long()?, group: r.long()?, rest: hosts(&mut r)? },
            17 => Message::Fetch { reduce: r.word()?, maps: words(&mut r)? },
            18 => Message::Call { work: call(&mut r)? },
            19 => Message::Answer { work: call(&mut r)? },
            _ => return Err(Malformed),
        };
        r.end(message)
    }
}
