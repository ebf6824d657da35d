//! The loop: the next event, what it does, what that makes processes say.

use crate::ahead::look_ahead;
use crate::context::View;
use crate::datagram::Pair;
use crate::fault::Change;
use crate::flow::Flow;
use crate::job::{Job, Slot};
use crate::key::{Kind, index_of, split};
use crate::net::Net;
use crate::outsiders::Outward;
use crate::records::{DatagramRecord, JobRecord, Outcome, Records};
use crate::sample::Sampler;
use crate::slab::Slab;
use crate::stall::Stall;
use crate::task::Tasks;
use crate::timer::Timers;
use crate::wheel::Entry;
use crate::work::Work;
use fabric::{Delivery, Fabric, FluidFlow, Graph, NodeId, PortId};
use process::{Event, HostId};
use std::collections::{BTreeMap, VecDeque};
use units::Time;

/// A simulation.
pub struct Sim {
    pub(crate) net: Net,
    pub(crate) until: Time,
    pub(crate) seed: u64,
    pub(crate) graph: Graph,
    /// Hosts take time for packets, some at least.
    pub(crate) packets_wait: bool,
    pub(crate) flows: Slab<Flow>,
    pub(crate) pairs: Vec<Pair>,
    pub(crate) pair_of: BTreeMap<(u32, u32, u32), u32>,
    pub(crate) processes: Vec<Slot>,
    /// By process and the host that it opens streams to: where the next port is among the dynamic ones.
    pub(crate) opened: BTreeMap<(u32, u32), u16>,
    pub(crate) jobs: Vec<Job>,
    pub(crate) timers: Timers,
    pub(crate) tasks: Tasks,
    pub(crate) works: Slab<Work>,
    /// Events for processes, in order.
    pub(crate) inbox: VecDeque<(u32, Event)>,
    /// Endpoints that a process has touched and that may have something to send.
    pub(crate) dirty: Vec<u32>,
    /// Takes turns with `dirty`.
    pub(crate) spare: Vec<u32>,
    pub(crate) controls: Vec<Control>,
    pub(crate) sampler: Sampler,
    pub(crate) stall: Stall,
    pub(crate) captures: Vec<PortId>,
    pub(crate) fluids: Vec<FluidFlow>,
    /// Fluid that is planned at each port: bits a second on the wire.
    pub(crate) fluid_rates: BTreeMap<PortId, u64>,
    pub(crate) records: Records,
    /// What hosts that are not simulated have yet to hear.
    pub(crate) outward: Vec<Outward>,
    pub(crate) next_flow: u32,
    pub(crate) flows_done: u64,
    pub(crate) jobs_left: usize,
    pub(crate) events: u64,
    pub(crate) hops: u64,
    pub(crate) fingerprint: u64,
}

/// What happens at a set time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Control {
    Start(u32),
    Change(Change),
    Sample,
    /// Fluid begins or ends.
    Fluid(u32, bool),
    /// Looks for deadlocks of PFC.
    Deadlocks,
}

/// Why [`Sim::run`] came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// There is more to do.
    Running,
    /// All jobs have ended.
    Finished,
    /// Something has come to a host that is not simulated ([`Sim::take_outward`]).
    Outward,
    /// The time that was set is over.
    Until,
    /// Nothing will ever happen again, though jobs have not ended.
    Idle,
    /// Queues that PFC has paused wait for each other, and nothing else goes on ([`Sim::deadlock`]).
    Deadlock,
}

/// How far a simulation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// Events so far.
    pub events: u64,
    /// Packets that crossed a link, summed over links.
    pub packet_hops: u64,
    /// Flows that came to their end.
    pub flows_done: u64,
    /// Flows that were opened.
    pub flows: u64,
    /// Jobs that the run waits for.
    pub jobs_left: usize,
    /// Changes with every event: equal for equal runs.
    pub fingerprint: u64,
}

impl Sim {
    /// Runs up to `events` events.
    pub fn run(&mut self, events: u64) -> Pause {
        for _ in 0..events {
            match self.step() {
                Some(Pause::Running) => {}
                Some(pause) => return pause,
                // Background alone may have said all that it had to say.
                None if self.jobs_left == 0 => return Pause::Finished,
                None => return Pause::Idle,
            }
        }
        Pause::Running
    }

    /// Runs what happens up to a time, `events` events at most, and moves the clock on to that time when
    /// nothing is left to happen before: something may still come from outside.
    pub fn run_to(&mut self, to: Time, events: u64) -> Pause {
        let mut pause = if self.net.outside.news { self.follow_up() } else { Pause::Running };
        for _ in 0..events {
            if pause != Pause::Running {
                break;
            }
            if self.next_event() > to {
                self.move_on(to);
                break;
            }
            pause = self.step().unwrap_or(Pause::Until);
        }
        if pause == Pause::Until {
            self.net.now = self.until;
        }
        pause
    }

    #[inline(always)]
    fn step(&mut self) -> Option<Pause> {
        let entry = match self.net.outside.wheel.pop() {
            Some(entry) => entry,
            None => self.turn()?,
        };
        if entry.time > self.until {
            // Kept, so that asking again gives the same answer.
            self.net.outside.wheel.push(entry.time, entry.key());
            self.net.now = self.until;
            return Some(if self.stall.is_end { Pause::Deadlock } else { Pause::Until });
        }
        self.net.now = entry.time;
        self.events += 1;
        self.fingerprint = fold(self.fingerprint, entry.time, entry.key());
        match index_of(entry.key(), Kind::Arrive) {
            Some(port) => self.on_arrive(PortId(port)),
            None => match index_of(entry.key(), Kind::Transmit) {
                Some(port) => self.net.fabric.transmit(self.net.now, PortId(port), &mut self.net.outside),
                None => self.on_other(entry.key()),
            },
        }
        Some(if self.net.outside.news { self.follow_up() } else { Pause::Running })
    }

    /// Turns to the next events, and looks ahead where they are many.
    #[inline(never)]
    fn turn(&mut self) -> Option<Entry> {
        if !self.net.outside.wheel.turn() {
            return None;
        }
        if let Some(keys) = self.net.outside.wheel.crowd() {
            look_ahead(&self.net.fabric, &self.flows, keys.filter_map(|key| index_of(key, Kind::Arrive)));
        }
        self.net.outside.wheel.pop()
    }

    /// What the event has set off: processes have something to handle, endpoints to send, packets are gone.
    #[cold]
    fn follow_up(&mut self) -> Pause {
        if !self.inbox.is_empty() || !self.dirty.is_empty() {
            self.converse();
        }
        self.settle();
        self.net.outside.news = false;
        let finished = self.jobs_left == 0 && !self.jobs.iter().all(|job| job.background);
        match (finished, self.outward.is_empty()) {
            (true, _) => Pause::Finished,
            (false, true) => Pause::Running,
            (false, false) => Pause::Outward,
        }
    }

    #[inline(always)]
    fn on_arrive(&mut self, port: PortId) {
        self.hops += 1;
        if let Some(delivery) = self.net.fabric.arrive(self.net.now, port, &mut self.net.outside) {
            self.on_delivery(delivery);
        }
    }

    /// A packet has come to its host.
    #[inline(never)]
    fn on_delivery(&mut self, delivery: Delivery) {
        if self.packets_wait {
            return self.on_costly_delivery(delivery);
        }
        self.on_segment(delivery);
    }

    /// Apart, so that the loop over arrivals stays small.
    #[inline(never)]
    fn on_other(&mut self, key: u32) {
        let (kind, index) = split(key);
        match kind {
            Kind::Arrive | Kind::Transmit => unreachable!("the loop sees to them"),
            Kind::Endpoint => self.on_endpoint(index),
            Kind::Nic => self.on_nic(index, self.net.hosts[index as usize].first_port),
            Kind::Timer => self.on_timer(index),
            Kind::Work => self.on_work(index),
            Kind::Pause => self.on_pause(PortId(index)),
            Kind::Room => self.on_nic(self.net.fabric.ends(PortId(index)).0.0, PortId(index)),
            Kind::Received => self.on_waited(index),
            Kind::Outsider => self.on_outsider(index),
            Kind::Control => self.on_control(index),
        }
    }

    fn on_control(&mut self, index: u32) {
        match self.controls[index as usize] {
            Control::Start(job) => self.start_job(job),
            Control::Change(change) => self.apply(change),
            Control::Fluid(index, begins) => self.on_fluid(index, begins),
            Control::Sample => {
                self.take_samples();
                if !self.net.outside.wheel.is_empty() {
                    let at = self.net.now + self.sampler.interval.expect("sampling has an interval");
                    self.net.outside.at(at, Kind::Control, index);
                }
            }
            Control::Deadlocks => self.look_for_deadlock(),
        }
    }

    fn start_job(&mut self, job: u32) {
        for process in self.jobs[job as usize].processes.clone() {
            self.tell(process, Event::Start);
        }
        if self.jobs[job as usize].unfinished == 0 {
            // Nobody takes part: chance has drawn no flow.
            self.finish_job(job);
            self.net.outside.news = true;
        }
    }

    fn on_pause(&mut self, port: PortId) {
        self.net.fabric.timer(self.net.now, port, &mut self.net.outside);
        self.schedule_look();
        for (port, class, begins) in std::mem::take(&mut self.net.outside.storms) {
            let what = if begins { "pfc-storm" } else { "pfc-restored" };
            self.records.events.push((self.net.now, what, self.describe_queue(port, class)));
        }
    }

    pub(crate) fn schedule_sample(&mut self) {
        let at = self.sampler.interval.expect("sampling has an interval");
        self.schedule_control(at, Control::Sample);
    }

    /// Queues an event for a process; lost when its host is down.
    pub(crate) fn tell(&mut self, process: u32, event: Event) {
        if self.net.hosts[self.processes[process as usize].host as usize].up {
            self.inbox.push_back((process, event));
            self.net.outside.news = true;
        }
    }

    /// Endpoint `id` may have something to send once the event at hand is handled.
    pub(crate) fn touch(&mut self, id: u32) {
        self.dirty.push(id);
        self.net.outside.news = true;
    }

    /// Lets processes handle their events, and their streams send, until nobody has anything left to say.
    fn converse(&mut self) {
        let mut dirty = std::mem::take(&mut self.spare);
        loop {
            while let Some((process, event)) = self.inbox.pop_front() {
                let Some(mut state) = self.processes[process as usize].process.take() else { continue };
                state.handle(event, &mut View { sim: self, process });
                self.processes[process as usize].process = Some(state);
            }
            if self.dirty.is_empty() {
                self.spare = dirty;
                return;
            }
            std::mem::swap(&mut dirty, &mut self.dirty);
            for id in dirty.drain(..) {
                self.after_tcp(id);
            }
        }
    }

    pub(crate) fn finish_process(&mut self, process: u32) {
        let slot = &mut self.processes[process as usize];
        if std::mem::replace(&mut slot.finished, true) {
            return;
        }
        let job = slot.job;
        self.jobs[job as usize].unfinished -= 1;
        if self.jobs[job as usize].unfinished == 0 {
            self.finish_job(job);
        }
    }

    /// A job's process on `host` is done, as its driver has found out.
    pub fn finish(&mut self, job: usize, host: HostId) {
        let on_host = |process: &&u32| self.processes[**process as usize].host == host.0;
        if let Some(process) = self.jobs[job].processes.iter().find(on_host).copied() {
            self.finish_process(process);
            self.net.outside.news = true;
        }
    }

    /// Nothing is left of a job to wait for.
    fn finish_job(&mut self, job: u32) {
        let job = &mut self.jobs[job as usize];
        job.end = (!job.background).then_some(self.net.now);
        self.jobs_left -= usize::from(!job.background);
    }

    pub(crate) fn name(&self, node: NodeId) -> String {
        self.graph.name(node).to_owned()
    }

    /// Hands out what was measured since the last call. Captured packets that have yet to leave their queue
    /// are kept until they have.
    pub fn take_records(&mut self) -> Records {
        let mut records = std::mem::take(&mut self.records);
        let now = self.net.now;
        self.records.packets.extend(records.packets.extract_if(.., |packet| packet.time > now));
        records
    }

    /// Closes the books of flows and tasks that are still open. To be called once, at the end.
    pub fn close(&mut self) {
        self.close_tasks();
        let slots: Vec<u32> = self.flows.iter().map(|(slot, _)| slot).collect();
        for slot in slots {
            let mut flow = self.flows.remove(slot).expect("just listed");
            if flow.outcome == Outcome::Unfinished && flow.is_delivered() {
                // Its job may have ended the run with its last byte.
                flow.outcome = Outcome::Finished;
            }
            self.close_books(&flow);
        }
        self.records.flows.sort_by_key(|flow| flow.flow);
    }

    /// How far the simulation is.
    pub fn progress(&self) -> Progress {
        Progress {
            now: self.net.now,
            events: self.events,
            packet_hops: self.hops,
            flows_done: self.flows_done,
            flows: u64::from(self.next_flow),
            jobs_left: self.jobs_left,
            fingerprint: self.fingerprint,
        }
    }

    /// Totals of all jobs.
    pub fn job_records(&self) -> Vec<JobRecord> {
        let record = |job: &Job| JobRecord {
            name: job.name.clone(),
            kind: job.kind.clone(),
            start: job.start,
            end: job.end,
            background: job.background,
            flows: job.flows,
            flows_broken: job.flows_broken,
            bytes: job.bytes,
        };
        self.jobs.iter().map(record).collect()
    }

    /// Totals of datagrams, in order of first use.
    pub fn datagram_records(&self) -> Vec<DatagramRecord> {
        let record = |pair: &Pair| DatagramRecord {
            job: pair.job,
            from: pair.from,
            to: pair.to,
            sent_packets: pair.sent_packets,
            sent_bytes: pair.sent_bytes,
            received_packets: pair.received_packets,
            received_bytes: pair.received_bytes,
            drops: pair.drops,
        };
        self.pairs.iter().map(record).collect()
    }

    /// The network, for its counters.
    pub fn network(&mut self) -> &mut Fabric<impl Copy + Default + use<>> {
        &mut self.net.fabric
    }

    /// The topology.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    pub(crate) fn describe(&self, time: Time, key: u32) -> String {
        let (kind, index) = split(key);
        let port = |id: u32| {
            let (a, b) = self.net.fabric.ends(PortId(id));
            format!("{} to {}", self.graph.name(a), self.graph.name(b))
        };
        let what = match kind {
            Kind::Control => format!("{:?}", self.controls[index as usize]),
            Kind::Transmit => format!("transmitter free, {}", port(index)),
            Kind::Arrive => format!("packet arrives, {}", port(index)),
            Kind::Nic => format!("NIC has room, {}", self.graph.name(NodeId(index))),
            Kind::Endpoint => match self.flows.get(index >> 1) {
                Some(flow) => format!("transport timer, flow {} side {}", flow.number, index & 1),
                None => "transport timer of a flow that is over".into(),
            },
            Kind::Timer => format!("timer of a process, slot {index}"),
            Kind::Work => format!("work done, slot {index}"),
            Kind::Pause => format!("pauses, {}", port(index)),
            Kind::Room => format!("room, {}", port(index)),
            Kind::Received => format!("packet received, {}", self.graph.name(NodeId(index))),
            Kind::Outsider => format!("host goes on, {}", self.graph.name(NodeId(index))),
        };
        format!("{time}: {what}")
    }

    /// Runs one event; returns its time and key.
    pub(crate) fn trace_step(&mut self) -> (Option<Pause>, Option<(Time, u32)>) {
        let next = self.net.outside.wheel.peek().map(|entry| (entry.time, entry.key()));
        (self.step(), next)
    }
}

/// Mixes an event into the fingerprint (FNV-like, on words).
#[inline]
fn fold(fingerprint: u64, time: Time, key: u32) -> u64 {
    let word = time.as_ps() ^ (u64::from(key) << 32);
    (fingerprint.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)
}
