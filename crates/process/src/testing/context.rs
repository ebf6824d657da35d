//! The world as a process sees it that runs in memory.

use super::{Action, Sent, Slot, World};
use crate::{Addr, Context, Event, HostId, Payload, Read, StreamId, TaskId};
use rand::Rng;
use units::Time;

/// The view of process `number` while it handles an event.
pub(super) struct View<'a> {
    pub world: &'a mut World,
    pub number: usize,
}

impl View<'_> {
    fn local(&self, port: u16) -> Addr {
        Addr { host: self.host(), port }
    }

    fn slot(&mut self) -> &mut Slot {
        &mut self.world.slots[self.number]
    }

    fn tell_after(&mut self, time: Time, event: Event) {
        self.world.tell(self.world.now.saturating_add(time), self.number, event);
    }
}

impl Context for View<'_> {
    fn now(&self) -> Time {
        self.world.now
    }

    fn host(&self) -> HostId {
        self.world.slots[self.number].host
    }

    fn rng(&mut self) -> &mut dyn Rng {
        &mut self.slot().rng
    }

    fn bind(&mut self, port: u16) {
        self.world.bound.insert(self.local(port), self.number);
    }

    fn send(&mut self, port: u16, to: Addr, data: Payload) {
        let (from, world) = (self.local(port), &mut *self.world);
        let place = world.sent.len();
        if world.keep_sent {
            world.sent.push(Sent { at: world.now, from, to, data: data.clone(), arrived: false });
        }
        for _ in 0..world.network.copies(&mut world.chance) {
            let at = world.after();
            world.schedule(at, Action::Datagram(from, to, data.clone(), place));
        }
    }

    fn listen(&mut self, port: u16) {
        self.world.listeners.insert(self.local(port), self.number);
    }

    fn open(&mut self, to: Addr, group: u64) -> StreamId {
        let from = self.local(EPHEMERAL);
        let slot = self.slot();
        slot.open += 1;
        slot.open_max = slot.open_max.max(slot.open);
        self.world.open(from, Some(self.number), to, group)
    }

    fn write(&mut self, stream: StreamId, data: Payload) -> u64 {
        self.world.write(stream, data)
    }

    fn read(&mut self, stream: StreamId, max: u64) -> Read {
        self.world.read(stream, max)
    }

    fn drain(&mut self, stream: StreamId) {
        self.world.drain(stream);
    }

    fn close(&mut self, stream: StreamId) {
        self.world.close(stream);
    }

    fn abort(&mut self, stream: StreamId) {
        self.world.abort(stream);
    }

    fn set_timer(&mut self, token: u64, delay: Time) {
        // The next action's number tells this setting of the timer from others.
        let (number, setting, at) =
            (self.number, self.world.sequence + 1, self.world.now.saturating_add(delay));
        let slot = self.slot();
        slot.timers.insert(token, setting);
        slot.timers_max = slot.timers_max.max(slot.timers.len());
        let life = slot.life;
        self.world.schedule(at, Action::Fire(number, life, token, setting));
    }

    fn cancel_timer(&mut self, token: u64) {
        self.slot().timers.remove(&token);
    }

    fn compute(&mut self, token: u64, time: Time) {
        self.tell_after(time, Event::Computed { token });
    }

    fn disk_read(&mut self, token: u64, bytes: u64) {
        self.tell_after(Time::from_ns(bytes), Event::DiskDone { token });
    }

    fn disk_write(&mut self, token: u64, bytes: u64) {
        self.tell_after(Time::from_ns(bytes), Event::DiskDone { token });
    }

    fn begin_task(&mut self, _: &'static str, _: u64) -> TaskId {
        self.world.tasks += 1;
        TaskId(self.world.tasks)
    }

    fn end_task(&mut self, _: TaskId, _: u64) {}

    fn finish(&mut self) {
        self.slot().finished = true;
    }
}

/// The port that streams are opened from.
const EPHEMERAL: u16 = 50_000;
