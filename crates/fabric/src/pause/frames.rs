//! PAUSE frames on their way: sent when they are due, heeded when they arrive, renewed while they are wanted.

use super::{PAUSE_FRAME, Pausing, classes, pause_time};
use crate::counters::PauseCounters;
use crate::driver::{Driver, PortEvent};
use crate::fabric::Fabric;
use crate::ids::PortId;
use crate::packet::Packet;
use crate::port::flag;
use units::Time;

fn frame<B: Copy + Default>(xoff: u8, xon: u8, quanta: u16) -> Packet<B> {
    Packet { class: PAUSE_FRAME, bytes: u16::from_be_bytes([xoff, xon]), hash: quanta, ..Packet::default() }
}

impl<B: Copy + Default> Fabric<B> {
    /// The peer at `own` is to learn that a pause of `class` begins or ends.
    pub(crate) fn signal<D: Driver<B>>(&mut self, now: Time, own: PortId, class: u8, driver: &mut D) {
        if self.causes.is_some() {
            self.note_cause(now, own, class);
        }
        self.pausing(own).due |= 1 << class;
        let port = &self.ports[own.index()];
        if port.cold.classes.as_ref().is_some_and(|classes| classes.pending) {
            return; // Told when the transmitter is free.
        }
        if port.free_at > now {
            self.ask_to_transmit(own, driver);
        } else {
            self.send_pause(now, own, driver);
        }
    }

    /// A packet of class `index` has left by `id`.
    pub(crate) fn note_sent<D: Driver<B>>(&mut self, now: Time, id: PortId, index: usize, driver: &mut D) {
        let port = &mut self.ports[id.index()];
        let classes = port.cold.classes.as_ref().expect("a port that pauses has classes");
        let (left, pending) = (classes.queues[index].bytes, classes.pending);
        if self.owes_pause(id) && !pending {
            self.ask_to_transmit(id, driver);
        }
        if self.pausing(id).note_sent(now, index, left) {
            driver.schedule(now, PortEvent::Room(id));
        }
    }

    /// Whether a PAUSE frame is to go before all else by `own`.
    pub(crate) fn owes_pause(&self, own: PortId) -> bool {
        self.ports[own.index()].cold.pausing.as_ref().is_some_and(|pausing| pausing.due != 0)
    }

    /// Sends the PAUSE frame that is due at `own`, whose transmitter is free.
    pub(crate) fn send_pause<D: Driver<B>>(&mut self, now: Time, own: PortId, driver: &mut D) {
        let wanted = self.wanted(own);
        let far_rate = self.ports[self.reverse(own).index()].cold.rate;
        let wire_bytes = self.framing.wire_bytes(0);
        let port = &mut self.ports[own.index()];
        let pausing = port.cold.pausing.as_deref_mut().expect("a port that pauses");
        let due = std::mem::take(&mut pausing.due);
        // A port that asks for one pause renews all: the next renewal is counted from now.
        let (xoff, xon) = (if due & wanted == 0 { 0 } else { wanted }, due & !wanted);
        if xoff != 0 {
            // Half a pause leaves time for the packet that the frame waits for.
            let pause = pause_time(far_rate, pausing.quanta);
            pausing.refresh_at = now + Time::from_ps(pause.as_ps() / 2);
            driver.schedule(pausing.refresh_at, PortEvent::Timer(own));
        }
        if port.is(flag::DOWN) {
            return;
        }
        let pausing = port.cold.pausing.as_deref_mut().expect("a port that pauses");
        pausing.frames_sent += 1;
        classes(xoff).for_each(|class| pausing.counters[usize::from(class)].xoff_sent += 1);
        classes(xon).for_each(|class| pausing.counters[usize::from(class)].xon_sent += 1);
        let frame = frame(xoff, xon, pausing.quanta);
        let (slot, wires) = self.wires.insert(&frame);
        if let Some(arrive) = port.launch(wires, now, wire_bytes, slot) {
            port.schedule_arrival(arrive, own, driver);
        }
        if port.waiting_packets > 0 {
            self.ask_to_transmit(own, driver);
        }
    }

    /// The classes that the peer at `own` is to pause.
    pub(crate) fn wanted(&self, own: PortId) -> u8 {
        let cold = &self.ports[own.index()].cold;
        let storming = cold.pausing.as_ref().map_or(0, |pausing| pausing.storming);
        let Some(pfc) = cold.classes.as_ref().and_then(|classes| classes.pfc) else { return storming };
        let pfc = &self.pfcs[pfc as usize];
        let groups = classes(pfc.config.classes).filter(|class| pfc.group(own, *class).xoff);
        groups.fold(storming, |mask, class| mask | (1 << class))
    }

    /// A PAUSE frame has come over the link of `id`: it stops the transmitter at the far end.
    #[cold]
    pub(crate) fn receive_pause<D: Driver<B>>(
        &mut self,
        now: Time,
        id: PortId,
        frame: &Packet<B>,
        driver: &mut D,
    ) {
        let id = self.reverse(id);
        let port = &mut self.ports[id.index()];
        // A switch without PFC ignores it.
        let Some(pausing) = port.cold.pausing.as_deref_mut() else { return };
        let [xoff, xon] = frame.bytes.to_be_bytes();
        let until = now + pause_time(port.cold.rate, frame.hash);
        pausing.frames_received += 1;
        for class in classes(xoff) {
            pausing.counters[usize::from(class)].xoff_received += 1;
            pausing.last_received[usize::from(class)] = now;
        }
        for class in classes(xon) {
            pausing.counters[usize::from(class)].xon_received += 1;
            pausing.last_received[usize::from(class)] = now;
            pausing.resume(now, class);
        }
        let stopped = xoff & pausing.honours;
        classes(stopped).for_each(|class| pausing.pause(now, class, until));
        if stopped != 0 {
            driver.schedule(until, PortEvent::Timer(id));
            self.start_polls(now, id, driver);
        }
        self.obey(now, id, driver);
    }

    /// Lets the transmitter of `id` know which classes are paused now; those that are not any more go on.
    pub(crate) fn obey<D: Driver<B>>(&mut self, now: Time, id: PortId, driver: &mut D) {
        let port = &mut self.ports[id.index()];
        let paused = port.cold.pausing.as_ref().map_or(0, |pausing| pausing.paused);
        let classes = port.cold.classes.as_mut().expect("a port that pauses has classes");
        classes.paused = paused & !classes.ignoring;
        if classes.pending || port.waiting_packets == 0 {
            return;
        }
        if port.free_at > now {
            self.ask_to_transmit(id, driver);
        } else {
            self.transmit_next(now, id, driver);
        }
    }

    /// The time has come that [`PortEvent::Timer`] asked for.
    pub fn timer<D: Driver<B>>(&mut self, now: Time, id: PortId, driver: &mut D) {
        let pausing = self.pausing(id);
        let expired = classes(pausing.paused).filter(|class| pausing.until[usize::from(*class)] <= now);
        let expired: Vec<u8> = expired.collect();
        let refresh = pausing.refresh_at == now;
        for &class in &expired {
            self.pausing(id).resume(now, class);
        }
        if !expired.is_empty() {
            self.obey(now, id, driver);
        }
        let wanted = if refresh { self.wanted(id) } else { 0 };
        if wanted != 0 {
            // One frame names them all.
            self.signal(now, id, wanted.trailing_zeros() as u8, driver);
        }
        self.poll(now, id, driver);
    }

    /// The link of `id` went down: nothing stays paused.
    pub(crate) fn forget_pauses<D: Driver<B>>(&mut self, now: Time, id: PortId, driver: &mut D) {
        let port = &mut self.ports[id.index()];
        let Some(pausing) = port.cold.pausing.as_deref_mut() else { return };
        (0..8).for_each(|class| pausing.resume(now, class));
        if std::mem::take(&mut pausing.wake_below) != [0; 8] {
            driver.schedule(now, PortEvent::Room(id)); // Its queues are emptied.
        }
        if let Some(classes) = port.cold.classes.as_mut() {
            classes.paused = 0;
        }
    }

    /// A broken host asks its switch to pause `class` for ever, or stops doing so (`id` is its port).
    pub fn pause_storm<D: Driver<B>>(&mut self, now: Time, id: PortId, class: u8, on: bool, driver: &mut D) {
        if !self.ports[id.index()].is(flag::PAUSES) {
            return; // Its switch does not listen.
        }
        let storming = &mut self.pausing(id).storming;
        *storming = if on { *storming | (1 << class) } else { *storming & !(1 << class) };
        self.signal(now, id, class, driver);
    }

    /// Calls [`PortEvent::Room`] when fewer than `bytes` of `class` wait at the scheduled port `id`.
    pub fn await_room(&mut self, id: PortId, class: u8, bytes: u64) {
        self.pausing(id).wake_below[usize::from(class)] = bytes;
    }

    /// Bytes of `class` that wait at `id`, where classes have queues of their own because of PFC.
    pub fn class_backlog(&self, id: PortId, class: u8) -> Option<u64> {
        let port = &self.ports[id.index()];
        let classes = port.cold.classes.as_ref().filter(|_| port.is(flag::PAUSES))?;
        Some(classes.queues[usize::from(class)].bytes)
    }

    /// Totals of PFC at `id` and `class`; none where there is no PFC.
    pub fn pause_counters(&self, now: Time, id: PortId, class: u8) -> Option<PauseCounters> {
        let cold = &self.ports[id.index()].cold;
        let pausing = cold.pausing.as_deref().filter(|pausing| pausing.honours & (1 << class) != 0)?;
        let mut counters = pausing.counters[usize::from(class)];
        if pausing.is_paused(class) {
            counters.paused += now - pausing.since[usize::from(class)];
        }
        if let Some(pfc) = cold.classes.as_ref().and_then(|classes| classes.pfc) {
            let group = self.pfcs[pfc as usize].group(id, class);
            counters.held_max = group.held_max.level(group.held).max;
            counters.headroom_max = group.headroom_max.level(group.headroom).max;
        }
        Some(counters)
    }

    pub(crate) fn pausing(&mut self, id: PortId) -> &mut Pausing {
        self.ports[id.index()].cold.pausing.as_deref_mut().expect("a port that pauses")
    }
}
