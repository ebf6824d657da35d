//! A network in parts: each part has all ports, and runs those of its own nodes.
//!
//! A link between two parts is cut. The part that sends hands a packet over a set time before it arrives,
//! when its last bit has left. The other part has it on its copy of the port until it arrives there. So each
//! part may be as far ahead of the others as this time.

use crate::driver::{Driver, PortEvent};
use crate::fabric::Fabric;
use crate::ids::{NodeId, PortId, Route};
use crate::packet::Packet;
use crate::port::flag;
use crate::wires::{NONE, Wire};
use std::collections::BTreeSet;
use units::Time;

impl<B: Copy + Default> Fabric<B> {
    /// Whether all that crosses this port can be handed over: no fluid, no cells.
    pub fn may_be_cut(&self, id: PortId) -> bool {
        !self.ports[id.index()].is(flag::FLUID | flag::CELLS | flag::CAPTURE)
    }

    /// Cuts a link whose far end another part runs: packets are [handed over](Fabric::hand_over) `ahead` of
    /// their arrival, which is no longer than the link's delay.
    pub fn cut(&mut self, id: PortId, ahead: Time) {
        let port = &mut self.ports[id.index()];
        port.flags |= flag::CUT;
        port.delay = port.delay.saturating_sub(ahead);
    }

    /// The delay of a link.
    pub fn delay(&self, id: PortId) -> Time {
        self.ports[id.index()].delay
    }

    /// Takes the next packet that is to be handed over from the cut link of `id`, and when that is: not after
    /// `until`. Otherwise, when the next one is, if there is any.
    pub fn hand_over(&mut self, id: PortId, until: Time) -> Result<(Time, Packet<B>), Option<Time>> {
        let port = &mut self.ports[id.index()];
        let slot = port.first;
        let Some(wire) = self.wires.get(slot) else { return Err(None) };
        let at = wire.arrive;
        if at > until {
            return Err(Some(at));
        }
        if port.waiting == slot {
            // Nobody has looked since its sending began.
            port.leave_queue(wire);
        }
        port.first = wire.next;
        Ok((at, *self.wires.take(slot)))
    }

    /// Whether the far end of `id` is a host.
    pub fn leads_to_host(&self, id: PortId) -> bool {
        self.ports[id.index()].is(flag::TO_HOST)
    }

    /// Takes over a packet that arrives over the link of `id`, which is cut in the part that sends.
    pub fn take_over<D: Driver<B>>(&mut self, id: PortId, arrive: Time, packet: &Packet<B>, driver: &mut D) {
        let (slot, wires) = self.wires.insert(packet);
        if let Some(first) = self.ports[id.index()].append(wires, arrive, arrive, slot) {
            driver.schedule(first, PortEvent::Arrive(id));
        }
    }

    /// The ports that a packet is still to enter.
    pub fn ports_ahead(&self, route: Route) -> Vec<PortId> {
        let (port, route) = self.routing.next(route);
        self.path((port, route))
    }

    /// The route that crosses `ports`.
    pub fn route_over(&mut self, ports: &[PortId]) -> Route {
        self.routing.over(ports)
    }

    /// A flow's route, as [`Fabric::route`] gives it, in the numbers of another part.
    pub fn way_there(&self, way: (PortId, Route), other: &mut Fabric<B>) -> (PortId, Route) {
        let route = other.route_over(&self.path(way));
        other.routing.next(route)
    }

    /// Moves what is counted here of a link that is cut elsewhere, its losses on the way, to the part that
    /// cuts it.
    pub fn report_losses(&mut self, id: PortId, sender: &mut Fabric<B>) {
        if let Some(lost) = self.ports[id.index()].cold.discards.take() {
            sender.ports[id.index()].cold.discards.get_or_insert_default().add(&lost);
        }
    }

    /// Takes over from another part the state of the nodes that `is_its`, and what is on links to them. Both
    /// parts are at their end: nothing more may be handed over.
    pub fn join(&mut self, other: &mut Fabric<B>, is_its: impl Fn(NodeId) -> bool) {
        for index in 0..self.ports.len() {
            let cold = &self.ports[index].cold;
            let (own, peer) = (is_its(cold.owner), is_its(cold.peer));
            if !own && !peer {
                continue;
            }
            let (mut here, mut there) = (self.unchain(index), other.unchain(index));
            if own {
                std::mem::swap(&mut self.ports[index], &mut other.ports[index]);
                std::mem::swap(&mut here, &mut there);
            }
            // What the sender has handed over comes first.
            there.wires.extend(here.wires);
            self.chain(index, &there.wires, there.begun + here.begun);
        }
        let its = self.ports.iter().filter(|port| is_its(port.cold.owner));
        let pools: BTreeSet<u32> = its.filter_map(|port| port.cold.classes.as_ref()?.pool).collect();
        for pool in pools {
            std::mem::swap(&mut self.pools[pool as usize], &mut other.pools[pool as usize]);
        }
        for (here, there) in self.pfcs.iter_mut().zip(&mut other.pfcs) {
            if is_its(self.ports[here.first as usize].cold.owner) {
                std::mem::swap(here, there);
            }
        }
        if let (Some(here), Some(there)) = (&mut self.causes, other.causes.take()) {
            here.join(*there);
        }
    }

    /// Takes the packets of a port out of their slots.
    fn unchain(&mut self, index: usize) -> Chain<B> {
        let (first, waiting) = (self.ports[index].first, self.ports[index].waiting);
        let slots: Vec<u32> = self.wires.chain(first).collect();
        let begun = slots.iter().position(|&slot| slot == waiting).unwrap_or(slots.len());
        let wires = slots.iter().map(|&slot| self.wires[slot]).collect();
        for slot in slots {
            self.wires.take(slot);
        }
        let port = &mut self.ports[index];
        (port.first, port.last, port.waiting) = (NONE, NONE, NONE);
        Chain { wires, begun }
    }

    /// Gives a port without packets these; the sending of `begun` of them has begun.
    fn chain(&mut self, index: usize, wires: &[Wire<B>], begun: usize) {
        let mut slots = Vec::with_capacity(wires.len());
        for wire in wires {
            let (slot, all) = self.wires.insert(&wire.packet);
            all[slot as usize] = Wire { next: NONE, ..*wire };
            slots.push(slot);
        }
        for pair in slots.windows(2) {
            self.wires[pair[0]].next = pair[1];
        }
        let at = |place: Option<&u32>| place.copied().unwrap_or(NONE);
        let port = &mut self.ports[index];
        (port.first, port.last, port.waiting) = (at(slots.first()), at(slots.last()), at(slots.get(begun)));
    }
}

/// Packets on the wire of a port and in its first-in first-out queue.
struct Chain<B> {
    wires: Vec<Wire<B>>,
    /// How many of them are no longer in the queue.
    begun: usize,
}
