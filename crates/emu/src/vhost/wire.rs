//! Messages of vhost-user: a header of twelve bytes, a payload, and descriptors beside it.

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendFlags, recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

/// Requests of the front end ("Front-end message types") that need more than an acknowledgement.
pub mod request {
    #![allow(missing_docs, reason = "the names are those of the standard")]
    pub const GET_FEATURES: u32 = 1;
    pub const SET_FEATURES: u32 = 2;
    pub const SET_MEM_TABLE: u32 = 5;
    pub const SET_VRING_NUM: u32 = 8;
    pub const SET_VRING_ADDR: u32 = 9;
    pub const SET_VRING_BASE: u32 = 10;
    pub const GET_VRING_BASE: u32 = 11;
    pub const GET_PROTOCOL_FEATURES: u32 = 15;
    pub const SET_PROTOCOL_FEATURES: u32 = 16;
    pub const GET_QUEUE_NUM: u32 = 17;
    pub const SET_BACKEND_REQ_FD: u32 = 21;
    pub const GET_CONFIG: u32 = 24;
    pub const VRING_KICK: u32 = 35;
}

const VERSION: u32 = 1;
const REPLY: u32 = 1 << 2;
const NEED_REPLY: u32 = 1 << 3;
/// The longest payload that a front end has to send: eight parts of memory.
const PAYLOAD_MAX: usize = 8 + 8 * 32;
/// Descriptors beside a message at most.
const FDS_MAX: usize = 8;
const HEADER: usize = 12;

/// A message.
#[derive(Debug, Default)]
pub struct Message {
    /// What it asks.
    pub request: u32,
    /// Whether its sender waits for an answer that it would not get otherwise.
    pub needs_reply: bool,
    /// What it says.
    pub payload: Vec<u8>,
    /// The descriptors beside it.
    pub fds: Vec<OwnedFd>,
}

impl Message {
    /// The number at `at` of the payload; what it lacks is zero.
    pub fn u32(&self, at: usize) -> u32 {
        self.payload.get(at..at + 4).map_or(0, |b| u32::from_le_bytes(b.try_into().expect("four bytes")))
    }

    /// The same of eight bytes.
    pub fn u64(&self, at: usize) -> u64 {
        self.payload.get(at..at + 8).map_or(0, |b| u64::from_le_bytes(b.try_into().expect("eight bytes")))
    }
}

/// Reads a message.
///
/// # Errors
/// A socket that is closed, or a message that can't be.
pub fn receive(socket: &mut UnixStream) -> io::Result<Message> {
    let mut header = [0; HEADER];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS_MAX))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let got =
        recvmsg(&*socket, &mut [IoSliceMut::new(&mut header)], &mut control, RecvFlags::CMSG_CLOEXEC)?.bytes;
    if got == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut message = Message::default();
    for part in control.drain() {
        if let RecvAncillaryMessage::ScmRights(fds) = part {
            message.fds.extend(fds);
        }
    }
    socket.read_exact(&mut header[got..])?;
    let word = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
    let (request, flags, len) = (word(0), word(4), word(8) as usize);
    if len > PAYLOAD_MAX || flags & 3 != VERSION {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "this is no message of vhost-user"));
    }
    message.request = request;
    message.needs_reply = flags & NEED_REPLY != 0;
    message.payload.resize(len, 0);
    socket.read_exact(&mut message.payload)?;
    Ok(message)
}

fn encode(request: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    let words = [request, VERSION | flags, payload.len() as u32];
    words.iter().flat_map(|word| word.to_le_bytes()).chain(payload.iter().copied()).collect()
}

fn send(socket: &UnixStream, bytes: &[u8]) -> io::Result<()> {
    let mut control = SendAncillaryBuffer::default();
    // A guest that has gone must not end the lab by SIGPIPE.
    let sent = sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?;
    // Less than a socket always takes, as its other end waits for it.
    if sent == bytes.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// Answers a request.
///
/// # Errors
/// A socket that is closed.
pub fn reply(socket: &UnixStream, request: u32, payload: &[u8]) -> io::Result<()> {
    send(socket, &encode(request, REPLY, payload))
}
