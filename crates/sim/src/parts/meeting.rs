//! What parts see to when they meet: flows get their numbers, flows between two parts begin and end, jobs
//! end.

use crate::endpoint::{Endpoint, Stage, endpoint};
use crate::flow::Flow;
use crate::parts::books::Books;
use crate::parts::hall::Guards;
use crate::parts::part::{Half, News, Place, Told, UNKNOWN, UNNUMBERED};
use crate::records::{FlowRecord, Outcome};
use crate::run::{Control, Sim};
use process::Payload;
use std::cmp::Reverse;
use transport::tcp::Connection;
use units::Time;

impl Books {
    /// Sees to all that has happened since the last meeting.
    pub(crate) fn meet(&mut self, sims: &mut Guards<'_>) {
        if !sims.iter().any(|sim| sim.has_news()) {
            return;
        }
        self.number_flows(sims);
        self.pass_on(sims);
        self.end_flows(sims);
        self.take_pauses(sims);
        for part in 0..sims.len() {
            let ended = std::mem::take(&mut news(&mut sims[part]).finished);
            ended.into_iter().for_each(|(at, job)| self.finish_process(at, job));
            self.records.tasks.append(&mut sims[part].records.tasks);
            self.keep_flows(sims, part);
        }
    }

    /// Flows are numbered in the order in which they were opened. Those that another part accepts are known
    /// there from now on.
    fn number_flows(&mut self, sims: &mut Guards<'_>) {
        let opened: Vec<Vec<(Place, u32)>> =
            sims.iter_mut().map(|sim| std::mem::take(&mut news(sim).opened)).collect();
        let places: Vec<Vec<Place>> =
            opened.iter().map(|opened| opened.iter().map(|(place, _)| *place).collect()).collect();
        let mut numbers: Vec<Vec<u32>> = vec![Vec::new(); sims.len()];
        for (part, index) in in_order(&places) {
            let number = self.flows;
            self.flows += 1;
            numbers[part].push(number);
            let slot = opened[part][index].1;
            let Some(flow) = sims[part].flows.get_mut(slot) else { continue };
            if flow.number != UNNUMBERED | index as u32 {
                continue; // Over already; another one has its slot.
            }
            flow.number = number;
            if flow.half.is_some() {
                accept(sims, part, slot);
            }
        }
        for (sim, numbers) in sims.iter_mut().zip(&numbers) {
            for record in sim.records.flows.iter_mut().filter(|record| record.flow & UNNUMBERED != 0) {
                record.flow = numbers[(record.flow ^ UNNUMBERED) as usize];
            }
        }
    }

    /// Passes on what one part has for another.
    fn pass_on(&mut self, sims: &mut Guards<'_>) {
        for part in 0..sims.len() {
            let written: Vec<(u32, Payload)> = std::mem::take(&mut news(&mut sims[part]).written);
            for (slot, data) in written {
                let Some((side, half)) = side_of(&sims[part], slot) else { continue };
                let (there, slot) = (usize::from(half.part), half.slot);
                if let Some(flow) = sims[there].flows.get_mut(slot) {
                    flow.ends[side].store(data);
                }
            }
        }
        for part in 0..sims.len() {
            for (at, origin, id) in std::mem::take(&mut news(&mut sims[part]).gone) {
                let sim = &mut sims[usize::from(origin)];
                if let Some(flow) = sim.flows.get_mut(id >> 1) {
                    flow.in_flight -= 1;
                    sim.release_at(at, id >> 1);
                }
            }
        }
    }

    /// Ends flows whose two ends are done and of which nothing is in the network.
    fn end_flows(&mut self, sims: &mut Guards<'_>) {
        for part in 0..sims.len() {
            for slot in std::mem::take(&mut news(&mut sims[part]).ended) {
                let Some((side, half)) = side_of(&sims[part], slot) else { continue };
                let (there, slot_there) = (usize::from(half.part), half.slot);
                let (home, away) = if side == 0 {
                    ((part, slot), (there, slot_there))
                } else {
                    ((there, slot_there), (part, slot))
                };
                let (Some(a), Some(b)) = (sims[home.0].flows.get(home.1), sims[away.0].flows.get(away.1))
                else {
                    continue;
                };
                let opener = is_over(&a.ends[0]);
                let acceptor = is_over(&b.ends[1]) || (opener && b.ends[1].stage == Stage::Listening);
                if opener && acceptor && a.in_flight + b.in_flight == 0 {
                    unite(sims, home, away);
                    sims[home.0].free(home.1);
                }
            }
        }
    }

    /// Takes what watchdogs have found, and when to look for deadlocks.
    fn take_pauses(&mut self, sims: &mut Guards<'_>) {
        let mut told: Vec<(Place, Told)> =
            sims.iter_mut().flat_map(|sim| std::mem::take(&mut news(sim).told)).collect();
        told.sort_by_key(|(place, _)| *place);
        self.records.others.events.extend(told.into_iter().map(|(_, told)| told));
        let look = sims.iter_mut().filter_map(|sim| news(sim).look.take()).min();
        if let Some(at) = look.filter(|_| !std::mem::replace(&mut self.stall.pending, true)) {
            let controls = &mut sims[0].controls;
            self.controls.push(Reverse((at, controls.len() as u32)));
            controls.push(Control::Deadlocks);
        }
    }

    fn keep_flows(&mut self, sims: &mut Guards<'_>, part: usize) {
        let flows = sims[part].take_flows();
        for (at, record) in flows {
            let record = translated(sims, part, record);
            self.records.flows.push((at, record));
        }
    }

    fn finish_process(&mut self, at: Time, job: u32) {
        let book = &mut self.jobs[job as usize];
        book.unfinished -= 1;
        book.last = book.last.max(at);
        if book.unfinished == 0 {
            let last = book.last;
            self.finish_job(job, last);
        }
    }
}

/// A record with its routes in the numbers of the first part.
fn translated(sims: &mut Guards<'_>, part: usize, record: FlowRecord) -> FlowRecord {
    if part == 0 {
        return record;
    }
    let [first, others @ ..] = &mut sims[..] else { unreachable!("there is a first part") };
    let there = &others[part - 1].net.fabric;
    let ways = record.ways.map(|way| way.map(|way| there.way_there(way, &mut first.net.fabric)));
    FlowRecord { ways, ..record }
}

/// Makes the other half of a flow that `part` has opened.
fn accept(sims: &mut Guards<'_>, part: usize, slot: u32) {
    let flow = sims[part].flows.get(slot).expect("just opened");
    let half = flow.half.as_ref().expect("between two parts");
    let there = usize::from(half.part);
    let sim = &sims[there];
    let [from, to] = [0, 1].map(|side| &sim.net.hosts[flow.ends[side].host as usize]);
    let client = Connection::client(&from.config.tcp, 0);
    let server = Connection::server(&to.config.tcp, half.isn);
    let [from_host, to_host] = [0, 1].map(|side| flow.ends[side].host);
    let mut other = Half::new(part as u8, half.isn);
    other.slot = slot;
    let other = Flow {
        ends: [
            Endpoint::new(client, from_host, u32::MAX, Stage::Closed),
            Endpoint::new(server, to_host, u32::MAX, Stage::Listening),
        ],
        in_flight: 0,
        hash: flow.hash,
        class: flow.class,
        number: flow.number,
        job: flow.job,
        group: flow.group,
        opened: flow.opened,
        addresses: flow.addresses,
        outcome: Outcome::Unfinished,
        state: (0, [Stage::Closed, Stage::Listening]),
        looked: Time::ZERO,
        skipped: [0; 2],
        half: Some(other),
    };
    let slot_there = sims[there].flows.insert(other);
    sims[there].find_ways(slot_there);
    sims[there].part.as_mut().expect("a part").learn_slot(part as u8, slot, slot_there);
    let here = &mut sims[part];
    here.part.as_mut().expect("a part").learn_slot(there as u8, slot_there, slot);
    here.flows.get_mut(slot).expect("just opened").half.as_mut().expect("a half").slot = slot_there;
}

/// Moves the accepting end of a flow to the part that has opened it.
pub(crate) fn unite(sims: &mut Guards<'_>, home: (usize, u32), away: (usize, u32)) {
    let other = sims[away.0].flows.remove(away.1).expect("a flow has two halves");
    let forgets = |sim: &mut Sim, part: usize, slot: u32| {
        sim.part.as_mut().expect("a part").learn_slot(part as u8, slot, UNKNOWN);
    };
    forgets(&mut sims[away.0], home.0, home.1);
    forgets(&mut sims[home.0], away.0, away.1);
    let [_, end] = other.ends;
    if end.ready {
        sims[away.0].net.hosts[end.host as usize].forget_turn(endpoint(away.1, 1));
    }
    let flow = sims[home.0].flows.get_mut(home.1).expect("a flow has two halves");
    let way = flow.ends[1].way;
    flow.ends[1] = Endpoint { way, ready: false, ..end };
    let half = flow.half.take().expect("half of a flow");
    let mut endings = half.endings;
    endings.extend(other.half.expect("half of a flow").endings);
    endings.sort_by_key(|(at, _)| *at);
    endings.into_iter().for_each(|(_, ending)| flow.decide(ending));
    flow.in_flight += other.in_flight;
    flow.looked = flow.looked.max(other.looked);
}

/// Which end of a flow between two parts is here, and its half.
pub(crate) fn side_of(sim: &Sim, slot: u32) -> Option<(usize, &Half)> {
    let flow = sim.flows.get(slot)?;
    let half = flow.half.as_deref()?;
    let part = sim.part.as_ref().expect("a part");
    Some((usize::from(!part.owns(fabric::NodeId(flow.ends[0].host))), half))
}

fn is_over(end: &Endpoint) -> bool {
    matches!(end.stage, Stage::Closed | Stage::Dead)
}

fn news(sim: &mut Sim) -> &mut News {
    &mut sim.part.as_mut().expect("a part").news
}

/// What several parts have done, in the order of the model: the part, and the index there.
fn in_order(places: &[Vec<Place>]) -> Vec<(usize, usize)> {
    let each = places.iter().enumerate();
    let mut all: Vec<(Place, usize, usize)> = each
        .flat_map(|(part, places)| places.iter().enumerate().map(move |(index, place)| (*place, part, index)))
        .collect();
    all.sort_unstable();
    all.into_iter().map(|(_, part, index)| (part, index)).collect()
}
