//! The world as a process sees it that runs on sockets.

use crate::datagrams::Known;
use crate::driver::Driver;
use process::{Addr, Context, Event, HostId, Payload, Process, Read, StreamId, TaskId, Train};
use rand::Rng;
use units::Time;

/// A process's view of the driver while it handles an event.
pub(crate) struct View<'a> {
    pub driver: &'a mut Driver,
    pub process: u32,
}

impl Driver {
    /// A process handles an event.
    pub fn dispatch(&mut self, process: u32, event: Event) {
        self.let_handle(process, 1, |state, view| state.handle(event, view));
    }

    /// A process handles datagrams that came together.
    pub fn dispatch_train(&mut self, process: u32, train: &Train<'_>, datagrams: u64) {
        self.let_handle(process, datagrams, |state, view| state.handle_train(train, view));
    }

    fn let_handle(&mut self, process: u32, events: u64, act: impl FnOnce(&mut dyn Process, &mut View<'_>)) {
        let Some(mut state) = self.slots[process as usize].process.take() else { return };
        self.now.set(None);
        self.counters.events += events;
        act(&mut *state, &mut View { driver: self, process });
        self.slots[process as usize].process = Some(state);
    }
}

impl View<'_> {
    /// The process and its job.
    fn owner(&self) -> (u32, u32) {
        (self.process, self.driver.slots[self.process as usize].job)
    }
}

impl Context for View<'_> {
    fn now(&self) -> Time {
        self.driver.time()
    }

    fn host(&self) -> HostId {
        self.driver.host
    }

    fn rng(&mut self) -> &mut dyn Rng {
        &mut self.driver.slots[self.process as usize].rng
    }

    fn bind(&mut self, port: u16) {
        if let Some(port) = self.driver.datagrams.ports.iter_mut().find(|known| known.port == port) {
            port.owner = Some(self.process);
        }
    }

    fn send(&mut self, port: u16, to: Addr, data: Payload) {
        let (_, job) = self.owner();
        let Driver { datagrams, table, counters, .. } = &mut *self.driver;
        datagrams.send((job, port), to, &data, Known { table, counters });
    }

    fn send_train(&mut self, port: u16, to: Addr, data: &[u8], segment: usize) {
        let (_, job) = self.owner();
        let Driver { datagrams, table, counters, .. } = &mut *self.driver;
        datagrams.send_train((job, port), to, (data, segment), Known { table, counters });
    }

    fn listen(&mut self, port: u16) {
        let owner = self.owner();
        let listeners = &mut self.driver.streams.listeners;
        if let Some(listener) = listeners.iter_mut().find(|known| known.port == port) {
            // The kernel takes no connection before this, as the simulator takes none.
            let listens = listener.owner.is_some() || listener.socket.listen(BACKLOG).is_ok();
            listener.owner = listens.then_some(owner);
        }
    }

    fn open(&mut self, to: Addr, group: u64) -> StreamId {
        let owner = self.owner();
        let (streams, mut world) = self.driver.world();
        streams.open(owner, to, group, &mut world)
    }

    fn write(&mut self, stream: StreamId, data: Payload) -> u64 {
        self.driver.streams.write(stream, data)
    }

    fn read(&mut self, stream: StreamId, max: u64) -> Read {
        self.driver.streams.read(stream, max)
    }

    fn drain(&mut self, stream: StreamId) {
        self.driver.streams.drain(stream);
    }

    fn close(&mut self, stream: StreamId) {
        self.driver.streams.close(stream);
    }

    fn abort(&mut self, stream: StreamId) {
        let (streams, world) = self.driver.world();
        streams.abort(stream, &world);
    }

    fn set_timer(&mut self, token: u64, delay: Time) {
        let at = self.driver.moment().saturating_add(delay);
        self.driver.timers.set(self.process, token, at);
    }

    fn cancel_timer(&mut self, token: u64) {
        self.driver.timers.cancel(self.process, token);
    }

    // Unless the host is paced, the work itself takes the time, before or after it is asked for.
    fn compute(&mut self, token: u64, time: Time) {
        let at = self.driver.moment().saturating_add(time);
        match &mut self.driver.pace {
            Some(pace) => pace.compute(self.process, token, at),
            None => self.driver.inbox.push_back((self.process, Event::Computed { token })),
        }
    }

    // There is no disk: data that matters is in the process's memory.
    fn disk_read(&mut self, token: u64, _: u64) {
        self.driver.inbox.push_back((self.process, Event::DiskDone { token }));
    }

    fn disk_write(&mut self, token: u64, _: u64) {
        self.driver.inbox.push_back((self.process, Event::DiskDone { token }));
    }

    fn begin_task(&mut self, kind: &'static str, number: u64) -> TaskId {
        let (owner, host, now) = (self.owner(), self.driver.host.0, self.driver.time());
        self.driver.tasks.begin(owner, host, kind, number, now)
    }

    fn end_task(&mut self, task: TaskId, bytes: u64) {
        let now = self.driver.time();
        self.driver.tasks.end(self.process, task, bytes, now);
    }

    fn finish(&mut self) {
        let now = self.driver.time();
        self.driver.slots[self.process as usize].finished.get_or_insert(now);
    }
}

/// Connections that may wait to be accepted; the kernel allows what `net.core.somaxconn` says.
const BACKLOG: i32 = 4096;
