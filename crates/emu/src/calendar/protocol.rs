//! Messages between a guest and its calendar: 16 bytes each.

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::io::{self, IoSlice, Read};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;

/// What a message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Op {
    /// An answer.
    Ack = 0,
    /// A guest is there.
    Start = 1,
    /// It asks to run at a time.
    Request = 2,
    /// It waits for its turn.
    Wait = 3,
    /// It asks what time it is.
    Get = 4,
    /// It has moved its own clock on.
    Update = 5,
    /// It may run.
    Run = 6,
    /// It may set its own clock until then.
    FreeUntil = 7,
    /// It asks for the time of day.
    GetTimeOfDay = 8,
    /// For all guests.
    Broadcast = 9,
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// What it says.
    pub op: Op,
    /// Stands again in its answer.
    pub seq: u32,
    /// In nanoseconds, as a rule.
    pub time: u64,
}

impl Message {
    fn encode(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&(self.op as u32).to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.seq.to_ne_bytes());
        bytes[8..].copy_from_slice(&self.time.to_ne_bytes());
        bytes
    }

    fn decode(bytes: [u8; 16]) -> Option<Message> {
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let op = match word(0) {
            0 => Op::Ack,
            1 => Op::Start,
            2 => Op::Request,
            3 => Op::Wait,
            4 => Op::Get,
            5 => Op::Update,
            6 => Op::Run,
            7 => Op::FreeUntil,
            8 => Op::GetTimeOfDay,
            9 => Op::Broadcast,
            _ => return None,
        };
        let time = u64::from_ne_bytes(bytes[8..].try_into().expect("eight bytes"));
        Some(Message { op, seq: word(4), time })
    }
}

/// Reads a message.
///
/// # Errors
/// A socket that is closed, or what is no message.
pub fn receive(socket: &mut UnixStream) -> io::Result<Message> {
    let mut bytes = [0; 16];
    socket.read_exact(&mut bytes)?;
    Message::decode(bytes)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "this is no message of time travel"))
}

/// Sends a message, with descriptors beside it.
///
/// # Errors
/// A socket that is closed.
pub fn send(socket: &UnixStream, message: Message, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(fds));
    }
    let bytes = message.encode();
    let sent = sendmsg(socket, &[IoSlice::new(&bytes)], &mut control, SendFlags::NOSIGNAL)?;
    if sent == bytes.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}
