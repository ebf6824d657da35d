//! Virtual output queues: packets wait at the port they came in by, in a queue for each output port and
//! class. So none stands behind a packet that can't go on yet (McKeown, Mekkittikul, Anantharam & Walrand,
//! "Achieving 100% Throughput in an Input-Queued Switch", IEEE Trans. Comm. 47(8), 1999).
//!
//! The port that they leave by grants: its scheduler picks a class as it does without them, and within
//! the class the ports of entry take turns by deficit round robin (Shreedhar & Varghese 1996), in
//! bytes. The fabric between the ports is not a bottleneck: there is no matching to find, as in
//! switches with a speed-up or with cells spread over a fabric.
//!
//! A queue comes into being when the first packet enters it. Where several ports share a packet processor,
//! its memory and its queues are one, as in hardware that has them a processor and not a port (US
//! 2017/0005951 A1).

use crate::config::Queue;
use crate::discipline::{Discipline, Place};
use crate::queue::ClassQueue;
use crate::ring::Ring;
use units::Bytes;

/// Bytes that a virtual output queue may send a turn: a full Ethernet payload.
const CREDIT: u64 = 1500;
/// No queue of this port of entry and class yet.
const NONE: u32 = u32::MAX;

/// The virtual output queues of the packets that leave by one port.
#[derive(Debug)]
pub(crate) struct Voqs<B> {
    /// In order of first use.
    pub queues: Vec<ClassQueue<B>>,
    /// Most memory that one of them may hold.
    pub cap: u64,
    /// The longest that one of them has been, in bytes.
    pub max_bytes: u64,
    /// Disciplines of the classes, for queues to come.
    kinds: [Queue; 8],
    place: Place,
    /// The switch's first port.
    first: u32,
    /// Neighbouring ports of entry that share a processor, and with it the queues.
    sharing: usize,
    /// By class and port of entry: which of `queues`.
    slots: [Vec<u32>; 8],
    /// By class: those that hold packets. The one in front has the credit for its first packet.
    turns: [Ring<u32>; 8],
}

impl<B: Copy + Default> Voqs<B> {
    /// None yet, at a switch whose ports begin with number `first`, `sharing` of them a processor.
    pub(crate) fn new(first: u32, sharing: usize, cap: Bytes, kinds: [Queue; 8], place: Place) -> Voqs<B> {
        Voqs {
            queues: Vec::new(),
            cap: cap.get(),
            max_bytes: 0,
            kinds,
            place,
            first,
            sharing,
            slots: Default::default(),
            turns: Default::default(),
        }
    }

    /// The queue of `class` for packets that came in by port number `entry`.
    #[inline]
    pub(crate) fn slot(&mut self, class: usize, entry: u32) -> usize {
        let entry = entry.saturating_sub(self.first) as usize;
        match self.slots[class].get(entry) {
            Some(&slot) if slot != NONE => slot as usize,
            _ => self.create(class, entry),
        }
    }

    #[cold]
    fn create(&mut self, class: usize, entry: usize) -> usize {
        let slots = &mut self.slots[class];
        if slots.len() <= entry {
            slots.resize(entry + 1, NONE);
        }
        let processor = entry / self.sharing;
        let neighbours = processor * self.sharing..slots.len().min((processor + 1) * self.sharing);
        if let Some(&slot) = slots[neighbours].iter().find(|&&slot| slot != NONE) {
            slots[entry] = slot;
            return slot as usize;
        }
        slots[entry] = self.queues.len() as u32;
        let seed = self.place.seed ^ class as u64 ^ ((processor as u64 + 1) << 44);
        let discipline = Discipline::new(self.kinds[class], Place { seed, ..self.place });
        self.queues.push(ClassQueue::new(discipline));
        self.queues.len() - 1
    }

    /// The queue of `class` to serve next; the class holds packets.
    #[inline(always)]
    pub(crate) fn next(&self, class: usize) -> usize {
        *self.turns[class].front().expect("a class with packets has a queue with packets") as usize
    }

    /// A packet of `bytes` has entered queue `slot`.
    #[inline(always)]
    pub(crate) fn entered(&mut self, class: usize, slot: usize, bytes: u64) {
        let queue = &mut self.queues[slot];
        queue.add(bytes);
        if queue.packets == 1 {
            let turns = &mut self.turns[class];
            turns.push(slot as u32);
            if turns.len() == 1 {
                queue.deficit = bytes.next_multiple_of(CREDIT);
            }
        }
    }

    /// Queue `slot`, whose turn it was, has sent `bytes`.
    #[inline(always)]
    pub(crate) fn served(&mut self, class: usize, slot: usize, bytes: u64) {
        let queue = &mut self.queues[slot];
        queue.deficit = queue.deficit.saturating_sub(bytes);
        if queue.packets > 0 && queue.deficit >= queue.head() {
            return;
        }
        self.pass_on(class, slot);
    }

    /// Passes the turn on from queue `slot` until a queue has the credit for its first packet.
    fn pass_on(&mut self, class: usize, slot: usize) {
        let turns = &mut self.turns[class];
        turns.advance();
        if self.queues[slot].packets > 0 {
            turns.push(slot as u32);
        } else {
            self.queues[slot].deficit = 0;
        }
        while let Some(&next) = turns.front() {
            let queue = &mut self.queues[next as usize];
            queue.deficit += CREDIT;
            if queue.deficit >= queue.head() {
                return;
            }
            turns.advance();
            turns.push(next);
        }
    }

    /// Notes the length of queue `slot`.
    #[inline(always)]
    pub(crate) fn note_length(&mut self, slot: usize) {
        let bytes = self.queues[slot].bytes;
        if bytes > self.max_bytes {
            self.max_bytes = bytes;
        }
    }

    /// All packets are gone.
    pub(crate) fn clear(&mut self) {
        self.queues.iter_mut().for_each(ClassQueue::clear);
        self.turns = Default::default();
    }
}
