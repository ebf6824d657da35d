//! Network cards of guests: whatever a guest writes into its memory and queues, nothing outside of it is
//! touched and nothing runs for ever.

use emu::console::{Console, LINE_MAX};
use emu::ip;
use emu::offload::{HEADER, Packets};
use emu::vhost::memory::Memory;
use emu::vhost::ring::Ring;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::pipe::pipe;
use std::fs::File;
use std::io::{Read, Seek, Write};

/// The guest's memory.
const LEN: usize = 1 << 14;
/// A queue of so many entries, at the start of memory.
const SIZE: u32 = 8;
const AVAILABLE: u64 = 0x100;
const USED: u64 = 0x180;
/// The longest frame, and turns of a queue.
const FRAME_MAX: usize = 4096;
const TURNS: usize = 64;

/// A guest's memory, with queues at its start, or anything.
pub fn queues(bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(LEN)];
    let file = memfd_create("guest", MemfdFlags::CLOEXEC).expect("memory");
    ftruncate(&file, LEN as u64).expect("memory");
    let mut memory = Memory::default();
    memory.add(0, 0, LEN as u64, &file, 0).expect("it is as long");
    memory.write(0, bytes).expect("no more than it has");
    for event_index in [false, true] {
        let new = || {
            let mut ring = Ring::at(SIZE, 0, AVAILABLE, USED);
            ring.event_index = event_index;
            ring
        };
        let (mut transmit, mut receive, mut frame) = (new(), new(), Vec::new());
        for _ in 0..TURNS {
            if let Ok(Some(head)) = transmit.read(&memory, FRAME_MAX, &mut frame) {
                assert!(frame.len() <= FRAME_MAX, "a frame has a bound");
                assert!(u32::from(head) < SIZE, "a head is in the queue");
                transmit.give(&memory, head, 0).expect("the queue is in memory");
            }
            transmit.publish(&memory).expect("the queue is in memory");
            if let Ok(Some((head, written))) = receive.write(&memory, &frame) {
                assert!(written <= frame.len(), "no more is written than there is");
                receive.give(&memory, head, written).expect("the queue is in memory");
            }
            receive.publish(&memory).expect("the queue is in memory");
        }
    }
}

/// What a guest prints, or anything.
pub fn console(bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(LEN)];
    let (from, to) = pipe().expect("a pipe");
    let mut kept = tempfile::tempfile().expect("a file");
    let mut console = Console::new(from, kept.try_clone().expect("a descriptor"));
    File::from(to).write_all(bytes).expect("a pipe has room for it");
    let said = console.read().expect("a pipe");
    assert!(console.over, "the other end is closed");
    assert!(said.len() <= bytes.split(|byte| *byte == b'\n').count());
    assert!(said.iter().all(|line| line.len() <= LINE_MAX), "a line has a bound");
    let mut all = Vec::new();
    kept.rewind().expect("a file");
    kept.read_to_end(&mut all).expect("a file");
    assert_eq!(all, bytes, "all is kept");
}

/// A packet that a guest sends, or anything.
pub fn packet(bytes: &[u8]) {
    let Some(before) = ip::read(bytes) else { return };
    let mut marked = bytes.to_vec();
    ip::mark(&mut marked);
    let after = ip::read(&marked).expect("a mark changes nothing else");
    assert_eq!((after.to, after.ports, after.dscp), (before.to, before.ports, before.dscp));
    assert_eq!(after.ecn, fabric::Ecn::Ce);
}

/// A header of virtio and a packet that the network card is to cut or to sum up, or anything.
pub fn offload(bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(HEADER + 65_535)];
    let Some((header, packet)) = bytes.split_first_chunk() else { return };
    let Ok(packets) = Packets::of(header, 0, packet.into()) else { return };
    // Each has headers of its own, and at least a byte of what there is.
    let (mut count, mut longest) = (0, 0);
    for packet in packets {
        (count, longest) = (count + 1, packet.len().max(longest));
    }
    assert!(count <= packet.len().max(1) && longest <= packet.len());
}
