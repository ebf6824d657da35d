//! Emptying the queues of scheduled ports: links that go down, storms of PAUSE frames.

use crate::driver::Driver;
use crate::fabric::Fabric;
use crate::ids::PortId;
use crate::packet::Packet;
use units::Time;

impl<B: Copy + Default> Fabric<B> {
    /// Empties the queues of a port whose link went down.
    pub(crate) fn drain_classes<D: Driver<B>>(
        &mut self,
        now: Time,
        id: PortId,
        driver: &mut D,
    ) -> Vec<Packet<B>> {
        let Some(classes) = self.ports[id.index()].cold.classes.as_ref() else { return Vec::new() };
        let slots = classes.voqs.as_ref().map_or(classes.queues.len(), |voqs| voqs.queues.len());
        let lost = (0..slots).flat_map(|slot| self.drain_slot(now, id, slot, driver)).collect();
        self.classes(id).clear_all();
        lost
    }

    /// Takes all packets out of `slot`; what counts them is left to the caller.
    fn drain_slot<D: Driver<B>>(
        &mut self,
        now: Time,
        id: PortId,
        slot: usize,
        driver: &mut D,
    ) -> Vec<Packet<B>> {
        let mut lost = Vec::new();
        loop {
            let classes = self.ports[id.index()].cold.classes.as_mut().expect("a scheduled port");
            let Some(waiting) = classes.queue(slot).ring.pop() else {
                classes.queue(slot).discipline.idle(now);
                return lost;
            };
            classes.give(slot, &waiting, &mut self.pools);
            self.release(now, waiting.own, &waiting.packet, driver);
            lost.push(waiting.packet);
        }
    }

    /// Empties the queue of a class of a port without virtual output queues.
    pub(crate) fn drain_class<D: Driver<B>>(
        &mut self,
        now: Time,
        id: PortId,
        index: usize,
        driver: &mut D,
    ) -> Vec<Packet<B>> {
        let lost = self.drain_slot(now, id, index, driver);
        let port = &mut self.ports[id.index()];
        let classes = port.cold.classes.as_mut().expect("a scheduled port");
        port.waiting_bytes -= classes.queues[index].bytes;
        port.waiting_packets -= classes.queues[index].packets;
        classes.clear(index);
        for packet in &lost {
            port.uncount_entry(u64::from(packet.bytes));
        }
        lost
    }
}
