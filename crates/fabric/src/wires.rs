//! The packets that are on a wire or wait in a first-in first-out queue: one arena for the whole network, in
//! which each port has a chain of slots.
//!
//! A packet that goes on to the next port stays where it is, and only changes chains. A slot that was left
//! last is used first, so the memory in use is that of the packets in the network, and mostly in a cache.

use crate::packet::Packet;
use mem::prefer_huge_pages;
use std::ops::{Index, IndexMut};
use units::Time;

/// No slot.
pub(crate) const NONE: u32 = u32::MAX;

/// A packet that is being sent or is on its way, or (first-in first-out ports) waits its turn: one cache
/// line.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wire<B> {
    /// Its last bit reaches the far end.
    pub arrive: Time,
    /// The first bit of the packet behind it leaves; never, while there is none.
    pub next_start: Time,
    /// The slot of that packet.
    pub next: u32,
    pub packet: Packet<B>,
}

/// All of them, by slot.
#[derive(Debug)]
pub(crate) struct Wires<B> {
    pub slots: Vec<Wire<B>>,
    /// The first of the chain of free slots.
    free: u32,
}

impl<B: Copy + Default> Wires<B> {
    /// Room for some packets at each of so many ports; it grows when there are more.
    pub(crate) fn new(ports: usize) -> Wires<B> {
        let mut slots = Vec::with_capacity(16 * ports);
        prefer_huge_pages(&mut slots);
        Wires { slots, free: NONE }
    }

    /// The packet in `slot`, if there is one.
    #[inline]
    pub(crate) fn get(&self, slot: u32) -> Option<&Wire<B>> {
        self.slots.get(slot as usize)
    }

    /// A slot with `packet`, the rest of which is to be set; and all slots.
    #[inline(always)]
    pub(crate) fn insert(&mut self, packet: &Packet<B>) -> (u32, &mut [Wire<B>]) {
        if self.free == NONE {
            self.extend();
        }
        let Wires { slots, free } = self;
        let wires = slots.as_mut_slice();
        let slot = *free;
        let wire = &mut wires[slot as usize];
        *free = wire.next;
        wire.packet = *packet;
        (slot, wires)
    }

    #[cold]
    fn extend(&mut self) {
        self.free = self.slots.len() as u32;
        if self.slots.len() == self.slots.capacity() {
            self.slots.reserve(1);
            prefer_huge_pages(&mut self.slots);
        }
        self.slots.push(Wire { next: NONE, ..Wire::default() });
    }

    /// Takes a packet out of its slot. It can be read where it lies until another one comes.
    #[inline(always)]
    pub(crate) fn take(&mut self, slot: u32) -> &Packet<B> {
        let wire = &mut self.slots[slot as usize];
        wire.next = self.free;
        self.free = slot;
        &wire.packet
    }

    /// The slots of the chain that begins with `first`.
    pub(crate) fn chain(&self, first: u32) -> impl Iterator<Item = u32> {
        std::iter::successors((first != NONE).then_some(first), |&slot| {
            Some(self[slot].next).filter(|&next| next != NONE)
        })
    }
}

impl<B> Index<u32> for Wires<B> {
    type Output = Wire<B>;

    #[inline]
    fn index(&self, slot: u32) -> &Wire<B> {
        &self.slots[slot as usize]
    }
}

impl<B> IndexMut<u32> for Wires<B> {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut Wire<B> {
        &mut self.slots[slot as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slot_left_last_is_used_first() {
        let mut wires = Wires::new(1);
        let packet = |body: u32| Packet { body, ..Packet::default() };
        let slots: Vec<u32> = (0..40).map(|body| wires.insert(&packet(body)).0).collect();
        assert_eq!(slots, (0..40).collect::<Vec<u32>>());
        assert_eq!((wires.take(7).body, wires.take(3).body), (7, 3));
        assert_eq!([50, 51, 52].map(|body| wires.insert(&packet(body)).0), [3, 7, 40]);
        assert_eq!([3, 7, 40].map(|slot| wires[slot].packet.body), [50, 51, 52]);
    }
}
