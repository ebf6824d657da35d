//! Messages between nodes: what Hadoop's RPCs, the block transfer protocol and the shuffle's HTTP say, in a
//! form of our own. A frame is a length (two bytes) and a message; numbers are little-endian.
//!
//! Decoding is bounded: a frame is at most [`FRAME_MAX`] bytes, and a list no longer than its frame.

use process::{Context, HostId, Payload, StreamId};

/// Longest message in bytes.
pub(crate) const FRAME_MAX: usize = 2048;
/// Longest list of hosts or maps in a message.
pub(crate) const LIST_MAX: usize = 64;
/// Length in bytes of a call and of its answer, as frames: what a call of the NameNode's or of the umbilical takes
/// with its headers is some hundred bytes.
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
    /// Fills a frame up to the length of a call.
    fn padding(&mut self) -> &mut Writer {
        self.0.resize(CALL_BYTES, 0);
        self
    }
    fn list(&mut self, words: impl ExactSizeIterator<Item = u32>) -> &mut Writer {
        self.byte(words.len() as u8);
        words.for_each(|word| {
            self.word(word);
        });
        self
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
    fn word(&mut self) -> Result<u32, Malformed> {
        self.take().map(u32::from_le_bytes)
    }
    fn long(&mut self) -> Result<u64, Malformed> {
        self.take().map(u64::from_le_bytes)
    }
    fn flag(&mut self) -> Result<bool, Malformed> {
        Ok(self.byte()? != 0)
    }
    fn kind(&mut self) -> Result<Kind, Malformed> {
        match self.byte()? {
            0 => Ok(Kind::Map),
            1 => Ok(Kind::Reduce),
            _ => Err(Malformed),
        }
    }
    /// The number of a work, and the padding of its call.
    fn call(&mut self) -> Result<u64, Malformed> {
        let work = self.long()?;
        self.take::<{ CALL_BYTES - 2 - 1 - 8 }>()?;
        Ok(work)
    }
    fn list(&mut self) -> Result<Vec<u32>, Malformed> {
        let n = usize::from(self.byte()?);
        if n > LIST_MAX { Err(Malformed) } else { (0..n).map(|_| self.word()).collect() }
    }
    fn hosts(&mut self) -> Result<Vec<HostId>, Malformed> {
        Ok(self.list()?.into_iter().map(HostId).collect())
    }
}

/// Stands for "no host".
const NOBODY: u32 = u32::MAX;

impl Message {
    /// The message as a frame.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut w = Writer(vec![0, 0]);
        match self {
            Message::Register => w.byte(1),
            Message::Heartbeat => w.byte(2),
            Message::Poll { from } => w.byte(3).word(*from),
            Message::Done { kind, number } => w.byte(4).byte(*kind as u8).word(*number),
            Message::Failed { kind, number } => w.byte(5).byte(*kind as u8).word(*number),
            Message::FetchFailed { map, from } => w.byte(6).word(*map).word(from.0),
            Message::AddBlock { work, copies, log, without } => {
                w.byte(7).long(*work).byte(*copies).byte(u8::from(*log)).word(without.map_or(NOBODY, |h| h.0))
            }
            Message::Idle => w.byte(8),
            Message::Run { kind, number, reuse } => {
                w.byte(9).byte(*kind as u8).word(*number).byte(u8::from(*reuse))
            }
            Message::Completed { from, events } => {
                w.byte(10).word(*from).byte(events.len() as u8);
                events.iter().fold(&mut w, |w, (map, host)| w.word(*map).word(host.0))
            }
            Message::Block { work, nodes } => w.byte(11).long(*work).list(nodes.iter().map(|h| h.0)),
            Message::Kill { reduce } => w.byte(12).word(*reduce),
            Message::Finish => w.byte(13),
            Message::Stop => w.byte(14),
            Message::Read { bytes } => w.byte(15).long(*bytes),
            Message::Write { bytes, group, rest } => {
                w.byte(16).long(*bytes).long(*group).list(rest.iter().map(|h| h.0))
            }
            Message::Fetch { reduce, maps } => w.byte(17).word(*reduce).list(maps.iter().copied()),
            Message::Call { work } => w.byte(18).long(*work).padding(),
            Message::Answer { work } => w.byte(19).long(*work).padding(),
        };
        let length = (w.0.len() - 2) as u16;
        w.0[..2].copy_from_slice(&length.to_le_bytes());
        w.0
    }

    /// The message in a frame's content.
    pub(crate) fn decode(content: &[u8]) -> Result<Message, Malformed> {
        let mut r = Reader(content);
        let message = match r.byte()? {
            1 => Message::Register,
            2 => Message::Heartbeat,
            3 => Message::Poll { from: r.word()? },
            4 => Message::Done { kind: r.kind()?, number: r.word()? },
            5 => Message::Failed { kind: r.kind()?, number: r.word()? },
            6 => Message::FetchFailed { map: r.word()?, from: HostId(r.word()?) },
            7 => {
                let (work, copies, log, without) = (r.long()?, r.byte()?, r.flag()?, r.word()?);
                Message::AddBlock {
                    work,
                    copies,
                    log,
                    without: (without != NOBODY).then_some(HostId(without)),
                }
            }
            8 => Message::Idle,
            9 => Message::Run { kind: r.kind()?, number: r.word()?, reuse: r.flag()? },
            10 => {
                let (from, n) = (r.word()?, usize::from(r.byte()?));
                let event = |_| Ok((r.word()?, HostId(r.word()?)));
                Message::Completed { from, events: (0..n).map(event).collect::<Result<_, _>>()? }
            }
            11 => Message::Block { work: r.long()?, nodes: r.hosts()? },
            12 => Message::Kill { reduce: r.word()? },
            13 => Message::Finish,
            14 => Message::Stop,
            15 => Message::Read { bytes: r.long()? },
            16 => Message::Write { bytes: r.long()?, group: r.long()?, rest: r.hosts()? },
            17 => Message::Fetch { reduce: r.word()?, maps: r.list()? },
            18 => Message::Call { work: r.call()? },
            19 => Message::Answer { work: r.call()? },
            _ => return Err(Malformed),
        };
        if r.0.is_empty() { Ok(message) } else { Err(Malformed) }
    }
}

/// Takes messages off a stream, byte for byte: what follows a message stays in the stream.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// What has come of the frame under way, its length included.
    partial: Vec<u8>,
    /// The peer has finished.
    pub ended: bool,
}

impl Frames {
    /// The next message, if it is there whole.
    pub(crate) fn next(
        &mut self,
        stream: StreamId,
        cx: &mut dyn Context,
    ) -> Result<Option<Message>, Malformed> {
        loop {
            let want = self.want()?;
            if want == 0 {
                let message = Message::decode(&self.partial[2..])?;
                self.partial.clear();
                return Ok(Some(message));
            }
            let read = cx.read(stream, want as u64);
            self.ended |= read.end;
            let short = read.len() < want as u64;
            for piece in read.data {
                match piece {
                    Payload::Data(bytes) => self.partial.extend_from_slice(&bytes),
                    Payload::Zeros(_) => return Err(Malformed),
                }
            }
            if short {
                return Ok(None);
            }
        }
    }

    /// Bytes that are missing to the length, or to the end of the frame.
    fn want(&self) -> Result<usize, Malformed> {
        let Some((length, rest)) = self.partial.split_first_chunk::<2>() else {
            return Ok(2 - self.partial.len());
        };
        let length = usize::from(u16::from_le_bytes(*length));
        if length == 0 || length > FRAME_MAX { Err(Malformed) } else { Ok(length - rest.len()) }
    }
}
