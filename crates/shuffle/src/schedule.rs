//! Which task runs next: the rules by which an application master asks for containers.
//!
//! MapReduce (RMContainerAllocator): reduces are asked for once `slowstart.completedmaps` of the maps have
//! finished; while maps wait, reduces get at most the completed part of all containers, and no more than half
//! (`job.reduce.rampup.limit`), plus what the maps that are left don't need; they come before maps. Tez
//! (ShuffleVertexManager): between two parts of finished maps the number of reduces grows evenly; maps come
//! before reduces.
//!
//! An application master asks with a heartbeat. What it wants is sent first, and how many reduces it wants
//! next is decided after that (RMContainerAllocator.heartbeat), so MapReduce asks for them a heartbeat late.

use crate::prepared::PreparedJob;
use crate::wire::Kind;
use std::collections::BTreeSet;
use units::Time;

/// Times that a task may fail (`mapreduce.map.maxattempts`).
const ATTEMPTS: u8 = 4;
/// Part of the containers that reduces get while maps wait, in percent.
const RAMP_UP_PERCENT: u64 = 50;

/// All tasks of the job.
#[derive(Debug)]
pub(crate) struct Schedule {
    tez: bool,
    maps: u64,
    reduces: u64,
    /// Containers of all nodes.
    slots: u64,
    slow_start: (f64, f64),
    waiting_maps: BTreeSet<u32>,
    waiting_reduces: BTreeSet<u32>,
    /// What the ResourceManager was asked for; nothing: it always knows what is wanted.
    asked: Option<Asked>,
    failures: [Vec<u8>; 2],
    pub maps_done: u64,
    pub reduces_done: u64,
}

/// Containers that the ResourceManager was asked for.
#[derive(Debug, Default)]
struct Asked {
    /// For maps, that were not yet given.
    maps: usize,
    /// For reduces, in all.
    reduces: u64,
    /// For reduces, as the next heartbeat will have it.
    next: u64,
}

impl Schedule {
    pub(crate) fn new(prepared: &PreparedJob) -> Schedule {
        let (maps, reduces) = (prepared.maps, prepared.job.reduces);
        Schedule {
            tez: prepared.tez(),
            maps: u64::from(maps),
            reduces: u64::from(reduces),
            slots: u64::from(prepared.job.slots) * prepared.job.compute.len() as u64,
            slow_start: prepared.job.slow_start,
            waiting_maps: (0..maps).collect(),
            waiting_reduces: (0..reduces).collect(),
            asked: (prepared.job.costs.master_heartbeat > Time::ZERO).then(Asked::default),
            failures: [vec![0; maps as usize], vec![0; reduces as usize]],
            maps_done: 0,
            reduces_done: 0,
        }
    }

    /// The application master asks for what it wants.
    pub(crate) fn ask(&mut self) {
        let (maps, allowed, tez) = (self.waiting_maps.len(), self.reduces_allowed(), self.tez);
        if let Some(asked) = &mut self.asked {
            let reduces = if tez { allowed } else { asked.next };
            *asked = Asked { maps, reduces, next: allowed };
        }
    }

    /// The task for a new container.
    pub(crate) fn next(&mut self) -> Option<(Kind, u32)> {
        let Some(asked) = &self.asked else { return self.next_for(true, u64::MAX) };
        let next = self.next_for(asked.maps > 0, asked.reduces);
        if let (Some((Kind::Map, _)), Some(asked)) = (next, &mut self.asked) {
            asked.maps -= 1;
        }
        next
    }

    /// The task for a container that has ended another: nobody is asked.
    pub(crate) fn next_again(&mut self) -> Option<(Kind, u32)> {
        self.next_for(true, u64::MAX)
    }

    fn next_for(&mut self, maps: bool, reduces: u64) -> Option<(Kind, u32)> {
        let reduce_first = !self.tez;
        if reduce_first && let Some(reduce) = self.next_reduce(reduces) {
            return Some((Kind::Reduce, reduce));
        }
        if maps && let Some(map) = self.next_map() {
            return Some((Kind::Map, map));
        }
        self.next_reduce(reduces).map(|reduce| (Kind::Reduce, reduce))
    }

    /// The map for a container that a reduce was made to leave.
    pub(crate) fn next_map(&mut self) -> Option<u32> {
        self.waiting_maps.pop_first()
    }

    fn next_reduce(&mut self, most: u64) -> Option<u32> {
        let begun = self.reduces - self.waiting_reduces.len() as u64;
        if begun < self.reduces_allowed().min(most) { self.waiting_reduces.pop_first() } else { None }
    }

    /// Reduces that may have begun by now.
    pub(crate) fn reduces_allowed(&self) -> u64 {
        if self.maps_done == self.maps {
            self.reduces
        } else if self.tez {
            self.tez_allows()
        } else {
            self.mapreduce_allows()
        }
    }

    fn mapreduce_allows(&self) -> u64 {
        if (self.maps_done as f64) < self.slow_start.0 * self.maps as f64 {
            return 0;
        }
        if self.waiting_maps.is_empty() {
            return self.reduces;
        }
        let reduces = self.slots * (self.maps_done * 100 / self.maps).min(RAMP_UP_PERCENT) / 100;
        // What the maps that are left don't need is for reduces too.
        let for_maps = self.slots - reduces;
        reduces + for_maps.saturating_sub(self.maps - self.maps_done)
    }

    fn tez_allows(&self) -> u64 {
        let (from, to) = self.slow_start;
        let part = self.maps_done as f64 / self.maps as f64;
        if part >= to {
            return self.reduces;
        }
        // `part` is below `to`: above `from`, they differ.
        libm::ceil(self.reduces as f64 * ((part - from) / (to - from)).max(0.0)) as u64
    }

    pub(crate) fn maps_wait(&self) -> bool {
        !self.waiting_maps.is_empty()
    }

    pub(crate) fn done(&mut self, kind: Kind) {
        match kind {
            Kind::Map => self.maps_done += 1,
            Kind::Reduce => self.reduces_done += 1,
        }
    }

    /// Whether the output is complete.
    pub(crate) fn complete(&self) -> bool {
        self.reduces_done == self.reduces
    }

    /// A task has to run again: its node is gone, or its container was needed.
    pub(crate) fn again(&mut self, kind: Kind, number: u32) {
        match kind {
            Kind::Map => self.waiting_maps.insert(number),
            Kind::Reduce => self.waiting_reduces.insert(number),
        };
    }

    /// The output of a map that was done is lost.
    pub(crate) fn lost_output(&mut self, map: u32) {
        self.maps_done -= 1;
        self.waiting_maps.insert(map);
    }

    /// A task has failed; false when it may not be tried again.
    pub(crate) fn failed(&mut self, kind: Kind, number: u32) -> bool {
        let failures = &mut self.failures[kind as usize][number as usize];
        *failures += 1;
        let again = *failures < ATTEMPTS;
        self.again(kind, number);
        again
    }
}
