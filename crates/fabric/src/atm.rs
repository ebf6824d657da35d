//! Links of an ATM switch: packets that leave hosts as cells, and go through the switch as such (`cells/`).
//!
//! A host's interface sends the cells of a packet one behind the other, and tells the queue that they will
//! come to. When the last cell has come to the switch, it is known which were let in and when the last of
//! them leaves: the packet arrives with that, or is discarded. So a packet costs one event per hop, as
//! elsewhere.

use crate::aal5::{CELL, cell_rate, cell_time};
use crate::cells::{CellQueue, Fate};
use crate::config::CellsConfig;
use crate::counters::CellTotals;
use crate::driver::{Driver, PortEvent};
use crate::fabric::Fabric;
use crate::ids::PortId;
use crate::packet::{Discard, Packet};
use crate::port::{Port, flag};
use crate::wires::NONE;
use std::ops::Range;
use units::{Serializer, Time};

/// Sets up the ports of one switch of cells, and of the hosts that hang on it.
pub(crate) fn configure_cells<B: Copy + Default>(
    config: CellsConfig,
    ports: &mut [Port<B>],
    range: Range<usize>,
    seed: u64,
) {
    for id in range {
        let reverse = ports[id].cold.reverse.index();
        for port in [id, reverse] {
            let port = &mut ports[port];
            port.flags |= flag::CELLS;
            port.set_rate(cell_rate(port.cold.rate, config.sonet), 0);
            port.serializer = Serializer::of_units(CELL, cell_time(port.cold.rate));
        }
        ports[id].cold.cells =
            Some(Box::new(CellQueue::new(config, cell_time(ports[id].cold.rate), seed ^ ((id as u64) << 8))));
    }
}

impl<B: Copy + Default> Fabric<B> {
    /// A packet enters a port whose link carries cells.
    #[inline(never)]
    pub(crate) fn enqueue_cells<D: Driver<B>>(
        &mut self,
        now: Time,
        ingress: PortId,
        id: PortId,
        packet: &Packet<B>,
        driver: &mut D,
    ) {
        if self.ports[id.index()].cold.cells.is_some() {
            self.end_train(now, ingress, id, packet, driver);
        } else {
            self.send_train(now, id, packet, driver);
        }
    }

    /// A packet enters the queue of a host's interface.
    fn send_train<D: Driver<B>>(&mut self, now: Time, id: PortId, packet: &Packet<B>, driver: &mut D) {
        let (ahead, _) = self.routing.next(packet.route);
        let port = &mut self.ports[id.index()];
        port.start_due(&self.wires.slots, now);
        let (start, bytes) = (port.free_at.max(now), u64::from(packet.bytes));
        let waits = start > now;
        if waits && port.is_full(port.waiting_bytes + bytes, port.waiting_packets) {
            return self.discard(now, id, packet, Discard::Tail, driver);
        }
        let delay = port.delay;
        let queue =
            self.ports[ahead.index()].cold.cells.as_mut().expect("a link of cells leads to their switch");
        let cells = queue.cells(packet.bytes);
        queue.announce(id.0, start + delay, cells);
        let (slot, wires) = self.wires.insert(packet);
        let port = &mut self.ports[id.index()];
        if waits {
            port.join_queue(slot, start, bytes);
            port.note_wait_until(now, start);
        } else if port.waiting != NONE {
            port.clear_queue();
        }
        port.count_entry(bytes);
        if let Some(arrive) = port.launch(wires, start, cells * CELL, slot) {
            driver.schedule(arrive, PortEvent::Arrive(id));
        }
        if port.is(flag::CAPTURE) {
            driver.sent(start, id, packet);
        }
    }

    /// The last cell of a packet has come to the switch, where it leaves by `id`.
    fn end_train<D: Driver<B>>(
        &mut self,
        now: Time,
        ingress: PortId,
        id: PortId,
        packet: &Packet<B>,
        driver: &mut D,
    ) {
        let port = &mut self.ports[id.index()];
        let queue = port.cold.cells.as_mut().expect("the caller has looked");
        let (fate, cell) = (queue.take(ingress.0, now), queue.cell_time());
        let departs = match fate {
            Fate::Whole(departs) => departs,
            Fate::Damaged => return self.discard(now, id, packet, Discard::Cell, driver),
            Fate::Merged => return self.discard(now, id, packet, Discard::Merged, driver),
        };
        let (slot, wires) = self.wires.insert(packet);
        port.count_entry(u64::from(packet.bytes));
        // Of the last cell.
        let start = departs - cell;
        if start >= now + cell {
            port.note_wait_until(now, start);
        }
        if let Some(arrive) = port.append(wires, start, departs + port.delay, slot) {
            driver.schedule(arrive, PortEvent::Arrive(id));
        }
        if port.is(flag::CAPTURE) {
            driver.sent(start, id, packet);
        }
    }

    /// Cells at the port of a switch of cells, and what they have to do with the port's other counters.
    pub(crate) fn cell_totals(&mut self, now: Time, id: PortId) -> Option<CellTotals> {
        let port = &mut self.ports[id.index()];
        let totals = port.cold.cells.as_mut()?.totals(now);
        port.wire_bytes = (totals.came - totals.dropped - totals.abandoned) * u64::from(CELL);
        port.note_bytes(totals.queue_max * u64::from(CELL));
        Some(totals)
    }

    /// Packets and IP bytes whose last cell waits at `id`, a port of a switch of cells: it has not begun to
    /// leave.
    pub(crate) fn late_cells(&self, now: Time, id: PortId) -> (u64, u64) {
        let port = &self.ports[id.index()];
        let Some(cells) = &port.cold.cells else { return (0, 0) };
        let begun_by = now + cells.cell_time() + port.delay;
        let late = self.wires.chain(port.first).filter(|&slot| self.wires[slot].arrive > begun_by);
        late.fold((0, 0), |(packets, bytes), slot| {
            (packets + 1, bytes + u64::from(self.wires[slot].packet.bytes))
        })
    }

    /// The link of `id` goes down: cells on it, and those that wait for it, are lost.
    pub(crate) fn take_cells_down(&mut self, now: Time, id: PortId) {
        let port = &mut self.ports[id.index()];
        if !port.is(flag::CELLS) {
            return;
        }
        let peer = port.cold.peer;
        if let Some(cells) = &mut port.cold.cells {
            return cells.close(now);
        }
        for port in self.routing.ports(peer) {
            if let Some(cells) = &mut self.ports[port.index()].cold.cells {
                cells.cut(id.0, now);
            }
        }
    }
}
