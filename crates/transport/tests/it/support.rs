//! Two connections against each other in virtual time, through a path with delay, rate, a queue and faults.
//!
//! After every segment the receiver's count is compared with an independent account of what has arrived.

#![allow(dead_code)]

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use transport::tcp::{CloseReason, Config, Connection, Event, Flags, Header, SackBlock, Transmit};
use units::{Rate, Time};

/// What a fault rule does to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Pass,
    Drop,
    Mark,
    Delay(Time),
    Duplicate(Time),
}

/// A direction of the path.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    pub delay: Time,
    pub rate: Rate,
    /// Bytes that may wait.
    pub queue: u64,
    /// ECN-capable packets are marked when more bytes wait.
    pub mark_above: u64,
}

impl Default for Path {
    fn default() -> Path {
        Path { delay: Time::from_us(10), rate: Rate::from_gbps(10), queue: 1 << 20, mark_above: u64::MAX }
    }
}

/// A packet as the fault rule and the log see it.
#[derive(Clone, Debug)]
pub struct Packet {
    pub at: Time,
    /// 0: sent by the client.
    pub from: usize,
    /// Counts the packets of this direction.
    pub number: u64,
    pub transmit: Transmit,
    pub sacks: Vec<SackBlock>,
}

impl Packet {
    pub fn is_data(&self) -> bool {
        self.transmit.header.len > 0
    }
}

/// What an end's application does.
#[derive(Clone, Debug)]
pub struct App {
    /// Bytes to write.
    pub total: u64,
    pub written: u64,
    /// Reads at most so much...
    pub read_chunk: u64,
    /// ...so often; zero reads everything at once; [`Time::MAX`] drains.
    pub read_every: Time,
    /// Closes when it has written all and read all.
    pub closes: bool,
    pub read: u64,
    pub opened: bool,
    pub readable_events: u64,
    pub closed: Option<CloseReason>,
}

impl App {
    pub fn sending(total: u64) -> App {
        App {
            total,
            written: 0,
            read_chunk: u64::MAX,
            read_every: Time::ZERO,
            closes: true,
            read: 0,
            opened: false,
            readable_events: 0,
            closed: None,
        }
    }
}

enum Step {
    Arrive { to: usize, header: Header, sacks: Vec<SackBlock>, ce: bool },
    Timer(usize),
    Read(usize),
}

/// The test bench.
pub struct Bench {
    pub now: Time,
    pub ends: [Connection; 2],
    pub apps: [App; 2],
    pub paths: [Path; 2],
    free_at: [Time; 2],
    sent: [u64; 2],
    queue: BinaryHeap<Reverse<(Time, u64)>>,
    steps: BTreeMap<u64, Step>,
    next_step: u64,
    timers: [Time; 2],
    pub log: Vec<Packet>,
    rule: Box<dyn FnMut(&Packet) -> Verdict>,
    arrived: [Arrivals; 2],
    isn: [u32; 2],
}

/// What has arrived at an end, counted apart from the connection.
#[derive(Default)]
struct Arrivals {
    prefix: u64,
    beyond: Vec<(u64, u64)>,
}

impl Arrivals {
    fn add(&mut self, start: u64, end: u64) {
        self.beyond.push((start, end));
        while let Some(i) = self.beyond.iter().position(|&(s, e)| s <= self.prefix && e > self.prefix) {
            self.prefix = self.beyond.swap_remove(i).1;
        }
        self.beyond.retain(|&(_, e)| e > self.prefix);
    }
}

impl Bench {
    pub fn new(client: &Config, server: &Config, apps: [App; 2]) -> Bench {
        let isn = [0xffff_f000, 77];
        let mut bench = Bench {
            now: Time::ZERO,
            ends: [
                Connection::client(&client.clone().into(), isn[0]),
                Connection::server(&server.clone().into(), isn[1]),
            ],
            apps,
            paths: [Path::default(); 2],
            free_at: [Time::ZERO; 2],
            sent: [0; 2],
            queue: BinaryHeap::new(),
            steps: BTreeMap::new(),
            next_step: 0,
            timers: [Time::MAX; 2],
            log: Vec::new(),
            rule: Box::new(|_| Verdict::Pass),
            arrived: Default::default(),
            isn,
        };
        for side in 0..2 {
            if bench.apps[side].read_every == Time::MAX {
                bench.ends[side].drain();
            }
        }
        bench
    }

    pub fn rule(mut self, rule: impl FnMut(&Packet) -> Verdict + 'static) -> Bench {
        self.rule = Box::new(rule);
        self
    }

    pub fn path(mut self, path: Path) -> Bench {
        self.paths = [path; 2];
        self
    }

    fn schedule(&mut self, at: Time, step: Step) {
        self.queue.push(Reverse((at, self.next_step)));
        self.steps.insert(self.next_step, step);
        self.next_step += 1;
    }

    /// Runs until nothing happens any more or `until`; returns whether both ends are closed.
    pub fn run(&mut self, until: Time) -> bool {
        self.pump(0);
        self.pump(1);
        while let Some(Reverse((at, id))) = self.queue.pop() {
            if at > until {
                self.queue.push(Reverse((at, id)));
                break;
            }
            assert!(at >= self.now);
            assert!(self.next_step < 2_000_000, "it does not end");
            self.now = at;
            let step = self.steps.remove(&id).expect("each step once");
            let side = self.take(step);
            self.pump(side);
        }
        self.ends.iter().all(Connection::is_closed)
    }

    fn take(&mut self, step: Step) -> usize {
        match step {
            Step::Arrive { to, header, sacks, ce } => {
                self.account(to, &header);
                self.ends[to].handle_segment(self.now, &header, &sacks, ce);
                assert_eq!(
                    self.ends[to].received(),
                    self.arrived[to].prefix,
                    "delivered exactly once, in order"
                );
                to
            }
            Step::Timer(side) => {
                if self.timers[side] == self.now {
                    self.timers[side] = Time::MAX;
                }
                self.ends[side].handle_timer(self.now);
                side
            }
            Step::Read(side) => {
                self.apps[side].read += self.ends[side].read(self.now, self.apps[side].read_chunk);
                self.after_read(side);
                side
            }
        }
    }

    fn account(&mut self, to: usize, header: &Header) {
        if header.len > 0 && !self.ends[to].is_closed() {
            let prefix = self.arrived[to].prefix;
            let base = self.isn[1 - to].wrapping_add(1).wrapping_add(prefix as u32);
            let start = prefix as i64 + i64::from(header.seq.wrapping_sub(base) as i32);
            let end = start + i64::from(header.len);
            self.arrived[to].add(start.max(0) as u64, end.max(0) as u64);
        }
    }

    fn after_read(&mut self, side: usize) {
        let app = &self.apps[side];
        if self.ends[side].readable() > 0 && app.read_every != Time::ZERO && app.read_every != Time::MAX {
            self.schedule(self.now + app.read_every, Step::Read(side));
        }
    }

    /// The calls that a driver makes after something happened at an end.
    fn pump(&mut self, side: usize) {
        while let Some(event) = self.ends[side].poll_event() {
            self.apply(side, event);
        }
        let app = &mut self.apps[side];
        if app.opened && app.written == app.total && app.closes && (side == 0 || self.ends[side].at_end()) {
            self.ends[side].close();
        }
        loop {
            let wanted = self.ends[side].wants_to_send();
            let transmit = self.ends[side].poll_transmit(self.now);
            if transmit.is_some() {
                assert!(wanted, "wants_to_send said no to {transmit:?}");
            }
            let Some(transmit) = transmit else { break };
            let sacks = self.ends[side].sack_blocks().to_vec();
            assert_eq!(sacks.len(), usize::from(transmit.header.notes.sack_count()));
            self.send(side, transmit, sacks);
            assert!(self.log.len() < 1_000_000, "it sends without end: {transmit:?}");
        }
        let deadline = self.ends[side].poll_timer();
        if deadline < self.timers[side] {
            self.timers[side] = deadline;
            self.schedule(deadline.max(self.now), Step::Timer(side));
        }
        let timer_passed = self.timers[side] == Time::MAX && deadline != Time::MAX;
        assert!(!timer_passed, "a timer is set");
    }

    fn apply(&mut self, side: usize, event: Event) {
        let end = &mut self.ends[side];
        let app = &mut self.apps[side];
        match event {
            Event::Opened => {
                app.opened = true;
                app.written += end.write(app.total);
            }
            Event::Writable => app.written += end.write(app.total - app.written),
            Event::Readable => {
                app.readable_events += 1;
                if app.read_every == Time::ZERO {
                    app.read += end.read(self.now, u64::MAX);
                } else {
                    self.schedule(self.now, Step::Read(side));
                }
            }
            Event::Closed(reason) => app.closed = Some(reason),
        }
    }

    fn send(&mut self, from: usize, transmit: Transmit, sacks: Vec<SackBlock>) {
        let packet = Packet { at: self.now, from, number: self.sent[from], transmit, sacks };
        self.sent[from] += 1;
        let verdict = (self.rule)(&packet);
        self.log.push(packet.clone());
        let path = self.paths[from];
        let header = transmit.header;
        let start = self.free_at[from].max(self.now);
        let backlog = (start - self.now).as_ps() as u128 * u128::from(path.rate.as_bps()) / 8_000_000_000_000;
        if verdict == Verdict::Drop || backlog > u128::from(path.queue) {
            return;
        }
        let ce = transmit.ect && (verdict == Verdict::Mark || backlog > u128::from(path.mark_above));
        let done = start + path.rate.time_for(units::Bytes::new(u64::from(header.bytes())));
        self.free_at[from] = done;
        let at = done + path.delay;
        let (to, sacks) = (1 - from, packet.sacks);
        let extra = match verdict {
            Verdict::Delay(extra) => extra,
            Verdict::Duplicate(later) => {
                self.schedule(at + later, Step::Arrive { to, header, sacks: sacks.clone(), ce });
                Time::ZERO
            }
            _ => Time::ZERO,
        };
        self.schedule(at + extra, Step::Arrive { to, header, sacks, ce });
    }

    /// Data packets that the client sent.
    pub fn data(&self) -> impl Iterator<Item = &Packet> {
        self.log.iter().filter(|p| p.from == 0 && p.is_data())
    }

    /// Acknowledgements without data that the server sent after the handshake.
    pub fn acks(&self) -> impl Iterator<Item = &Packet> {
        self.log
            .iter()
            .filter(|p| p.from == 1 && !p.is_data() && !p.transmit.header.flags.contains(Flags::SYN))
    }
}
