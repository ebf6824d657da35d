//! Steady states are skipped, if asked: while nothing happens in an area of the network but that flows go on
//! as they did, its events are put off until something else happens there, and all counts grow as they grew
//! before.
//!
//! The state of an area stays what it is, packet by packet. When the time is over that it was passed over,
//! its clocks move ([`fabric::Fabric::shift`], [`transport::tcp::Connection::shift`]), and bytes that were
//! passed over are taken off the unsent end of the streams, so their processes write on as ever. When
//! something else happens (a flow begins or ends there, one of its processes hears of anything, a fault), it
//! goes on from there event by event, until it is steady again. What is an area is in `area.rs`, and what
//! counts as steady in `watch.rs`.
//!
//! Source: the idea is that of Wormhole (Long et al., NSDI 2026), which keeps what it has learnt of steady
//! states. Here nothing is kept.

mod area;
#[cfg(test)]
mod tests;
mod watch;

use crate::body::Body;
use crate::endpoint::endpoint;
use crate::flow::Flow;
use crate::host::Taken;
use crate::key::Kind;
use crate::run::{Control, Sim};
use crate::slab::Slab;
use area::{Area, Ground, NONE};
use fabric::{Packet, PortId};
use process::Payload;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use units::Time;
use watch::{Steady, Watch};

/// From the opening of a flow to the first look.
const FIRST: Time = Time::from_us(50);

/// What skipping needs to know.
#[derive(Debug)]
pub(crate) struct Skip {
    /// The look's place among the controls.
    control: u32,
    /// When the next look is to come.
    look_at: Time,
    /// When flows that are in no area are looked for.
    gather_at: Time,
    areas: Slab<Area>,
    /// By port and by host: their areas.
    area_of_port: Vec<u32>,
    area_of_host: Vec<u32>,
    /// Areas of processes that have yet to hear of something.
    disturbed: Vec<u32>,
    /// Datagrams of the process in hand.
    held: Vec<(PortId, Packet<Body>)>,
    /// Memories of switches in which a queue was long for what is free: flows meet there.
    tight: BTreeSet<u32>,
    /// Whole multiples of this are skipped unless something comes in between: what the clocks of hosts count.
    unit: Time,
    /// Packets that would have crossed a link, summed over links.
    hops: u64,
}

impl Sim {
    /// Skips steady states from now on. To be called before the run.
    ///
    /// # Errors
    /// What does not go with it.
    pub fn skip_steady_states(&mut self) -> Result<(), &'static str> {
        if self.packets_wait {
            return Err("packets that take time at hosts (packet_cost, packet_jitter, time_slice)");
        }
        if !self.captures.is_empty() {
            return Err("captures");
        }
        if !self.fluids.is_empty() {
            return Err("traffic as a fluid");
        }
        if let Some(obstacle) = self.net.fabric.obstacle_to_shift() {
            return Err(obstacle);
        }
        let ticks = self.net.hosts.iter().map(|host| host.config.tcp.clock_tick.as_ps());
        let unit = ticks.filter(|tick| *tick > 0).fold(Time::from_us(1).as_ps(), least_common_multiple);
        self.skip = Some(Box::new(Skip {
            control: self.controls.len() as u32,
            look_at: Time::MAX,
            gather_at: Time::MAX,
            areas: Slab::default(),
            area_of_port: vec![NONE; self.net.fabric.port_count()],
            area_of_host: vec![NONE; self.net.hosts.len()],
            disturbed: Vec::new(),
            held: Vec::new(),
            tight: BTreeSet::new(),
            unit: Time::from_ps(unit),
            hops: 0,
        }));
        self.controls.push(Control::Steady);
        Ok(())
    }

    /// Packets that would have crossed links in what was skipped, summed over links, if steady states are.
    pub fn skipped_hops(&self) -> Option<u64> {
        self.skip.as_ref().map(|skip| skip.hops)
    }

    /// A process is to hear of something that might change what its flows do.
    pub(crate) fn disturb_process(&mut self, process: u32) {
        let Some(skip) = &mut self.skip else { return };
        let number = skip.area_of_host[self.processes[process as usize].host as usize];
        let has = |area: &Area| area.ground.processes.binary_search(&process).is_ok();
        if skip.areas.get(number).is_some_and(has) {
            skip.disturbed.push(number);
        }
        self.gather_after(FIRST);
    }

    /// Before processes hear of what they are to hear of.
    pub(crate) fn wake_disturbed(&mut self) {
        while let Some(number) = self.skip.as_mut().and_then(|skip| skip.disturbed.pop()) {
            self.disturb(number);
        }
    }

    /// A flow is about to send because its process or a timer wants it to: what goes on along its ways, if
    /// it was no part of that, is no longer what it was.
    pub(crate) fn disturb_ways(&mut self, slot: u32) {
        let (Some(flow), NONE) = (self.flows.get(slot), self.area_of_flow(slot)) else { return };
        let (ports, hosts) = (self.ports_of(flow), flow.ends.each_ref().map(|end| end.host));
        self.disturb_ports(&ports);
        for host in hosts {
            let area = self.skip.as_ref().map_or(NONE, |skip| skip.area_of_host[host as usize]);
            self.disturb(area);
        }
        self.gather_after(FIRST);
    }

    /// A flow is about to be forgotten.
    pub(crate) fn disturb_area_of(&mut self, slot: u32) {
        self.disturb(self.area_of_flow(slot));
    }

    fn area_of_flow(&self, slot: u32) -> u32 {
        self.skip.as_ref().map_or(NONE, |skip| skip.area_of_flow(&self.flows, slot))
    }

    fn disturb_ports(&mut self, ports: &[PortId]) {
        for port in ports {
            let area = self.skip.as_ref().map_or(NONE, |skip| skip.area_of_port[port.index()]);
            self.disturb(area);
        }
    }

    /// The whole network is no longer what it was, or the run stops.
    pub(crate) fn disturb_all(&mut self) {
        let Some(skip) = &self.skip else { return };
        let areas: Vec<u32> = skip.areas.iter().map(|(number, _)| number).collect();
        areas.into_iter().for_each(|area| self.disturb(area));
    }

    /// What goes on in an area is no longer what it was. Its flows are looked at again before long.
    fn disturb(&mut self, number: u32) {
        self.wake(number);
        let Some(area) = self.skip.as_mut().and_then(|skip| skip.areas.remove(number)) else { return };
        self.skip.as_mut().expect("it skips").give(&area.ground, NONE);
        self.gather_after(area.watch.calm);
    }

    /// Flows that are in no area are looked for after that time, or before.
    fn gather_after(&mut self, wait: Time) {
        let now = self.net.now;
        let Some(skip) = &mut self.skip else { return };
        if skip.gather_at == Time::MAX {
            skip.gather_at = now + wait;
            self.look_by(now + wait);
        }
    }

    /// There is a look at that time or before.
    fn look_by(&mut self, at: Time) {
        let skip = self.skip.as_mut().expect("it skips");
        if at < skip.look_at {
            skip.look_at = at;
            self.net.outside.at(at, Kind::Control, skip.control);
        }
    }

    /// Sees to areas that are due, and lets sleep what is steady.
    pub(crate) fn look_for_steady_states(&mut self) {
        let now = self.net.now;
        let Some(skip) = &mut self.skip else { return };
        if skip.look_at != now {
            return; // An earlier look came in between.
        }
        skip.look_at = Time::MAX;
        let due = |(number, area): (u32, &Area)| (area.due <= now).then_some(number);
        let due: Vec<u32> = skip.areas.iter().filter_map(due).collect();
        due.into_iter().for_each(|number| self.look(number));
        if self.skip.as_ref().is_some_and(|skip| skip.gather_at <= now) {
            self.gather();
        }
        self.skip_on();
    }

    /// Makes areas of the flows that are in none.
    fn gather(&mut self) {
        let grounds = self.grounds(self.skip.as_ref().expect("it skips"));
        self.skip.as_mut().expect("it skips").gather_at = Time::MAX;
        for ground in grounds.into_iter().map(Arc::new) {
            let watch = Watch::begin(self, &ground, Time::ZERO);
            let skip = self.skip.as_mut().expect("it skips");
            debug_assert!(ground.ports.iter().all(|port| skip.area_of_port[port.index()] == NONE));
            debug_assert!(ground.hosts.iter().all(|host| skip.area_of_host[*host as usize] == NONE));
            let number = skip.areas.insert(Area::new(self.net.now, ground.clone(), watch));
            skip.give(&ground, number);
        }
    }

    /// An area is due: notes what its flows do, or wakes it.
    fn look(&mut self, number: u32) {
        let now = self.net.now;
        // One that was due before may have disturbed it.
        let Some(area) = self.skip.as_mut().and_then(|skip| skip.areas.get_mut(number)) else { return };
        if area.steady.is_some() {
            return self.wake(number);
        }
        let ground = area.ground.clone();
        let is_over = area.watch.look(&self.flows);
        area.due = now + area.watch.interval();
        if self.meets_others(&ground) || !is_over {
            return;
        }
        let Some(area) = self.skip.as_ref().and_then(|skip| skip.areas.get(number)) else { return };
        match area.watch.judge(self, &ground) {
            None => self.watch_again(number, area.watch.half().saturating_mul(2)),
            steady => {
                let area = self.area(number).expect("it was judged");
                (area.steady, area.due) = (steady, now);
            }
        }
    }

    fn area(&mut self, number: u32) -> Option<&mut Area> {
        self.skip.as_mut()?.areas.get_mut(number)
    }

    /// Watches an area over twice the time `half`.
    fn watch_again(&mut self, number: u32, half: Time) {
        let Some(ground) = self.area(number).map(|area| area.ground.clone()) else { return };
        let watch = Watch::begin(self, &ground, half);
        *self.area(number).expect("just looked up") = Area::new(self.net.now, ground, watch);
    }

    /// Whether a memory that the area shares has become short: then it meets all others that share it, and
    /// none of them is an area by itself.
    fn meets_others(&mut self, ground: &Ground) -> bool {
        let fabric = &self.net.fabric;
        let skip = self.skip.as_mut().expect("it skips");
        let short = ground.ports.iter().filter(|port| fabric.is_short_of_memory(**port));
        let short: Vec<u32> = short.filter_map(|port| fabric.memory_of(*port)).collect();
        let new: BTreeSet<u32> = short.into_iter().filter(|memory| skip.tight.insert(*memory)).collect();
        let shares = |port: &PortId| fabric.memory_of(*port).is_some_and(|memory| new.contains(&memory));
        let areas = skip.areas.iter().filter(|(_, area)| area.ground.ports.iter().any(shares));
        let areas: Vec<u32> = areas.map(|(number, _)| number).collect();
        areas.into_iter().for_each(|area| self.disturb(area));
        !new.is_empty()
    }

    /// Lets sleep the areas that are steady, as far as that holds; or watches them again.
    fn skip_on(&mut self) {
        let now = self.net.now;
        let skip = self.skip.as_ref().expect("it skips");
        let is_awake = |area: &Area| area.steady.is_some() && area.asleep.is_none() && area.due <= now;
        let awake: Vec<u32> =
            skip.areas.iter().filter(|(_, area)| is_awake(area)).map(|(number, _)| number).collect();
        let put_off: BTreeMap<u32, Time> =
            awake.into_iter().filter_map(|number| Some((number, self.let_sleep(number)?))).collect();
        if !put_off.is_empty() {
            self.retime(|area, time| time.saturating_add(put_off.get(&area).copied().unwrap_or_default()));
        }
        let skip = self.skip.as_ref().expect("it skips");
        let next = skip.areas.iter().map(|(_, area)| area.due).fold(skip.gather_at, Time::min);
        if next < Time::MAX {
            self.look_by(next);
        }
    }

    /// Lets an area sleep, if it is steady for longer than it takes to see that; else watches it again. For
    /// how long its events are to be put off.
    fn let_sleep(&mut self, number: u32) -> Option<Time> {
        let (now, until_stop) = (self.net.now, self.stop.saturating_sub(self.net.now));
        let until_sample = self.time_to_sample();
        let skip = self.skip.as_mut()?;
        let unit = skip.unit;
        let area = skip.areas.get_mut(number)?;
        let steady = area.steady.as_mut()?;
        let far = in_units(reach(&self.flows, steady).min(until_stop), unit);
        if far < steady.least() {
            let half = steady.half();
            self.watch_again(number, half);
            return None;
        }
        if has_sent_all(&self.flows, steady) {
            steady.wait();
            area.due = now + area.watch.pause();
            return None;
        }
        let by = in_units(far.min(until_sample), unit);
        if by == Time::ZERO {
            area.due = now + until_sample;
            return None;
        }
        (area.asleep, area.due) = (Some(now), now + by);
        Some(by)
    }

    fn time_to_sample(&self) -> Time {
        let now = self.net.now.as_ps();
        self.sampler.interval.map_or(Time::MAX, |every| Time::from_ps(every.as_ps() - now % every.as_ps()))
    }

    /// Moves the events of areas: `time_of` has an area and the time of an event there.
    fn retime(&mut self, time_of: impl Fn(u32, Time) -> Time) {
        let Some(skip) = &self.skip else { return };
        let net = &mut self.net;
        net.outside.wheel.retime(net.now, |entry| {
            match skip.area_of_event(&self.flows, &net.hosts, entry.key()) {
                NONE => entry.time,
                area => time_of(area, entry.time),
            }
        });
    }

    /// Wakes an area, if it sleeps: everything there is as if it had gone on as it did.
    fn wake(&mut self, number: u32) {
        let now = self.net.now;
        let Some(area) = self.area(number) else { return };
        let Some(since) = area.asleep.take() else { return };
        let Some(mut steady) = area.steady.take() else { return };
        let (ground, early) = (area.ground.clone(), area.due.saturating_sub(now));
        area.due = now;
        if early > Time::ZERO {
            self.retime(|area, time| if area == number { time.saturating_sub(early) } else { time });
        }
        let by = now.saturating_sub(since);
        steady.pass(by);
        self.pass_over(by, &ground, &steady);
        if let Some(area) = self.area(number) {
            area.steady = Some(steady);
        }
    }

    /// Lets everything in an area be as if flows had gone on as they did for the time `by` that has passed.
    fn pass_over(&mut self, by: Time, ground: &Ground, steady: &Steady) {
        self.net.fabric.shift(&ground.ports, by, |body| body.header.shift(by));
        for slot in &ground.flows {
            let flow = self.flows.get_mut(*slot).expect("a flow that ends disturbs");
            let is_quiet = !area::is_busy(flow);
            for end in &mut flow.ends {
                end.timer_at = end.timer_at.saturating_add(by);
                if !is_quiet {
                    end.tcp.shift(by);
                }
            }
        }
        self.net.fabric.count(&ground.ports, steady.ports());
        self.skip.as_mut().expect("it skips").hops += steady.ports().map(|port| port.packets()).sum::<u64>();
        for (host, more) in ground.hosts.iter().zip(steady.taken()) {
            let Taken { packets, bytes } = &mut self.net.taken[*host as usize];
            (*packets, *bytes) = (*packets + more.packets, *bytes + more.bytes);
        }
        for (slot, side, bytes, counted) in steady.ends() {
            if let Some(flow) = self.flows.get_mut(slot) {
                flow.ends[side].tcp.count(&counted);
                self.forgo(slot, side, bytes);
            }
        }
    }

    /// Takes `bytes` off what a side has yet to send. Its process writes on as soon as there is room.
    fn forgo(&mut self, slot: u32, side: usize, mut bytes: u64) {
        while bytes > 0 {
            let Some(flow) = self.flows.get_mut(slot) else { return };
            let some = bytes.min(unsent_zeros(flow, side).unwrap_or(0));
            if some == 0 {
                // The process has not written what it wanted to.
                let area = self.area_of_flow(slot);
                return self.skip.as_mut().expect("it skips").disturbed.push(area);
            }
            let end = &mut flow.ends[side];
            end.tcp.forgo(some);
            match end.written.back_mut() {
                Some(Payload::Zeros(last)) => *last -= some,
                other => unreachable!("zeros are unsent, not {other:?}"),
            }
            flow.skipped[side] += some;
            bytes -= some;
            if end.tcp.has_event() {
                self.pass_on(endpoint(slot, side as u32));
                self.follow_up();
            }
        }
    }

    /// Holds a datagram until the process that sends it is no longer in hand.
    pub(crate) fn hold(&mut self, port: PortId, packet: Packet<Body>) {
        self.skip.as_mut().expect("it skips").held.push((port, packet));
    }

    /// Sends what is held.
    pub(crate) fn send_held(&mut self) {
        for (port, packet) in
            self.skip.as_mut().map(|skip| std::mem::take(&mut skip.held)).into_iter().flatten()
        {
            self.disturb_ports(&self.net.fabric.path((port, packet.route)));
            self.net.fabric.enqueue(self.net.now, PortId::NONE, port, &packet, &mut self.net.outside);
        }
    }
}

impl Skip {
    /// Gives ground to an area, or to none.
    fn give(&mut self, ground: &Ground, area: u32) {
        ground.ports.iter().for_each(|port| self.area_of_port[port.index()] = area);
        ground.hosts.iter().for_each(|host| self.area_of_host[*host as usize] = area);
    }
}

fn in_units(time: Time, unit: Time) -> Time {
    Time::from_ps(time.as_ps() / unit.as_ps() * unit.as_ps())
}

/// Whether a flow that goes on has sent, at this moment, all that its process could write.
fn has_sent_all(flows: &Slab<Flow>, steady: &Steady) -> bool {
    let mut unsent = steady.senders().filter_map(|(slot, side, _)| unsent_zeros(flows.get(slot)?, side));
    unsent.any(|bytes| bytes == 0)
}

/// How long what is steady can go on: until a flow comes near to its end.
fn reach(flows: &Slab<Flow>, steady: &Steady) -> Time {
    let rooms = steady.senders().map(|(slot, side, bytes)| {
        let room = flows.get(slot).map_or(0, |flow| room(flow, side));
        steady.span().mul_div(room, bytes)
    });
    rooms.fold(steady.left(), Time::min)
}

/// Bytes of a side's stream that can be passed over now, if any ever can: nothing but zeros that are still to
/// be sent, and that nobody looks at when they come.
fn unsent_zeros(flow: &Flow, side: usize) -> Option<u64> {
    let end = &flow.ends[side];
    match end.written.back() {
        Some(Payload::Zeros(bytes)) if flow.ends[1 - side].tcp.is_drained() => {
            Some(end.tcp.unsent().min(*bytes))
        }
        _ => None,
    }
}

/// Bytes of a side's stream that can be passed over, if its process goes on to write what it wants to. A
/// window is kept, so that the stream ends as it would have.
fn room(flow: &Flow, side: usize) -> u64 {
    let end = &flow.ends[side];
    unsent_zeros(flow, side).map_or(0, |zeros| (zeros + end.offered).saturating_sub(end.tcp.window()))
}

fn least_common_multiple(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    (a / x).saturating_mul(b)
}
