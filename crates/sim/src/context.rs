//! The world as a simulated process sees it.

use crate::endpoint::Stage;
use crate::flow::Ending;
use crate::run::Sim;
use process::{Addr, Context, HostId, Payload, Read, StreamId, TaskId};
use rand::Rng;
use units::Time;

/// A process's view of the simulator while it handles an event.
pub(crate) struct View<'a> {
    pub sim: &'a mut Sim,
    pub process: u32,
}

impl View<'_> {
    fn host_index(&self) -> usize {
        self.sim.processes[self.process as usize].host as usize
    }
}

impl Context for View<'_> {
    fn now(&self) -> Time {
        self.sim.net.now
    }

    fn host(&self) -> HostId {
        HostId(self.host_index() as u32)
    }

    fn rng(&mut self) -> &mut dyn Rng {
        &mut self.sim.processes[self.process as usize].rng
    }

    fn bind(&mut self, port: u16) {
        let host = self.host_index();
        self.sim.net.hosts[host].bound.push((port, self.process));
    }

    fn send(&mut self, port: u16, to: Addr, data: Payload) {
        self.sim.send_datagram(self.process, port, to, data);
    }

    fn listen(&mut self, port: u16) {
        let host = self.host_index();
        self.sim.net.hosts[host].listening.push((port, self.process));
    }

    fn open(&mut self, to: Addr, group: u64) -> StreamId {
        self.sim.open(self.process, to, group)
    }

    fn write(&mut self, stream: StreamId, mut data: Payload) -> u64 {
        let Some((id, flow)) = self.sim.endpoint_of(stream) else { return 0 };
        let end = &mut flow.ends[(id & 1) as usize];
        let taken = end.tcp.write(data.len());
        let stored = data.split_to(taken);
        end.offered = if let Payload::Zeros(rest) = data { rest } else { 0 };
        if flow.half.is_none() {
            end.store(stored);
        } else if let Some(part) = &mut self.sim.part {
            part.news.written.push((id >> 1, stored));
        }
        self.sim.touch(id);
        taken
    }

    fn read(&mut self, stream: StreamId, max: u64) -> Read {
        self.sim.read(stream, max)
    }

    fn drain(&mut self, stream: StreamId) {
        if let Some((id, flow)) = self.sim.endpoint_of(stream) {
            flow.ends[(id & 1) as usize].tcp.drain();
        }
    }

    fn close(&mut self, stream: StreamId) {
        if let Some((id, flow)) = self.sim.endpoint_of(stream) {
            flow.ends[(id & 1) as usize].tcp.close();
            self.sim.touch(id);
        }
    }

    fn abort(&mut self, stream: StreamId) {
        let now = self.sim.net.now;
        if let Some((id, flow)) = self.sim.endpoint_of(stream) {
            let end = &mut flow.ends[(id & 1) as usize];
            end.tcp.abort();
            // The side that aborts is not told.
            end.stage = Stage::Closed;
            flow.note(now, Ending::Aborted);
            self.sim.touch(id);
        }
    }

    fn set_timer(&mut self, token: u64, delay: Time) {
        self.sim.set_timer(self.process, token, delay);
    }

    fn cancel_timer(&mut self, token: u64) {
        self.sim.cancel_timer(self.process, token);
    }

    fn compute(&mut self, token: u64, time: Time) {
        self.sim.compute(self.process, token, time);
    }

    fn disk_read(&mut self, token: u64, bytes: u64) {
        self.sim.disk(self.process, token, bytes);
    }

    fn disk_write(&mut self, token: u64, bytes: u64) {
        self.sim.disk(self.process, token, bytes);
    }

    fn begin_task(&mut self, kind: &'static str, number: u64) -> TaskId {
        self.sim.begin_task(self.process, kind, number)
    }

    fn end_task(&mut self, task: TaskId, bytes: u64) {
        self.sim.end_task(self.process, task, bytes);
    }

    fn finish(&mut self) {
        self.sim.finish_process(self.process);
    }
}
