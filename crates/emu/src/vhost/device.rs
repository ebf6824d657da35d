//! A network device of virtio: VIRTIO 1.2, section 5.1. Queue 0 receives, queue 1 transmits.

use super::memory::Memory;
use super::ring::{Ring, SIZE_MAX, Wrong};
use super::wire::{self, Message, request};
use crate::offload::{HEADER, Packets};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

/// Queues.
pub const RECEIVE: usize = 0;
/// See [`RECEIVE`].
pub const TRANSMIT: usize = 1;

/// `VIRTIO_NET_F_CSUM`, `_HOST_TSO4`, `_HOST_ECN`: what a card with offloads has.
const OFFLOADS: u64 = 1 | 1 << 11 | 1 << 13;
/// `VIRTIO_NET_F_MTU`, `_MAC`, `_MRG_RXBUF`, `VIRTIO_F_EVENT_IDX`, `VHOST_USER_F_PROTOCOL_FEATURES`,
/// `VIRTIO_F_VERSION_1`.
const MTU: u64 = 1 << 3;
const MAC: u64 = 1 << 5;
const MERGED: u64 = 1 << 15;
const EVENT_INDEX: u64 = 1 << 29;
const PROTOCOL: u64 = 1 << 30;
const VERSION_1: u64 = 1 << 32;
const FEATURES: u64 = MTU | MAC | MERGED | EVENT_INDEX | PROTOCOL | VERSION_1;

/// `REPLY_ACK`, `BACKEND_REQ`, `CONFIG`, `INBAND_NOTIFICATIONS`.
const PROTOCOL_FEATURES: u64 = 1 << 3 | 1 << 5 | 1 << 9 | 1 << 14;

/// Where `num_buffers` is in the header (5.1.6).
const BUFFERS: usize = 10;
/// Ethernet's header.
pub const ETHERNET: usize = 14;
/// Bytes of a frame at most: an IP packet.
const FRAME_MAX: usize = HEADER + ETHERNET + 65_535;
/// A packet is received into so many chains at most.
const CHAINS_MAX: usize = 64;

/// What a message of the guest was about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// Setting up.
    Settings,
    /// There is something in the transmit queue.
    Transmit,
    /// There is room in the receive queue.
    Room,
}

/// What a guest sends in a chain of descriptors.
#[derive(Debug)]
pub struct Taken {
    /// The first descriptor of the chain.
    pub head: u16,
    /// Its packets, from the IP header on.
    pub packets: Packets,
}

/// A guest's network card.
#[derive(Debug)]
pub struct Device {
    socket: UnixStream,
    /// Where the standard has the guest interrupted. The guest takes its end for the card's.
    calls: Option<OwnedFd>,
    memory: Memory,
    rings: [Ring; 2],
    mac: [u8; 6],
    mtu: u16,
    offloads: bool,
    merged: bool,
    frame: Vec<u8>,
    heads: Vec<(u16, usize)>,
}

impl Device {
    /// A device that the guest has just opened.
    pub fn new(socket: UnixStream, mac: [u8; 6], mtu: u16, offloads: bool) -> Device {
        Device {
            socket,
            calls: None,
            memory: Memory::default(),
            rings: Default::default(),
            mac,
            mtu,
            offloads,
            merged: false,
            frame: Vec::new(),
            heads: Vec::new(),
        }
    }

    /// The socket on which the guest's messages come.
    pub fn socket(&self) -> &UnixStream {
        &self.socket
    }

    /// Reads a message. It is to be [answered](Device::answer) once what it asks is done.
    ///
    /// # Errors
    /// A socket that is closed, or what can't be meant.
    pub fn receive(&mut self) -> io::Result<(Message, Said)> {
        let mut message = wire::receive(&mut self.socket)?;
        let said = match message.request {
            request::VRING_KICK if message.u32(0) as usize == TRANSMIT => Said::Transmit,
            request::VRING_KICK => Said::Room,
            _ => {
                self.set(&mut message)?;
                Said::Settings
            }
        };
        Ok((message, said))
    }

    /// Answers a message, if it waits for an answer.
    ///
    /// # Errors
    /// A socket that is closed.
    pub fn answer(&mut self, message: &Message) -> io::Result<()> {
        let number = match message.request {
            request::GET_FEATURES => FEATURES | if self.offloads { OFFLOADS } else { 0 },
            request::GET_PROTOCOL_FEATURES => PROTOCOL_FEATURES,
            request::GET_QUEUE_NUM => 1,
            request::GET_CONFIG => {
                let config = self.config(message);
                return wire::reply(&self.socket, message.request, &config);
            }
            request::GET_VRING_BASE => {
                let queue = message.u32(0);
                let base = self.rings.get(queue as usize).map_or(0, |ring| ring.next_available);
                let words = [queue, u32::from(base)];
                let payload: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                return wire::reply(&self.socket, message.request, &payload);
            }
            _ if message.needs_reply => 0,
            _ => return Ok(()),
        };
        wire::reply(&self.socket, message.request, &number.to_le_bytes())
    }

    fn set(&mut self, message: &mut Message) -> io::Result<()> {
        let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        match message.request {
            request::SET_FEATURES => {
                let features = message.u64(0);
                self.merged = features & MERGED != 0;
                self.rings.iter_mut().for_each(|ring| ring.event_index = features & EVENT_INDEX != 0);
            }
            request::SET_BACKEND_REQ_FD => {
                self.calls = message.fds.pop();
            }
            request::SET_MEM_TABLE => {
                self.memory = Memory::default();
                for (part, fd) in message.fds.iter().enumerate().take(message.u32(0) as usize) {
                    let at = 8 + 32 * part;
                    let number = |word: usize| message.u64(at + 8 * word);
                    self.memory.add(number(0), number(2), number(1), fd, number(3))?;
                }
            }
            request::SET_VRING_NUM | request::SET_VRING_BASE | request::SET_VRING_ADDR => {
                let ring = self
                    .rings
                    .get_mut(message.u32(0) as usize)
                    .ok_or_else(|| invalid("a queue that a network card does not have"))?;
                match message.request {
                    request::SET_VRING_NUM => {
                        let size = message.u32(4);
                        if !size.is_power_of_two() || size > SIZE_MAX {
                            return Err(invalid("a queue of a size that no queue has"));
                        }
                        ring.size = size;
                    }
                    request::SET_VRING_BASE => ring.reset(message.u32(4) as u16),
                    _ => {
                        let place = |at: usize| self.memory.of_user(message.u64(at));
                        let (Some(descriptors), Some(used), Some(available)) =
                            (place(8), place(16), place(24))
                        else {
                            return Err(invalid("a queue outside of the guest's memory"));
                        };
                        (ring.descriptors, ring.used, ring.available) = (descriptors, used, available);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The device's configuration (5.1.4): MAC address, status, pairs of queues, MTU.
    fn config(&self, message: &Message) -> Vec<u8> {
        let mut space = [0; 12];
        space[..6].copy_from_slice(&self.mac);
        space[8..10].copy_from_slice(&1u16.to_le_bytes());
        space[10..12].copy_from_slice(&self.mtu.to_le_bytes());
        let (offset, size) = (message.u32(0) as usize, message.u32(4) as usize);
        let mut answer = message.payload.clone();
        for (to, at) in answer.iter_mut().skip(12).take(size).zip(offset..) {
            *to = space.get(at).copied().unwrap_or(0);
        }
        answer
    }

    /// Takes what the guest sends next, without its Ethernet header; the head of the chain is to be [given
    /// back](Device::sent) once all its packets have left.
    ///
    /// # Errors
    /// A queue that can't be.
    pub fn take(&mut self) -> Result<Option<Taken>, Wrong> {
        let Some(head) = self.rings[TRANSMIT].read(&self.memory, FRAME_MAX, &mut self.frame)? else {
            return Ok(None);
        };
        match (self.frame.first_chunk(), self.frame.get(HEADER + ETHERNET..)) {
            (Some(header), Some(packet)) => {
                // Without offloads there is nothing in the header.
                let header = if self.offloads { header } else { &[0; HEADER] };
                Ok(Some(Taken { head, packets: Packets::of(header, ETHERNET, packet.into())? }))
            }
            _ => Err(Wrong::Frame(self.frame.len())),
        }
    }

    /// The index of the next chain to take, and that behind the last one which the guest has offered.
    ///
    /// # Errors
    /// A queue that can't be.
    pub fn offered(&self) -> Result<(u16, u16), Wrong> {
        let ring = &self.rings[TRANSMIT];
        Ok((ring.next_available, ring.next_available.wrapping_add(ring.waiting(&self.memory)?)))
    }

    /// Asks to be told, or not, when there is more to send.
    ///
    /// # Errors
    /// A queue that can't be.
    pub fn ask(&self, busy: bool) -> Result<(), Wrong> {
        self.rings[TRANSMIT].ask(&self.memory, busy)
    }

    /// Gives back the chain of a packet that has left; whether the guest wants to be interrupted.
    ///
    /// # Errors
    /// A queue that can't be.
    pub fn sent(&mut self, head: u16) -> Result<bool, Wrong> {
        let ring = &mut self.rings[TRANSMIT];
        ring.give(&self.memory, head, 0)?;
        ring.publish(&self.memory)
    }

    /// Gives the guest an IP packet, if there is room; false where there is none.
    ///
    /// # Errors
    /// A queue that can't be.
    pub fn deliver(&mut self, packet: &[u8]) -> Result<bool, Wrong> {
        self.frame.clear();
        self.frame.resize(HEADER, 0);
        self.frame.extend_from_slice(&self.mac);
        // From an address of our own, locally administered.
        self.frame.extend_from_slice(&[2, 0, 0, 0, 0, 1]);
        let kind: u16 = if packet.first().is_some_and(|first| first >> 4 == 6) { 0x86dd } else { 0x0800 };
        self.frame.extend_from_slice(&kind.to_be_bytes());
        self.frame.extend_from_slice(packet);
        let ring = &mut self.rings[RECEIVE];
        // How many chains it takes is only known at its end, and stands in the first.
        self.heads.clear();
        let begin = ring.next_available;
        let mut at = 0;
        while at < self.frame.len() {
            let most = if self.merged { CHAINS_MAX } else { 1 };
            let next =
                if self.heads.len() < most { ring.write(&self.memory, &self.frame[at..])? } else { None };
            let Some((head, written)) = next.filter(|(_, written)| *written > 0) else {
                ring.untake(ring.next_available.wrapping_sub(begin));
                return Ok(false);
            };
            self.heads.push((head, written));
            at += written;
        }
        let chains = self.heads.len() as u16;
        if chains > 1 {
            // Again, with the number.
            self.frame[BUFFERS..HEADER].copy_from_slice(&chains.to_le_bytes());
            ring.untake(chains);
            let mut at = 0;
            for &(_, written) in &self.heads {
                ring.write(&self.memory, &self.frame[at..at + written])?;
                at += written;
            }
        } else {
            self.frame[BUFFERS] = 1;
            ring.untake(1);
            ring.write(&self.memory, &self.frame)?;
        }
        for &(head, written) in &self.heads {
            ring.give(&self.memory, head, written)?;
        }
        Ok(true)
    }

    /// Shows the guest what it received, and interrupts it if it wants that.
    ///
    /// # Errors
    /// A queue that can't be.
    pub fn show_received(&mut self) -> Result<bool, Wrong> {
        self.rings[RECEIVE].publish(&self.memory)
    }
}
