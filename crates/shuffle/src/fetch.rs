//! The copy phase of a reduce: which node is asked for which map outputs, and when
//! (ShuffleSchedulerImpl; Tez's ShuffleScheduler).
//!
//! A fetcher asks one node at a time for up to [`MAPS_AT_ONCE`] outputs over a connection of its own; there
//! are `parallel_copies` fetchers. A node where a fetch failed is left alone for a while.

use crate::buffer::Buffer;
use crate::env::{Env, Op};
use crate::wire::Message;
use process::{HostId, StreamId};
use rand::RngExt;
use std::collections::{BTreeMap, BTreeSet};
use units::{Bytes, Rate, Time};

/// Outputs that a fetcher asks for on a connection (Hadoop's MAX_MAPS_AT_ONCE, Tez's
/// `fetch.max.task.output.at.once`).
const MAPS_AT_ONCE: usize = 20;
/// A fetch that is slower than this is given up, `socket_timeout` allowed on top.
const SLOWEST: Rate = Rate::from_bps(8_000_000);

/// A fetch under way.
#[derive(Debug)]
struct Fetch {
    host: HostId,
    maps: Vec<u32>,
    /// Of them, into memory.
    to_memory: u64,
    to_disk: u64,
    /// Given up then.
    deadline: Time,
}

/// What a fetch brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fetched {
    pub to_memory: u64,
    pub to_disk: u64,
}

/// The map outputs of a reduce: to be fetched, being fetched, fetched.
#[derive(Debug)]
pub(crate) struct Fetches {
    reduce: u32,
    /// Ties flows to the task.
    group: u64,
    place: Vec<Option<HostId>>,
    /// Neither fetched nor being fetched, by node.
    waiting: BTreeMap<HostId, BTreeSet<u32>>,
    fetched: Vec<bool>,
    left: u32,
    open: BTreeMap<StreamId, Fetch>,
    /// Nodes left alone for a while.
    penalised: BTreeMap<HostId, Time>,
    /// Bytes fetched.
    pub bytes: u64,
}

impl Fetches {
    pub(crate) fn new(reduce: u32, maps: u32, group: u64) -> Fetches {
        Fetches {
            reduce,
            group,
            place: vec![None; maps as usize],
            waiting: BTreeMap::new(),
            fetched: vec![false; maps as usize],
            left: maps,
            open: BTreeMap::new(),
            penalised: BTreeMap::new(),
            bytes: 0,
        }
    }

    /// Maps have finished, perhaps again and elsewhere.
    pub(crate) fn learn(&mut self, events: &[(u32, HostId)]) {
        for &(map, host) in events {
            let Some(place) = self.place.get_mut(map as usize) else { continue };
            let before = place.replace(host);
            if self.fetched[map as usize] {
                continue;
            }
            let was_waiting =
                before.and_then(|old| self.waiting.get_mut(&old)).is_some_and(|maps| maps.remove(&map));
            if was_waiting || before.is_none() {
                self.waiting.entry(host).or_default().insert(map);
            }
        }
    }

    /// Whether every map's output is here.
    pub(crate) fn complete(&self) -> bool {
        self.left == 0
    }

    /// Begins as many fetches as there are idle fetchers, nodes to ask, and room.
    pub(crate) fn go_on(&mut self, buffer: &mut Buffer, env: &mut Env<'_>) {
        while self.open.len() < env.prepared.job.parallel_copies as usize {
            let Some(host) = self.choose(env) else { return };
            if !self.ask(host, buffer, env) {
                return;
            }
        }
    }

    /// A node with something to fetch, which nobody asks now, at random.
    fn choose(&self, env: &mut Env<'_>) -> Option<HostId> {
        let asked = |host: &HostId| self.open.values().any(|fetch| fetch.host == *host);
        let free: Vec<HostId> = self
            .waiting
            .iter()
            .filter(|(host, maps)| !maps.is_empty() && !self.penalised.contains_key(host) && !asked(host))
            .map(|(host, _)| *host)
            .collect();
        (!free.is_empty()).then(|| free[env.cx.rng().random_range(0..free.len() as u64) as usize])
    }

    /// Asks `host` for what there is room for; false when there is none.
    fn ask(&mut self, host: HostId, buffer: &mut Buffer, env: &mut Env<'_>) -> bool {
        let waiting = self.waiting.get_mut(&host).expect("chosen among those with something");
        let (mut maps, mut to_memory, mut to_disk) = (Vec::new(), 0, 0);
        while let Some(&map) = waiting.first().filter(|_| maps.len() < MAPS_AT_ONCE) {
            let bytes = env.prepared.part(map, self.reduce);
            match buffer.reserve(bytes, env.prepared) {
                Some(true) => to_memory += bytes,
                Some(false) => to_disk += bytes,
                None => break,
            }
            waiting.remove(&map);
            maps.push(map);
        }
        if maps.is_empty() {
            return false;
        }
        let request = Message::Fetch { reduce: self.reduce, maps: maps.clone() };
        let stream = env.open(host, self.group, &request);
        env.cx.drain(stream);
        env.cx.close(stream);
        let patience =
            env.prepared.job.costs.socket_timeout + SLOWEST.time_for(Bytes::new(to_memory + to_disk));
        let deadline = env.cx.now() + patience;
        self.open.insert(stream, Fetch { host, maps, to_memory, to_disk, deadline });
        true
    }

    /// A fetch is complete.
    pub(crate) fn finish(&mut self, stream: StreamId) -> Option<Fetched> {
        let Fetch { maps, to_memory, to_disk, .. } = self.open.remove(&stream)?;
        for map in maps {
            let twice = std::mem::replace(&mut self.fetched[map as usize], true);
            debug_assert!(!twice, "a map output is fetched once");
            self.left -= 1;
        }
        self.bytes += to_memory + to_disk;
        Some(Fetched { to_memory, to_disk })
    }

    /// A fetch has failed: its outputs wait again, and the master is told.
    pub(crate) fn fail(&mut self, stream: StreamId, buffer: &mut Buffer, env: &mut Env<'_>) {
        let Some(fetch) = self.open.remove(&stream) else { return };
        buffer.release(fetch.to_memory);
        let penalty = env.prepared.job.costs.fetch_penalty;
        self.penalised.insert(fetch.host, env.cx.now() + penalty);
        env.timer(Op::Penalty, penalty);
        // The first output is to blame: the others were not begun.
        env.calls.push(Message::FetchFailed { map: fetch.maps[0], from: fetch.host });
        for map in fetch.maps {
            let host = self.place[map as usize].expect("asked for at its place");
            self.waiting.entry(host).or_default().insert(map);
        }
    }

    /// Penalties that are over.
    pub(crate) fn forgive(&mut self, env: &mut Env<'_>) {
        let now = env.cx.now();
        self.penalised.retain(|_, until| *until > now);
        if let Some(next) = self.penalised.values().min() {
            env.timer(Op::Penalty, next.saturating_sub(now));
        }
    }

    /// Gives fetches up whose deadline has passed.
    pub(crate) fn give_up(&mut self, buffer: &mut Buffer, env: &mut Env<'_>) {
        let now = env.cx.now();
        let late: Vec<StreamId> =
            self.open.iter().filter(|(_, fetch)| fetch.deadline <= now).map(|(stream, _)| *stream).collect();
        for stream in late {
            env.abort(stream);
            self.fail(stream, buffer, env);
        }
    }
}
