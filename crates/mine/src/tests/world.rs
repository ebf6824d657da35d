//! A deterministic driver for streams: pieces of any length after any time, buffers that are full, connections that break,
//! hosts that crash and come back.

use process::{Addr, CloseReason, Context, Event, HostId, Payload, Process, Read, StreamId, TaskId};
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::collections::{BTreeMap, VecDeque};
use units::Time;

enum Action {
    Tell(usize, u32, Event),
    /// A timer: host, its life, token, number of the setting.
    Fire(usize, u32, u64, u64),
    Connect(u64),
    /// Some of what is under way arrives.
    Arrive(u64, usize),
    Restart(usize),
}

/// One direction of a stream.
#[derive(Default)]
struct Way {
    flying: VecDeque<Payload>,
    arrived: VecDeque<Payload>,
    cut: bool,
    told: bool,
    finished: bool,
    end_arrived: bool,
    end_read: bool,
}

struct Stream {
    /// The opener, and who was called.
    hosts: [usize; 2],
    port: u16,
    connected: bool,
    ways: [Way; 2],
}

struct Slot {
    process: Option<Box<dyn Process>>,
    rng: Pcg64,
    timers: BTreeMap<u64, u64>,
    up: bool,
    life: u32,
    listens: bool,
    finished: bool,
}

pub struct World {
    pub now: Time,
    chance: Pcg64,
    sequence: u64,
    streams: BTreeMap<u64, Stream>,
    queue: BTreeMap<(Time, u64), Action>,
    slots: Vec<Slot>,
    buffer: u64,
    /// Streams that hosts have opened.
    pub opened: usize,
    /// What these two send each other takes seconds.
    pub far: Option<[usize; 2]>,
}

fn length(pieces: &VecDeque<Payload>) -> u64 {
    pieces.iter().map(Payload::len).sum()
}

fn take(pieces: &mut VecDeque<Payload>, mut max: u64) -> Vec<Payload> {
    let mut taken = Vec::new();
    while max > 0
        && let Some(first) = pieces.front_mut()
    {
        let part = first.split_to(first.len().min(max));
        max -= part.len();
        if first.is_empty() {
            pieces.pop_front();
        }
        taken.push(part);
    }
    taken
}

impl World {
    pub fn new(seed: u64) -> World {
        let mut chance = Pcg64::seed_from_u64(seed);
        let buffer = [200, 3000, 100_000][chance.random_range(0..3)];
        World {
            now: Time::ZERO,
            chance,
            sequence: 0,
            streams: BTreeMap::new(),
            queue: BTreeMap::new(),
            slots: Vec::new(),
            buffer,
            opened: 0,
            far: None,
        }
    }

    pub fn add(&mut self, process: Box<dyn Process>) {
        let number = self.slots.len();
        self.slots.push(Slot {
            process: Some(process),
            rng: Pcg64::seed_from_u64(number as u64),
            timers: BTreeMap::new(),
            up: true,
            life: 0,
            listens: false,
            finished: false,
        });
        self.tell(number, Event::Start);
    }

    fn after(&mut self) -> Time {
        let most = if self.chance.random_bool(0.1) { 5000 } else { 100 };
        self.now + Time::from_us(self.chance.random_range(1..most))
    }

    /// When the next piece of a stream arrives.
    fn after_on(&mut self, stream: u64) -> Time {
        let hosts = self.streams.get(&stream).map(|of| of.hosts);
        let far = self.far.is_some_and(|[a, b]| hosts == Some([a, b]) || hosts == Some([b, a]));
        self.after() + if far { Time::from_secs(3) } else { Time::ZERO }
    }

    /// Streams that have not ended.
    pub fn open(&self) -> usize {
        self.streams.len()
    }

    fn schedule(&mut self, at: Time, action: Action) {
        self.sequence += 1;
        self.queue.insert((at, self.sequence), action);
    }

    fn tell(&mut self, number: usize, event: Event) {
        let life = self.slots[number].life;
        self.schedule(self.now, Action::Tell(number, life, event));
    }

    /// The host loses all but its disk, and comes back as `process`, or as the same one.
    pub fn crash(&mut self, number: usize, process: Option<Box<dyn Process>>) {
        let slot = &mut self.slots[number];
        slot.timers.clear();
        (slot.up, slot.listens, slot.finished, slot.life) = (false, false, false, slot.life + 1);
        if let Some(process) = process {
            slot.process = Some(process);
        }
        let with: Vec<u64> =
            self.streams.iter().filter(|(_, s)| s.hosts.contains(&number)).map(|(id, _)| *id).collect();
        with.into_iter().for_each(|stream| self.end(stream, Some(number), CloseReason::Reset));
        // A driver may say so, or not.
        if self.chance.random_bool(0.5) {
            for other in (0..self.slots.len()).filter(|other| *other != number) {
                let (at, life) = (self.after(), self.slots[other].life);
                let lost = Event::PeerLost { host: HostId(number as u32) };
                self.schedule(at, Action::Tell(other, life, lost));
            }
        }
        let back = self.now + Time::from_us(self.chance.random_range(1..3_000_000));
        self.schedule(back, Action::Restart(number));
    }

    /// A stream between two hosts breaks.
    pub fn cut(&mut self) {
        let open: Vec<u64> = self.streams.keys().copied().collect();
        if !open.is_empty() {
            let stream = open[self.chance.random_range(0..open.len())];
            self.end(stream, None, CloseReason::Reset);
        }
    }

    /// Somebody who passes for a host opens a stream and writes.
    pub fn intrude(&mut self, from: usize, to: usize, bytes: Vec<u8>) {
        if self.slots[to].listens {
            let stream = self.connect(from, to, 5000);
            let of = self.streams.get_mut(&stream).expect("it was just made");
            of.ways[0].flying.push_back(Payload::from(bytes));
        }
    }

    fn connect(&mut self, from: usize, to: usize, port: u16) -> u64 {
        self.sequence += 1;
        let (stream, at) = (self.sequence, self.after());
        let ways = [Way::default(), Way::default()];
        self.streams.insert(stream, Stream { hosts: [from, to], port, connected: false, ways });
        self.schedule(at, Action::Connect(stream));
        stream
    }

    /// Ends a stream for all but `quiet`.
    fn end(&mut self, stream: u64, quiet: Option<usize>, reason: CloseReason) {
        let Some(of) = self.streams.remove(&stream) else { return };
        for (side, host) in of.hosts.into_iter().enumerate() {
            if Some(host) != quiet && (side == 0 || of.connected) {
                let (at, life) = (self.after(), self.slots[host].life);
                let event = Event::Closed { stream: StreamId(stream), reason };
                self.schedule(at, Action::Tell(host, life, event));
            }
        }
    }

    /// Runs until all have finished, or to `until`; says whether they have.
    pub fn run(&mut self, until: Time) -> bool {
        while !self.slots.iter().all(|slot| slot.finished) {
            let Some(entry) = self.queue.first_entry().filter(|entry| entry.key().0 <= until) else {
                self.now = until;
                return false;
            };
            let ((now, _), action) = entry.remove_entry();
            self.now = now;
            self.act(action);
        }
        true
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Tell(number, life, event) if self.slots[number].life == life => {
                self.dispatch(number, event)
            }
            Action::Tell(..) => {}
            Action::Fire(number, life, token, setting) => {
                let slot = &mut self.slots[number];
                if slot.life == life && slot.timers.get(&token) == Some(&setting) {
                    slot.timers.remove(&token);
                    self.dispatch(number, Event::Timer { token });
                }
            }
            Action::Connect(stream) => self.connected(stream),
            Action::Arrive(stream, way) => self.arrive(stream, way),
            Action::Restart(number) => {
                self.slots[number].up = true;
                self.dispatch(number, Event::Start);
            }
        }
    }

    fn connected(&mut self, stream: u64) {
        let Some(of) = self.streams.get_mut(&stream) else { return };
        let ([from, to], port) = (of.hosts, of.port);
        if !self.slots[to].listens {
            return self.end(stream, None, CloseReason::Refused);
        }
        of.connected = true;
        let addr = Addr { host: HostId(from as u32), port };
        self.dispatch(to, Event::Accepted { stream: StreamId(stream), from: addr, port });
        self.tell(from, Event::Opened { stream: StreamId(stream) });
        for way in 0..2 {
            let at = self.after_on(stream);
            self.schedule(at, Action::Arrive(stream, way));
        }
    }

    fn arrive(&mut self, stream: u64, way: usize) {
        let portion = self.chance.random_range(1..=2 * self.buffer);
        let Some(of) = self.streams.get_mut(&stream).filter(|of| of.connected) else { return };
        let (sender, receiver) = (of.hosts[way], of.hosts[1 - way]);
        let side = &mut of.ways[way];
        side.arrived.extend(take(&mut side.flying, portion));
        let more = !side.flying.is_empty();
        if !more && side.finished {
            side.end_arrived = true;
        }
        let news = !side.told && (!side.arrived.is_empty() || (side.end_arrived && !side.end_read));
        side.told |= news;
        let room = side.cut && length(&side.flying) <= self.buffer / 2;
        side.cut &= !room;
        if more {
            let at = self.after_on(stream);
            self.schedule(at, Action::Arrive(stream, way));
        }
        if room {
            self.tell(sender, Event::Writable { stream: StreamId(stream) });
        }
        if news {
            self.tell(receiver, Event::Readable { stream: StreamId(stream) });
        }
    }

    fn dispatch(&mut self, number: usize, event: Event) {
        if !self.slots[number].up {
            return;
        }
        let mut process = self.slots[number].process.take().expect("no event inside an event");
        process.handle(event, &mut Cx { world: self, number });
        self.slots[number].process = Some(process);
    }
}

struct Cx<'a> {
    world: &'a mut World,
    number: usize,
}

impl Cx<'_> {
    /// The stream, and the way on which this host writes.
    fn of(&mut self, stream: StreamId) -> Option<(&mut Stream, usize)> {
        let of = self.world.streams.get_mut(&stream.0)?;
        let way = usize::from(of.hosts[0] != self.number);
        Some((of, way))
    }
}

impl Context for Cx<'_> {
    fn now(&self) -> Time {
        self.world.now
    }
    fn host(&self) -> HostId {
        HostId(self.number as u32)
    }
    fn rng(&mut self) -> &mut dyn Rng {
        &mut self.world.slots[self.number].rng
    }
    fn listen(&mut self, _: u16) {
        self.world.slots[self.number].listens = true;
    }
    fn open(&mut self, to: Addr, _: u64) -> StreamId {
        self.world.opened += 1;
        StreamId(self.world.connect(self.number, to.host.0 as usize, to.port))
    }
    fn write(&mut self, stream: StreamId, mut data: Payload) -> u64 {
        let buffer = self.world.buffer;
        let Some((of, way)) = self.of(stream) else { return 0 };
        let side = &mut of.ways[way];
        assert!(!side.finished, "nothing is written behind the end");
        let was_empty = side.flying.is_empty();
        let room = buffer.saturating_sub(length(&side.flying));
        let offered = data.len();
        let taken = data.split_to(offered.min(room));
        let bytes = taken.len();
        side.cut |= bytes < offered;
        if bytes > 0 {
            side.flying.push_back(taken);
        }
        let connected = of.connected;
        if connected && was_empty && bytes > 0 {
            let at = self.world.after_on(stream.0);
            self.world.schedule(at, Action::Arrive(stream.0, way));
        }
        bytes
    }
    fn read(&mut self, stream: StreamId, max: u64) -> Read {
        let Some((of, way)) = self.of(stream) else { return Read::default() };
        let side = &mut of.ways[1 - way];
        let data = take(&mut side.arrived, max);
        let empty = side.arrived.is_empty();
        let end = empty && side.end_arrived;
        if empty {
            side.told = end;
        }
        side.end_read |= end;
        if of.ways.iter().all(|way| way.end_read) {
            self.world.end(stream.0, None, CloseReason::Finished);
        }
        Read { data, end }
    }
    fn close(&mut self, stream: StreamId) {
        let Some((of, way)) = self.of(stream) else { return };
        of.ways[way].finished = true;
        let at = self.world.after_on(stream.0);
        self.world.schedule(at, Action::Arrive(stream.0, way));
    }
    fn abort(&mut self, stream: StreamId) {
        let number = self.number;
        self.world.end(stream.0, Some(number), CloseReason::Reset);
    }
    fn set_timer(&mut self, token: u64, delay: Time) {
        let (number, setting) = (self.number, self.world.sequence + 1);
        let life = self.world.slots[number].life;
        self.world.slots[number].timers.insert(token, setting);
        self.world.schedule(self.world.now.saturating_add(delay), Action::Fire(number, life, token, setting));
    }
    fn cancel_timer(&mut self, token: u64) {
        self.world.slots[self.number].timers.remove(&token);
    }
    fn compute(&mut self, token: u64, time: Time) {
        let (number, life) = (self.number, self.world.slots[self.number].life);
        self.world.schedule(self.world.now + time, Action::Tell(number, life, Event::Computed { token }));
    }
    fn disk_read(&mut self, token: u64, bytes: u64) {
        let (number, life) = (self.number, self.world.slots[self.number].life);
        let at = self.world.now + Time::from_ns(bytes);
        self.world.schedule(at, Action::Tell(number, life, Event::DiskDone { token }));
    }
    fn begin_task(&mut self, _: &'static str, number: u64) -> TaskId {
        TaskId(number + 1)
    }
    fn end_task(&mut self, _: TaskId, _: u64) {}
    fn finish(&mut self) {
        self.world.slots[self.number].finished = true;
    }
    fn bind(&mut self, _: u16) {
        unreachable!("the miner uses streams")
    }
    fn send(&mut self, _: u16, _: Addr, _: Payload) {
        unreachable!("the miner uses streams")
    }
    fn drain(&mut self, _: StreamId) {
        unreachable!("the miner reads everything")
    }
    fn disk_write(&mut self, _: u64, _: u64) {
        unreachable!("the miner only reads")
    }
}
