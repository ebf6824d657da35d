//! Steady states are skipped, if asked: while nothing happens but that flows go on as they did, the time
//! moves on at once to what happens next, and all counts grow as they grew before.
//!
//! The state of the network stays what it is, packet by packet, and only its clocks move
//! ([`fabric::Fabric::shift`], [`transport::tcp::Connection::shift`]). Bytes that are passed over are taken
//! off the unsent end of the streams, so their processes write on as ever. When something else happens (a
//! flow begins or ends, a process hears of anything, a fault), the network goes on from there event by event,
//! until it is steady again. What counts as steady is in `watch.rs`.
//!
//! Source: the idea is that of Wormhole (Long et al., NSDI 2026), which skips time in parts of a network and
//! keeps what it has learnt of them. Here it is the whole network or nothing, and nothing is kept.

#[cfg(test)]
mod tests;
mod watch;

use crate::endpoint::endpoint;
use crate::flow::Flow;
use crate::host::Taken;
use crate::key::{Kind, split};
use crate::run::{Control, Sim};
use process::Payload;
use units::Time;
use watch::{Steady, Watch};

/// From the opening of a flow to the first look.
const FIRST: Time = Time::from_us(50);
/// What skipping needs to know.
#[derive(Debug)]
pub(crate) struct Skip {
    /// The look's place among the controls.
    control: u32,
    /// A look is to come.
    is_looking: bool,
    /// Events that might change what flows do.
    disturbances: u64,
    /// What was seen since the last of them.
    watch: Option<Watch>,
    /// What goes on as it is.
    steady: Option<Steady>,
    /// Whole multiples of this are skipped: what the clocks of hosts count in.
    unit: Time,
    /// Time skipped so far.
    total: Time,
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
            is_looking: false,
            disturbances: 0,
            watch: None,
            steady: None,
            unit: Time::from_ps(unit),
            total: Time::ZERO,
        }));
        self.controls.push(Control::Steady);
        Ok(())
    }

    /// Something has happened that might change what flows do: whether they come to a steady state is to be
    /// looked at again.
    pub(crate) fn disturb(&mut self) {
        let Some(skip) = &mut self.skip else { return };
        skip.disturbances += 1;
        if !skip.is_looking && skip.steady.is_none() {
            self.look_after(FIRST);
        }
    }

    /// Time that was skipped, if steady states are.
    pub fn skipped(&self) -> Option<Time> {
        self.skip.as_ref().map(|skip| skip.total)
    }

    fn look_after(&mut self, wait: Time) {
        let Some(skip) = &mut self.skip else { return };
        skip.is_looking = true;
        self.net.outside.at(self.net.now + wait.max(Time::from_ps(1)), Kind::Control, skip.control);
    }

    /// Notes what flows do, and skips time if they are steady.
    pub(crate) fn look_for_steady_state(&mut self) {
        let Some(skip) = &mut self.skip else { return };
        skip.is_looking = false;
        let Some(mut watch) = skip.watch.take() else { return self.watch(Time::ZERO) };
        if watch.disturbances != skip.disturbances {
            return self.look_after(watch.calm());
        }
        if !watch.look(&self.flows) {
            let wait = watch.interval();
            skip.watch = Some(watch);
            return self.look_after(wait);
        }
        match watch.judge(self) {
            None => self.watch(watch.half().saturating_mul(2)),
            steady => {
                self.skip.as_mut().expect("it skips").steady = steady;
                self.skip_on();
            }
        }
    }

    /// Begins to watch flows over two halves of that length at least, if any does something.
    fn watch(&mut self, half: Time) {
        let Some(watch) = Watch::begin(self, half) else { return };
        let wait = watch.interval();
        self.skip.as_mut().expect("it skips").watch = Some(watch);
        self.look_after(wait);
    }

    /// Goes on with skipping, as far as the steady state holds; then looks again.
    pub(crate) fn skip_on(&mut self) {
        let Some(skip) = &mut self.skip else { return };
        let Some(mut steady) = skip.steady.take() else { return };
        let (mut foreign, mut sample) = self.next_of_others(Time::ZERO);
        while self.is_undisturbed(&steady) {
            let far = self.in_units(self.reach(&steady).min(foreign.saturating_sub(self.net.now)));
            if far < steady.least() {
                break;
            }
            let step = self.in_units(far.min(sample.saturating_sub(self.net.now)));
            if step == Time::ZERO {
                // Up to the next sample nothing is skipped, and then it goes on.
                self.skip.as_mut().expect("it skips").steady = Some(steady);
                return;
            }
            (foreign, sample) = self.next_of_others(step);
            self.pass_over(step, &mut steady);
        }
        if self.is_undisturbed(&steady) { self.watch(steady.half()) } else { self.look_after(FIRST) }
    }

    fn is_undisturbed(&self, steady: &Steady) -> bool {
        self.skip.as_ref().is_some_and(|skip| skip.disturbances == steady.disturbances)
    }

    fn in_units(&self, time: Time) -> Time {
        let unit = self.skip.as_ref().expect("it skips").unit.as_ps();
        Time::from_ps(time.as_ps() / unit * unit)
    }

    /// How long what is steady can go on: until a flow comes near to its end.
    fn reach(&self, steady: &Steady) -> Time {
        let until_stop = self.stop.saturating_sub(self.net.now);
        let rooms = steady.senders().map(|(slot, side, bytes)| {
            let room = self.flows.get(slot).map_or(0, |flow| room(flow, side));
            steady.span().mul_div(room, bytes)
        });
        rooms.fold(steady.left().min(until_stop), Time::min)
    }

    /// Moves all events of the network on by `by`, and the clock with them. When the next event of others
    /// comes, and the next sample.
    fn next_of_others(&mut self, by: Time) -> (Time, Time) {
        let controls = &self.controls;
        let (mut foreign, mut sample) = (Time::MAX, Time::MAX);
        self.net.now += by;
        self.net.outside.wheel.retime(self.net.now, |entry| match split(entry.key()) {
            (Kind::Control, index) if matches!(controls[index as usize], Control::Sample) => {
                sample = sample.min(entry.time);
                entry.time
            }
            (Kind::Control | Kind::Timer | Kind::Work | Kind::Outsider, _) => {
                foreign = foreign.min(entry.time);
                entry.time
            }
            _ => entry.time.saturating_add(by),
        });
        (foreign, sample)
    }

    /// Lets everything be as if flows had gone on as they did for the time `by` that has passed.
    fn pass_over(&mut self, by: Time, steady: &mut Steady) {
        self.net.fabric.shift(by, |body| body.header.shift(by));
        for flow in self.flows.iter_mut().map(|(_, flow)| flow) {
            let is_quiet = flow.in_flight == 0 && flow.ends.iter().all(|end| end.tcp.is_quiet());
            for end in &mut flow.ends {
                end.timer_at = end.timer_at.saturating_add(by);
                if !is_quiet {
                    end.tcp.shift(by);
                }
            }
        }
        steady.pass(by);
        self.net.fabric.count(steady.ports());
        for (taken, more) in self.net.taken.iter_mut().zip(steady.taken()) {
            *taken = Taken { packets: taken.packets + more.packets, bytes: taken.bytes + more.bytes };
        }
        for (slot, side, bytes, counted) in steady.ends() {
            let flow = self.flows.get_mut(slot).expect("a flow that ends disturbs");
            flow.ends[side].tcp.count(&counted);
            self.forgo(slot, side, bytes);
        }
        self.skip.as_mut().expect("it skips").total += by;
    }

    /// Takes `bytes` off what a side has yet to send. Its process writes on as soon as there is room.
    fn forgo(&mut self, slot: u32, side: usize, mut bytes: u64) {
        while bytes > 0 {
            let flow = self.flows.get_mut(slot).expect("a flow that ends disturbs");
            let some = bytes.min(unsent_zeros(flow, side));
            if some == 0 {
                // The process has not written what it wanted to.
                return self.disturb();
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
}

/// Bytes of a side's stream that can be passed over now: nothing but zeros that are still to be sent, and
/// that nobody looks at when they come.
fn unsent_zeros(flow: &Flow, side: usize) -> u64 {
    let end = &flow.ends[side];
    match end.written.back() {
        Some(Payload::Zeros(bytes)) if flow.ends[1 - side].tcp.is_drained() => end.tcp.unsent().min(*bytes),
        _ => 0,
    }
}

/// Bytes of a side's stream that can be passed over, if its process goes on to write what it wants to. A
/// window is kept, so that the stream ends as it would have.
fn room(flow: &Flow, side: usize) -> u64 {
    let end = &flow.ends[side];
    let zeros = unsent_zeros(flow, side);
    if zeros == 0 { 0 } else { (zeros + end.offered).saturating_sub(end.tcp.window()) }
}

fn least_common_multiple(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    (a / x).saturating_mul(b)
}
