//! One TCP connection: what waits to be written and to be read, and where it stands.
//!
//! Nothing here knows of processes: `streams.rs` tells them.

use crate::seal::{CONTENT_MAX, Damaged, HANDSHAKE, Opened, Seal};
use bytes::{Buf, Bytes, BytesMut};
use process::{CloseReason, HostId, Payload};
use socket2::Socket;
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::time::Duration;
use units::Time;

/// Pieces of one call that writes.
const PIECES: usize = 16;
/// What the kernel gives goes to blocks of this many bytes.
const BLOCK: usize = 256 << 10;
/// What is left of a block is used up to here.
const BLOCK_LEAST: usize = 64 << 10;
/// What came with one call and is at least this long stays in its block; the rest is copied, or a few bytes
/// would hold a block.
const STAYS: usize = 16 << 10;
/// So much is sealed ahead of what the kernel takes.
const SEALED: usize = 64 << 10;
/// What is sent for [`Payload::Zeros`].
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// Where a stream stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Waits for the other side to answer.
    Connecting,
    /// Waits for the opener's greeting.
    Greeting,
    /// In use.
    Open,
    /// Its process is being told that it is closed.
    Over,
}

/// Whose stream it is, for the results.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner {
    pub process: u32,
    pub job: u32,
    pub opener: bool,
    pub peer: HostId,
    /// The accepting side's port.
    pub port: u16,
    pub group: u64,
    pub opened: Time,
    /// Which of its opener's streams it is, once that has said so.
    pub number: u64,
}

/// What travels sealed.
#[derive(Debug)]
pub(crate) struct Sealed {
    seal: Seal,
    /// What is to be sent as it is.
    out: BytesMut,
    /// What has come and is not opened.
    came: BytesMut,
    /// The other side has said that there will be no more, and this one.
    ended: bool,
    end_said: bool,
}

impl Sealed {
    /// `out` is said first.
    pub fn new(seal: Seal, out: &[u8]) -> Box<Sealed> {
        Box::new(Sealed { seal, out: out.into(), came: BytesMut::new(), ended: false, end_said: false })
    }

    /// Hears the other side's part of the handshake, if it was not heard. Whether it is over.
    fn greet(&mut self) -> Result<bool, Damaged> {
        if !self.seal.is_open()
            && let Some(message) = self.came.first_chunk::<HANDSHAKE>()
        {
            self.seal.hear(message)?;
            self.came.advance(HANDSHAKE);
        }
        Ok(self.seal.is_open())
    }
}

impl From<Damaged> for io::Error {
    fn from(damaged: Damaged) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, damaged)
    }
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Stream {
    pub socket: Socket,
    pub stage: Stage,
    pub owner: Owner,
    /// The opener's greeting: what has yet to be sent, or what has come of it.
    pub greeting: Vec<u8>,
    /// Nothing: what is sent can be read on the way.
    pub sealed: Option<Box<Sealed>>,
    output: VecDeque<Payload>,
    output_bytes: u64,
    /// The last write was cut short: the process waits for room.
    pub cut: bool,
    /// Nothing more will be written.
    pub closing: bool,
    shut: bool,
    input: VecDeque<Bytes>,
    pub input_bytes: u64,
    /// The kernel may have more.
    pub more: bool,
    /// The peer has finished, and everything has come.
    pub end: bool,
    /// The process has been told that there is something to read, and has not read everything since.
    pub told: bool,
    pub draining: bool,
    pub sent: u64,
    pub received: u64,
    /// When the last of it came.
    pub received_at: Time,
    /// In the list of streams to look after.
    pub touched: bool,
    pub reason: Option<CloseReason>,
}

impl Stream {
    pub fn new(socket: Socket, stage: Stage, owner: Owner, greeting: Vec<u8>) -> Stream {
        Stream {
            socket,
            stage,
            owner,
            greeting,
            sealed: None,
            output: VecDeque::new(),
            output_bytes: 0,
            cut: false,
            closing: false,
            shut: false,
            input: VecDeque::new(),
            input_bytes: 0,
            more: true,
            end: false,
            told: false,
            draining: false,
            sent: 0,
            received: 0,
            received_at: Time::ZERO,
            touched: false,
            reason: None,
        }
    }

    /// Keeps as much of `data` as fits into `room` bytes; says how much.
    pub fn write(&mut self, mut data: Payload, room: u64) -> u64 {
        if self.closing || self.stage == Stage::Over {
            return 0;
        }
        let offered = data.len();
        let taken = offered.min(room.saturating_sub(self.waiting()));
        self.cut |= taken < offered;
        match (self.output.back_mut(), data.split_to(taken)) {
            (_, piece) if piece.is_empty() => {}
            (Some(Payload::Zeros(last)), Payload::Zeros(more)) => *last += more,
            (_, piece) => self.output.push_back(piece),
        }
        self.output_bytes += taken;
        taken
    }

    /// Bytes that wait to be sent.
    fn waiting(&self) -> u64 {
        self.output_bytes + self.sealed.as_ref().map_or(0, |sealed| sealed.out.len() as u64)
    }

    /// Whether half of `room` bytes is free again.
    pub fn has_room(&self, room: u64) -> bool {
        self.waiting() <= room / 2
    }

    /// Sends what waits; afterwards, the end if there will be no more. Says how many bytes of content left.
    pub fn flush(&mut self) -> io::Result<u64> {
        let before = self.sent;
        while self.seal_some() {
            let greeting = self.greeting_left();
            let sent = match self.send_some() {
                Ok(sent) => sent,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(self.sent - before),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let of_greeting = sent.min(greeting);
            self.greeting.drain(..of_greeting);
            match &mut self.sealed {
                Some(sealed) => sealed.out.advance(sent - of_greeting),
                None => self.forget((sent - of_greeting) as u64),
            }
        }
        if self.closing && !self.shut && self.sealed.as_ref().is_none_or(|sealed| sealed.end_said) {
            self.shut = true;
            match self.socket.shutdown(std::net::Shutdown::Write) {
                Err(error) if error.kind() != io::ErrorKind::NotConnected => return Err(error),
                _ => {}
            }
        }
        Ok(self.sent - before)
    }

    /// Seals what waits, if it is to be sealed, as far as there is room for it. Whether there is something to
    /// send.
    fn seal_some(&mut self) -> bool {
        let Some(mut sealed) = self.sealed.take() else {
            return self.greeting_left() + self.output.len() > 0;
        };
        if sealed.seal.is_open() {
            while sealed.out.len() < SEALED
                && let Some(first) = self.output.front()
            {
                let content = pieces(first).next().unwrap_or_default();
                let part = &content[..content.len().min(CONTENT_MAX)];
                sealed.seal.seal(part, &mut sealed.out);
                let part = part.len() as u64;
                self.forget(part);
            }
            if self.closing && self.output.is_empty() && !sealed.end_said {
                sealed.seal.seal_end(&mut sealed.out);
                sealed.end_said = true;
            }
        }
        let left = self.greeting_left() + sealed.out.len();
        self.sealed = Some(sealed);
        left > 0
    }

    /// Bytes of the greeting that this side has yet to send.
    fn greeting_left(&self) -> usize {
        if self.owner.opener { self.greeting.len() } else { 0 }
    }

    fn send_some(&self) -> io::Result<usize> {
        let mut slices = [IoSlice::new(&[]); PIECES];
        let greeting = &self.greeting[..self.greeting_left()];
        let (sealed, plain) = match &self.sealed {
            Some(sealed) => (&sealed.out[..], None),
            None => (&[][..], Some(self.output.iter().flat_map(pieces))),
        };
        let pieces = [greeting, sealed].into_iter().chain(plain.into_iter().flatten());
        let filled = slices.iter_mut().zip(pieces);
        let count = filled.map(|(slice, piece)| *slice = IoSlice::new(piece)).count();
        self.socket.send_vectored_with_flags(&slices[..count], sys::tcp::NO_SIGNAL)
    }

    /// Drops the first `n` bytes of what waits: they are sent.
    fn forget(&mut self, mut n: u64) {
        self.sent += n;
        self.output_bytes -= n;
        while n > 0 {
            let Some(first) = self.output.front_mut() else { return };
            let part = first.len().min(n);
            first.split_to(part);
            n -= part;
            if first.is_empty() {
                self.output.pop_front();
            }
        }
    }

    /// Takes what the kernel has, while less than `room` bytes wait for the process, and at most `budget`
    /// bytes. Says how many came. All streams share a block.
    pub fn fill(&mut self, block: &mut BytesMut, room: u64, budget: u64) -> io::Result<u64> {
        let before = self.received;
        while self.more && self.input_bytes < room && self.received - before < budget {
            if block.capacity() < BLOCK_LEAST {
                *block = BytesMut::with_capacity(BLOCK);
            }
            let free = if self.draining { BLOCK as u64 } else { room - self.input_bytes };
            match sys::tcp::receive(&self.socket, block, free as usize) {
                Ok(0) => {
                    // Without the other side's word somebody else may have cut it off.
                    if self.sealed.as_ref().is_some_and(|sealed| !sealed.ended) {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                    self.end = true;
                    self.more = false;
                }
                Ok(_) => self.take(block)?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.more = false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.received - before)
    }

    fn take(&mut self, block: &mut BytesMut) -> io::Result<()> {
        if let Some(mut sealed) = self.sealed.take() {
            sealed.came.extend_from_slice(block);
            block.clear();
            let opened = self.open(&mut sealed);
            self.sealed = Some(sealed);
            return opened;
        }
        let length = block.len();
        self.received += length as u64;
        if !self.draining {
            let copied = length < STAYS;
            let bytes = if copied { Bytes::copy_from_slice(block) } else { block.split().freeze() };
            self.input.push_back(bytes);
            self.input_bytes += length as u64;
        }
        block.clear();
        Ok(())
    }

    /// Opens what has come whole.
    fn open(&mut self, sealed: &mut Sealed) -> io::Result<()> {
        if !sealed.greet()? {
            return Ok(());
        }
        while let Some(opened) = sealed.seal.open(&mut sealed.came)? {
            match opened {
                // Nothing comes after the end.
                _ if sealed.ended => return Err(Damaged.into()),
                Opened::End => sealed.ended = true,
                Opened::Content(content) => {
                    self.received += content.len() as u64;
                    if !self.draining {
                        self.input_bytes += content.len() as u64;
                        self.input.push_back(content);
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether it can carry content: both sides have said what has to come first.
    pub fn is_greeted(&self) -> bool {
        self.sealed.as_ref().is_none_or(|sealed| sealed.seal.is_open())
    }

    /// What comes from now on is dropped, and what waits.
    pub fn drain(&mut self) {
        self.draining = true;
        self.told = false;
        self.input.clear();
        self.input_bytes = 0;
    }

    /// Hands out up to `max` bytes.
    pub fn read(&mut self, max: u64) -> process::Read {
        let mut data = Vec::new();
        let mut left = max.min(self.input_bytes);
        self.input_bytes -= left;
        while left > 0 {
            let Some(first) = self.input.front_mut() else { break };
            let part = first.split_to(left.min(first.len() as u64) as usize);
            left -= part.len() as u64;
            if first.is_empty() {
                self.input.pop_front();
            }
            data.push(Payload::Data(part));
        }
        let empty = self.input_bytes == 0;
        // The end is told once; a stream that has not ended is told of again when more comes.
        self.told = if empty { self.end } else { self.told };
        process::Read { data, end: empty && self.end }
    }

    /// There is something to tell the process to read.
    pub fn has_news(&self) -> bool {
        !self.told && (self.input_bytes > 0 || self.end)
    }

    /// Both sides have finished, and everything was read.
    pub fn is_done(&self) -> bool {
        self.shut && self.end && self.input_bytes == 0
    }

    /// Drops the connection at once: the peer sees a reset.
    pub fn reset(&self) {
        // A socket that is closed with this option sends a reset; without it, the peer sees one a little
        // later.
        let _ = self.socket.set_linger(Some(Duration::ZERO));
    }
}

fn pieces(payload: &Payload) -> impl Iterator<Item = &[u8]> {
    let (data, zeros) = match payload {
        Payload::Data(bytes) => (Some(&bytes[..]), 0),
        Payload::Zeros(n) => (None, *n),
    };
    let whole = ZEROS.len() as u64;
    let chunks = (0..zeros.div_ceil(whole)).map(move |i| &ZEROS[..(zeros - i * whole).min(whole) as usize]);
    data.into_iter().chain(chunks)
}

/// What an error of a connection means to a process.
pub(crate) fn reason(error: &io::Error) -> CloseReason {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => CloseReason::Refused,
        io::ErrorKind::TimedOut | io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            CloseReason::TimedOut
        }
        _ => CloseReason::Reset,
    }
}
