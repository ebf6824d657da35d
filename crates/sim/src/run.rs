//! The loop: the next event, what it does, what that makes processes say.

use crate::ahead::look_ahead;
use crate::context::View;
use crate::datagram::Pair;
use crate::fault::Change;
use crate::flow::Flow;
use crate::job::{Job, Slot};
use crate::key::{Kind, index_of, is_place, key, mixed, split};
use crate::net::Net;
use crate::outsiders::Outward;
use crate::parts::Part;
use crate::records::{DatagramRecord, JobRecord, Outcome, Records};
use crate::sample::Sampler;
use crate::skip::Skip;
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

/// The place of what is no longer there.
const GONE: u32 = u32::MAX;

/// A simulation.
pub struct Sim {
    pub(crate) net: Net,
    pub(crate) until: Time,
    /// A run goes on to the next multiple of this when its jobs have ended; zero: it stops at once.
    pub(crate) grain: Time,
    /// The run stops then: at `until`, or earlier when all jobs have ended.
    pub(crate) stop: Time,
    /// All jobs have ended, and it will stop for that.
    pub(crate) winds_up: bool,
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
    pub(crate) works_begun: u64,
    /// Events for processes, in order.
    pub(crate) inbox: VecDeque<(u32, Event)>,
    /// Endpoints that a process has touched and that may have something to send.
    pub(crate) dirty: Vec<u32>,
    /// Takes turns with `dirty`.
    pub(crate) spare: Vec<u32>,
    pub(crate) controls: Vec<Control>,
    pub(crate) sampler: Sampler,
    pub(crate) stall: Stall,
    /// Steady states are skipped.
    pub(crate) skip: Option<Box<Skip>>,
    pub(crate) captures: Vec<PortId>,
    pub(crate) fluids: Vec<FluidFlow>,
    /// Fluid that is planned at each port: bits a second on the wire.
    pub(crate) fluid_rates: BTreeMap<PortId, u64>,
    pub(crate) records: Records,
    /// When a flow was released last, and the first record of that time.
    pub(crate) released: (Time, usize),
    /// The books are [closed](Sim::close).
    pub(crate) is_closed: bool,
    /// What a part of a network knows beyond a whole one.
    pub(crate) part: Option<Box<Part>>,
    /// What hosts that are not simulated have yet to hear.
    pub(crate) outward: Vec<Outward>,
    pub(crate) next_flow: u32,
    /// Ends of streams that processes have heard of.
    pub(crate) streams: u32,
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
    /// Looks for steady states.
    Steady,
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
            let pause = match self.step() {
                Some(Pause::Running) => continue,
                Some(Pause::Until) => self.at_stop(),
                Some(pause) => pause,
                // Background alone may have said all that it had to say.
                None if self.jobs_left == 0 => self.wound_up().unwrap_or(Pause::Finished),
                None => Pause::Idle,
            };
            self.disturb_all();
            return pause;
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
            pause = match self.step() {
                None | Some(Pause::Until) => self.at_stop(),
                Some(pause) => pause,
            };
        }
        pause
    }

    #[inline(always)]
    pub(crate) fn step(&mut self) -> Option<Pause> {
        let entry = match self.net.outside.wheel.pop() {
            Some(entry) => entry,
            None => self.turn()?,
        };
        if entry.time > self.stop {
            // Kept, so that asking again gives the same answer.
            self.net.outside.wheel.push(entry.time, entry.key());
            return Some(Pause::Until);
        }
        self.net.now = entry.time;
        if let Some(port) = index_of(entry.key(), Kind::Arrive) {
            self.count(entry);
            self.on_arrive(PortId(port));
        } else {
            self.count(entry);
            match index_of(entry.key(), Kind::Transmit) {
                Some(port) => self.net.fabric.transmit(self.net.now, PortId(port), &mut self.net.outside),
                None => self.on_other(entry),
            }
        }
        Some(if self.net.outside.news { self.follow_up() } else { Pause::Running })
    }

    /// Counts an event that is to be handled. Where its kind is known already, this takes less.
    #[inline(always)]
    fn count(&mut self, entry: Entry) {
        self.events += 1;
        self.fingerprint = self.fingerprint.wrapping_add(mixed(entry.time, entry.key()));
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
    pub(crate) fn follow_up(&mut self) -> Pause {
        if !self.inbox.is_empty() || !self.dirty.is_empty() {
            self.converse();
        }
        self.settle();
        self.net.outside.news = false;
        let finished = self.jobs_left == 0 && !self.jobs.iter().all(|job| job.background);
        match (finished, self.outward.is_empty()) {
            (true, _) => self.wind_up(),
            (false, true) => Pause::Running,
            (false, false) => Pause::Outward,
        }
    }

    /// All jobs have ended: the run goes on to the next multiple of its grain.
    fn wind_up(&mut self) -> Pause {
        if self.grain == Time::ZERO {
            return Pause::Finished;
        }
        if !std::mem::replace(&mut self.winds_up, true) {
            let grain = self.grain.as_ps();
            self.stop = self.until.min(Time::from_ps(self.net.now.as_ps().next_multiple_of(grain)));
        }
        Pause::Running
    }

    /// Nothing is left to happen before the run's stop.
    fn at_stop(&mut self) -> Pause {
        self.wound_up().unwrap_or_else(|| {
            self.net.now = self.until;
            if self.stall.is_end { Pause::Deadlock } else { Pause::Until }
        })
    }

    /// The run has come to its stop: whether that is because all jobs have ended. It may go on from there.
    fn wound_up(&mut self) -> Option<Pause> {
        if !std::mem::take(&mut self.winds_up) {
            return None;
        }
        self.net.now = self.stop;
        self.stop = self.until;
        Some(Pause::Finished)
    }

    /// When the last job ended that the run waits for; while one has not, the time of the simulation.
    pub fn ended(&self) -> Time {
        let last = self.jobs.iter().filter_map(|job| job.end).max();
        last.filter(|_| self.jobs_left == 0).unwrap_or(self.net.now)
    }

    /// Lets the run go on, when all jobs have ended, to the next multiple of the least delay between two
    /// switches. So its end does not depend on how it is computed: parts of a network know of each other what
    /// happened that long ago.
    pub fn end_in_steps(&mut self) {
        let between_switches = self
            .graph
            .links()
            .iter()
            .filter(|link| ![link.a, link.b].iter().any(|node| self.graph.is_host(*node)));
        let delays = between_switches.flat_map(|link| [link.ab.delay, link.ba.delay]);
        self.grain = delays.min().unwrap_or(Time::ZERO);
    }

    #[inline(always)]
    fn on_arrive(&mut self, port: PortId) {
        self.hops += 1;
        if let Some(delivery) = self.net.fabric.arrive(self.net.now, port, &mut self.net.outside) {
            if let Some(part) = &mut self.part {
                part.note(self.net.now, key(Kind::Arrive, port.0));
            }
            self.on_delivery(delivery);
        }
    }

    /// A packet has come to its host.
    #[inline(always)]
    fn on_delivery(&mut self, delivery: Delivery) {
        if self.packets_wait {
            return self.on_costly_delivery(delivery);
        }
        self.on_segment(delivery);
    }

    /// Apart, so that the loop over arrivals stays small.
    #[inline(never)]
    fn on_other(&mut self, entry: Entry) {
        let (kind, index) = split(entry.key());
        match is_place(entry.key()).then(|| self.net.outside.wheel.pop_alike(entry)).flatten() {
            None => self.handle(kind, index),
            Some(second) => self.handle_alike(entry, second),
        }
    }

    /// Handles events of the same time whose indices are places in memory, in the order of the model.
    #[cold]
    fn handle_alike(&mut self, first: Entry, second: Entry) {
        let mut entries = vec![first, second];
        entries.extend(std::iter::from_fn(|| self.net.outside.wheel.pop_alike(first)));
        entries[1..].iter().for_each(|other| self.count(*other));
        entries.sort_by_cached_key(|entry| self.rank(entry.key()));
        let mut has_paused = false;
        for entry in entries {
            let (kind, index) = split(entry.key());
            self.handle(kind, index);
            has_paused |= self.net.outside.news && self.follow_up() != Pause::Running;
        }
        self.net.outside.news |= has_paused;
    }

    /// Where the index of an event's key is a place in memory: the event's place among those alike.
    fn rank(&self, key: u32) -> (u32, u64) {
        match split(key) {
            (Kind::Endpoint, id) => self.flows.get(id >> 1).map_or((GONE, 0), |flow| {
                let side = id & 1;
                (flow.ends[side as usize].host, (u64::from(flow.number) << 1) | u64::from(side))
            }),
            (Kind::Timer, slot) => self.timers.rank(slot),
            (Kind::Work, slot) => self.works.get(slot).map_or((GONE, 0), Work::rank),
            (_, index) => (index, 0),
        }
    }

    pub(crate) fn handle(&mut self, kind: Kind, index: u32) {
        // An event of something that is gone is none.
        let place = self.part.is_some().then(|| self.rank(key(kind, index)).0).filter(|place| *place != GONE);
        if let (Some(part), Some(place)) = (&mut self.part, place) {
            part.note(self.net.now, key(kind, place));
        }
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
            Control::Change(change) => {
                self.disturb_all();
                self.apply(change);
            }
            Control::Fluid(index, begins) => self.on_fluid(index, begins),
            Control::Sample => {
                self.take_samples();
                if self.part.is_none() && !self.net.outside.wheel.is_empty() {
                    let at = self.net.now + self.sampler.interval.expect("sampling has an interval");
                    self.net.outside.at(at, Kind::Control, index);
                }
            }
            Control::Deadlocks => self.look_for_deadlock(),
            Control::Steady => self.look_for_steady_states(),
        }
    }

    fn start_job(&mut self, job: u32) {
        for process in self.jobs[job as usize].processes.clone() {
            self.tell(process, Event::Start);
        }
        if self.jobs[job as usize].unfinished == 0 && self.part.is_none() {
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
            let told = (self.net.now, what, self.describe_queue(port, class));
            match &mut self.part {
                Some(part) => part.tell(told),
                None => self.records.events.push(told),
            }
        }
    }

    pub(crate) fn schedule_sample(&mut self) {
        let at = self.sampler.interval.expect("sampling has an interval");
        self.schedule_control(at, Control::Sample);
    }

    /// Queues an event for a process; lost when its host is down.
    pub(crate) fn tell(&mut self, process: u32, event: Event) {
        if self.net.hosts[self.processes[process as usize].host as usize].up {
            if !matches!(event, Event::Writable { .. }) {
                self.disturb_process(process);
            }
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
            self.wake_disturbed();
            while let Some((process, event)) = self.inbox.pop_front() {
                let Some(mut state) = self.processes[process as usize].process.take() else { continue };
                state.handle(event, &mut View { sim: self, process });
                self.processes[process as usize].process = Some(state);
                if self.skip.is_some() {
                    self.send_held();
                    self.wake_disturbed();
                }
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
        if let Some(part) = &mut self.part {
            return part.news.finished.push((self.net.now, job));
        }
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
        // What ends now may still come before others of now.
        if !self.is_closed {
            if self.released.0 == now {
                self.records.flows = records.flows.split_off(self.released.1);
            }
            let ended_before = records.tasks.partition_point(|task| task.end < Some(now));
            self.records.tasks = records.tasks.split_off(ended_before);
        }
        self.released.1 = 0;
        records
    }

    /// Closes the books of flows and tasks that are still open. To be called once, at the end.
    pub fn close(&mut self) {
        self.disturb_all();
        self.close_tasks();
        self.is_closed = true;
        let mut slots: Vec<(u32, u32)> = self.flows.iter().map(|(slot, flow)| (flow.number, slot)).collect();
        slots.sort_unstable();
        // Those that were released before come before.
        self.released = (self.net.now, self.records.flows.len());
        for (_, slot) in slots {
            let mut flow = self.flows.remove(slot).expect("just listed");
            flow.looked = self.net.now;
            if flow.outcome == Outcome::Unfinished && flow.is_delivered() {
                // Its job may have ended the run with its last byte.
                flow.outcome = Outcome::Finished;
            }
            self.close_books(&flow);
        }
    }

    /// How far the simulation is.
    pub fn progress(&self) -> Progress {
        let (stale, stale_mixed) = self.net.outside.stale;
        Progress {
            now: self.net.now,
            events: self.events - stale,
            packet_hops: self.hops - stale,
            flows_done: self.flows_done,
            flows: u64::from(self.next_flow),
            jobs_left: self.jobs_left,
            fingerprint: self.fingerprint.wrapping_sub(stale_mixed),
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

    /// Totals of datagrams, by job, sender and receiver.
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
        self.pair_of.values().map(|pair| record(&self.pairs[*pair as usize])).collect()
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
    pub(crate) fn compared_step(&mut self) -> (Option<Pause>, Option<(Time, u32)>) {
        let next = self.net.outside.wheel.peek().map(|entry| (entry.time, entry.key()));
        let pause = match self.step() {
            Some(Pause::Until) => Some(self.at_stop()),
            pause => pause,
        };
        (pause, next)
    }
}
