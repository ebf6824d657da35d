//! A tiny deterministic driver: processes, streams with bounded buffers, datagrams and timers in one
//! queue of events, every message delayed alike. No loss, no rates, no packets.

use process::{Addr, CloseReason, Context, Event, HostId, Payload, Process, Read, StreamId, TaskId};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use traffic::HostInfo;
use units::{Bytes, Rate, Time};

/// `n` hosts with 10 Gb/s links.
pub fn hosts(n: usize) -> Vec<HostInfo> {
    vec![HostInfo { rate: Rate::from_gbps(10), mtu: Bytes::new(1500) }; n]
}

/// A generator for tests.
pub fn rng(seed: u64) -> Pcg64 {
    Pcg64::seed_from_u64(seed)
}

/// What the driver noted of a stream.
#[derive(Clone, Debug)]
pub struct Row {
    pub from: HostId,
    pub to: HostId,
    pub group: u64,
    pub opened: Time,
    /// Bytes read by the acceptor.
    pub forth: u64,
    /// Bytes read by the opener.
    pub back: u64,
    /// Why the opener's side ended.
    pub closed: Option<CloseReason>,
}

/// What the driver noted of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    pub at: Time,
    pub from: HostId,
    pub to: Addr,
    pub bytes: u64,
    /// Whether somebody had bound the port.
    pub arrived: bool,
}

/// One end of a stream.
struct End {
    row: usize,
    opener: bool,
    peer: StreamId,
    owner: Option<usize>,
    inbox: VecDeque<Payload>,
    /// Bytes in the inbox or on the way to it.
    occupied: u64,
    /// The owner is told of the next arrival.
    armed: bool,
    /// The owner's last write was cut short.
    blocked: bool,
    closed: bool,
    fin_arrived: bool,
    end_read: bool,
    /// What arrives is dropped.
    draining: bool,
}

enum Action {
    Tell(usize, Event),
    Fire(usize, u64),
    Connect(StreamId, Addr),
    Opened(StreamId),
    Arrive(StreamId, Payload),
    Fin(StreamId),
    Writable(StreamId),
    Gone(StreamId, CloseReason),
}

struct Slot {
    host: HostId,
    process: Option<Box<dyn Process>>,
    rng: Pcg64,
    timers: BTreeMap<u64, u64>,
    finishes: u32,
    open: usize,
    open_max: usize,
    timers_max: usize,
}

/// The driver.
pub struct World {
    pub now: Time,
    pub rows: Vec<Row>,
    pub sent: Vec<Sent>,
    /// Hosts that don't answer at all.
    pub silent: BTreeSet<HostId>,
    delay: Time,
    buffer: u64,
    sequence: u64,
    streams_made: u64,
    queue: BTreeMap<(Time, u64), Action>,
    slots: Vec<Slot>,
    listeners: BTreeMap<Addr, usize>,
    bound: BTreeMap<Addr, usize>,
    ends: BTreeMap<StreamId, End>,
}

impl World {
    /// Messages take `delay`; a stream holds `buffer` bytes each way.
    pub fn new(delay: Time, buffer: u64) -> World {
        World {
            now: Time::ZERO,
            rows: Vec::new(),
            sent: Vec::new(),
            silent: BTreeSet::new(),
            delay,
            buffer,
            sequence: 0,
            streams_made: 0,
            queue: BTreeMap::new(),
            slots: Vec::new(),
            listeners: BTreeMap::new(),
            bound: BTreeMap::new(),
            ends: BTreeMap::new(),
        }
    }

    /// Adds a process that starts at time zero; returns its number.
    pub fn add(&mut self, host: HostId, process: Box<dyn Process>) -> usize {
        let number = self.slots.len();
        self.slots.push(Slot {
            host,
            process: Some(process),
            rng: rng(number as u64),
            timers: BTreeMap::new(),
            finishes: 0,
            open: 0,
            open_max: 0,
            timers_max: 0,
        });
        self.tell(Time::ZERO, number, Event::Start);
        number
    }

    /// Adds all processes of a job.
    pub fn add_all(&mut self, processes: traffic::Processes) {
        for (host, process) in processes {
            self.add(host, process);
        }
    }

    /// Tells process `number` of `event` at `at`.
    pub fn tell(&mut self, at: Time, number: usize, event: Event) {
        self.schedule(at, Action::Tell(number, event));
    }

    /// Runs until nothing is left to do, or to `until`.
    pub fn run(&mut self, until: Time) {
        while let Some(entry) = self.queue.first_entry() {
            if entry.key().0 > until {
                break;
            }
            let ((now, _), action) = entry.remove_entry();
            self.now = now;
            self.act(action);
        }
    }

    /// Whether every process has finished.
    pub fn finished(&self) -> bool {
        self.slots.iter().all(|slot| slot.finishes > 0)
    }

    /// Most streams that a process had opened and not seen closed, over all processes.
    pub fn open_max(&self) -> usize {
        self.slots.iter().map(|slot| slot.open_max).max().unwrap_or(0)
    }

    /// Most timers that a process had pending, over all processes.
    pub fn timers_max(&self) -> usize {
        self.slots.iter().map(|slot| slot.timers_max).max().unwrap_or(0)
    }

    /// Stream ends that still exist.
    pub fn ends(&self) -> usize {
        self.ends.len()
    }

    /// The host of process `number` loses all streams and timers silently, and comes back at `at`.
    pub fn crash(&mut self, number: usize, at: Time) {
        self.slots[number].timers.clear();
        self.slots[number].open = 0;
        let owned = |(id, end): (&StreamId, &End)| (end.owner == Some(number)).then_some(*id);
        for id in self.ends.iter().filter_map(owned).collect::<Vec<_>>() {
            let peer = self.ends.remove(&id).map(|end| end.peer).expect("just found");
            self.schedule(at, Action::Gone(peer, CloseReason::Reset));
        }
        self.tell(at, number, Event::Start);
    }

    fn schedule(&mut self, at: Time, action: Action) {
        self.sequence += 1;
        self.queue.insert((at, self.sequence), action);
    }

    fn later(&mut self, action: Action) {
        self.schedule(self.now + self.delay, action);
    }

    fn dispatch(&mut self, number: usize, event: Event) {
        let mut process = self.slots[number].process.take().expect("no event inside an event");
        process.handle(event, &mut Cx { world: self, number });
        self.slots[number].process = Some(process);
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Tell(number, event) => self.dispatch(number, event),
            Action::Fire(number, sequence) => {
                let timers = &mut self.slots[number].timers;
                let token = timers.iter().find(|(_, id)| **id == sequence).map(|(token, _)| *token);
                if let Some(token) = token {
                    timers.remove(&token);
                    self.dispatch(number, Event::Timer { token });
                }
            }
            Action::Opened(stream) => {
                if let Some(owner) = self.ends.get(&stream).and_then(|end| end.owner) {
                    self.dispatch(owner, Event::Opened { stream });
                }
            }
            Action::Connect(stream, to) => self.connect(stream, to),
            Action::Arrive(stream, data) => {
                if let Some(end) = self.accepted(stream) {
                    end.inbox.push_back(data);
                    self.readable(stream);
                }
            }
            Action::Fin(stream) => {
                if let Some(end) = self.accepted(stream) {
                    end.fin_arrived = true;
                    let peer = end.peer;
                    self.readable(stream);
                    self.over(peer);
                }
            }
            Action::Writable(stream) => {
                if let Some(owner) = self.ends.get(&stream).and_then(|end| end.owner) {
                    self.dispatch(owner, Event::Writable { stream });
                }
            }
            Action::Gone(stream, reason) => self.gone(stream, reason),
        }
    }

    /// The end if it exists and a process has it: what is sent to a silent host is lost.
    fn accepted(&mut self, stream: StreamId) -> Option<&mut End> {
        self.ends.get_mut(&stream).filter(|end| end.owner.is_some())
    }

    fn connect(&mut self, stream: StreamId, to: Addr) {
        let Some(end) = self.ends.get(&stream) else { return };
        let (peer, owner) = (end.peer, end.owner.expect("opened by a process"));
        let from = Addr { host: self.slots[owner].host, port: 50_000 };
        if self.silent.contains(&to.host) {
            return self
                .schedule(self.now + Time::from_secs(10), Action::Gone(stream, CloseReason::TimedOut));
        }
        let Some(&listener) = self.listeners.get(&to) else {
            return self.later(Action::Gone(stream, CloseReason::Refused));
        };
        self.ends.get_mut(&peer).expect("made with the stream").owner = Some(listener);
        self.dispatch(listener, Event::Accepted { stream: peer, from, port: to.port });
        self.later(Action::Opened(stream));
    }

    /// Tells the owner that there is something to read, once; drops it from a stream that is drained.
    fn readable(&mut self, stream: StreamId) {
        let draining = self.ends[&stream].draining;
        if draining {
            self.take(stream, u64::MAX);
        }
        let end = self.ends.get_mut(&stream).expect("checked by the caller");
        if (end.fin_arrived || !draining) && std::mem::take(&mut end.armed) {
            let owner = end.owner.expect("data comes after the connection");
            self.dispatch(owner, Event::Readable { stream });
        }
    }

    /// Takes up to `max` bytes out of an inbox, and lets a writer that waits for room go on.
    fn take(&mut self, stream: StreamId, max: u64) -> Read {
        let mut read = Read::default();
        let Some(end) = self.ends.get_mut(&stream) else { return read };
        let mut room = max;
        while let Some(mut data) = if room > 0 { end.inbox.pop_front() } else { None } {
            let head = data.split_to(data.len().min(room));
            room -= head.len();
            read.data.push(head);
            if !data.is_empty() {
                end.inbox.push_front(data);
            }
        }
        end.occupied -= max - room;
        let (peer, row) = (end.peer, &mut self.rows[end.row]);
        *(if end.opener { &mut row.back } else { &mut row.forth }) += max - room;
        let blocked = self.ends.get_mut(&peer).filter(|_| room < max);
        if blocked.is_some_and(|peer| std::mem::take(&mut peer.blocked)) {
            self.later(Action::Writable(peer));
        }
        read
    }

    /// Closes an end that has closed its side, whose peer knows, and that has read everything.
    fn over(&mut self, stream: StreamId) {
        let Some(end) = self.ends.get(&stream) else { return };
        let known = self.ends.get(&end.peer).is_none_or(|peer| peer.fin_arrived);
        if end.closed && end.end_read && known {
            self.schedule(self.now, Action::Gone(stream, CloseReason::Finished));
        }
    }

    fn gone(&mut self, stream: StreamId, reason: CloseReason) {
        let Some(end) = self.ends.remove(&stream) else { return };
        if reason != CloseReason::Finished {
            self.later(Action::Gone(end.peer, reason));
        }
        let Some(owner) = end.owner else { return };
        if end.opener {
            self.rows[end.row].closed = Some(reason);
            self.slots[owner].open -= 1;
        }
        self.dispatch(owner, Event::Closed { stream, reason });
    }
}

/// The driver as process `number` sees it.
struct Cx<'a> {
    world: &'a mut World,
    number: usize,
}

impl Cx<'_> {
    fn local(&self, port: u16) -> Addr {
        Addr { host: self.host(), port }
    }

    fn slot(&mut self) -> &mut Slot {
        &mut self.world.slots[self.number]
    }

    fn make_end(&mut self, row: usize, id: u64, peer: u64) {
        let opener = id < peer;
        let end = End {
            row,
            opener,
            peer: StreamId(peer),
            owner: opener.then_some(self.number),
            inbox: VecDeque::new(),
            occupied: 0,
            armed: true,
            blocked: false,
            closed: false,
            fin_arrived: false,
            end_read: false,
            draining: false,
        };
        self.world.ends.insert(StreamId(id), end);
    }
}

impl Context for Cx<'_> {
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
        let receiver = self.world.bound.get(&to).copied();
        let (at, from) = (self.world.now, self.local(port));
        self.world.sent.push(Sent {
            at,
            from: from.host,
            to,
            bytes: data.len(),
            arrived: receiver.is_some(),
        });
        if let Some(receiver) = receiver {
            let event = Event::Datagram { from, port: to.port, data };
            self.world.later(Action::Tell(receiver, event));
        }
    }

    fn listen(&mut self, port: u16) {
        self.world.listeners.insert(self.local(port), self.number);
    }

    fn open(&mut self, to: Addr, group: u64) -> StreamId {
        let row = self.world.rows.len();
        let (from, opened) = (self.host(), self.world.now);
        self.world.rows.push(Row { from, to: to.host, group, opened, forth: 0, back: 0, closed: None });
        let id = self.world.streams_made;
        self.world.streams_made += 2;
        self.make_end(row, id, id + 1);
        self.make_end(row, id + 1, id);
        let slot = self.slot();
        slot.open += 1;
        slot.open_max = slot.open_max.max(slot.open);
        self.world.later(Action::Connect(StreamId(id), to));
        StreamId(id)
    }

    fn write(&mut self, stream: StreamId, mut data: Payload) -> u64 {
        let end = self.world.ends.get_mut(&stream).expect("no write to a stream that is gone");
        assert!(!end.closed, "no write after close");
        let peer = end.peer;
        let Some(peer_end) = self.world.ends.get_mut(&peer) else { return data.len() };
        let taken = data.len().min(self.world.buffer - peer_end.occupied);
        peer_end.occupied += taken;
        if taken < data.len() {
            self.world.ends.get_mut(&stream).expect("checked").blocked = true;
        }
        if taken > 0 {
            self.world.later(Action::Arrive(peer, data.split_to(taken)));
        }
        taken
    }

    fn read(&mut self, stream: StreamId, max: u64) -> Read {
        let mut read = self.world.take(stream, max);
        let Some(end) = self.world.ends.get_mut(&stream) else { return read };
        end.armed = end.inbox.is_empty();
        read.end = end.inbox.is_empty() && end.fin_arrived;
        end.end_read |= read.end;
        self.world.over(stream);
        read
    }

    fn drain(&mut self, stream: StreamId) {
        if let Some(end) = self.world.ends.get_mut(&stream) {
            end.draining = true;
        }
    }

    fn close(&mut self, stream: StreamId) {
        let end = self.world.ends.get_mut(&stream).expect("no close of a stream that is gone");
        assert!(!std::mem::replace(&mut end.closed, true), "no second close");
        let peer = end.peer;
        self.world.later(Action::Fin(peer));
    }

    fn abort(&mut self, stream: StreamId) {
        let Some(end) = self.world.ends.remove(&stream) else { return };
        if end.opener {
            self.world.rows[end.row].closed = Some(CloseReason::Reset);
            self.slot().open -= 1;
        }
        self.world.later(Action::Gone(end.peer, CloseReason::Reset));
    }

    fn set_timer(&mut self, token: u64, delay: Time) {
        // The next action's number tells this setting of the timer from others.
        let id = self.world.sequence + 1;
        self.world.schedule(self.world.now.saturating_add(delay), Action::Fire(self.number, id));
        let slot = self.slot();
        slot.timers.insert(token, id);
        slot.timers_max = slot.timers_max.max(slot.timers.len());
    }

    fn cancel_timer(&mut self, token: u64) {
        self.slot().timers.remove(&token);
    }

    fn compute(&mut self, _: u64, _: Time) {
        unreachable!("no job of this crate computes");
    }

    fn disk_read(&mut self, _: u64, _: u64) {
        unreachable!("no job of this crate reads from a disk");
    }

    fn disk_write(&mut self, _: u64, _: u64) {
        unreachable!("no job of this crate writes to a disk");
    }

    fn begin_task(&mut self, _: &'static str, _: u64) -> TaskId {
        unreachable!("no job of this crate has tasks");
    }

    fn end_task(&mut self, _: TaskId, _: u64) {
        unreachable!("no job of this crate has tasks");
    }

    fn finish(&mut self) {
        self.slot().finishes += 1;
    }
}
