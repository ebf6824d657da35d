//! Whether flows are steady: what they do in four stretches of time of the same length.
//!
//! Each flow sends, or waits for nothing. And it has sent as much in one stretch as in another, and had the
//! same mean window, within a hundredth: two stretches may be alike by chance, where shares wander. If flows
//! are not steady, twice the time is looked at, and so on, so that a slow sawtooth is seen whole, and a slow
//! growth is seen too.

use super::area::Ground;
use super::room;
use crate::endpoint::endpoint;
use crate::flow::Flow;
use crate::host::Taken;
use crate::run::Sim;
use crate::slab::Slab;
use fabric::Passed;
use transport::tcp::Counters;
use units::Time;

/// Stretches that are compared, and looks in each of them.
const STRETCHES: usize = 4;
const LOOKS: usize = 8;
/// A half is at least so many round trips long.
const ROUND_TRIPS: u64 = 8;
/// So many attempts to let it sleep are made in that time.
const PAUSES: u64 = 51;
/// While no round trip has been measured, one is taken to last this long.
const ROUND_TRIP: Time = Time::from_us(100);
/// Stretches are alike within one part in so many.
const ALIKE: u64 = 100;
/// At most so many times what was looked at is skipped before the next look.
const AHEAD: u64 = 32;

/// One end of a flow.
#[derive(Clone, Debug)]
struct Seen {
    slot: u32,
    side: usize,
    /// Bytes acknowledged at the beginning, and at the end of each stretch.
    acked: [u64; STRETCHES + 1],
    /// Sum of the windows seen in each stretch.
    windows: [u64; STRETCHES],
    counters: Counters,
}

/// What is seen of an area while nothing disturbs it.
#[derive(Debug)]
pub(super) struct Watch {
    /// How long it is left alone after a disturbance: the least half.
    pub calm: Time,
    half: Time,
    looks: usize,
    ends: Vec<Seen>,
    ports: Vec<Passed>,
    taken: Vec<Taken>,
}

impl Watch {
    /// Looks at the flows of an area, over twice the time `half`, or what is enough for a first look.
    pub(super) fn begin(sim: &Sim, ground: &Ground, half: Time) -> Watch {
        let flows = ground.flows.iter().filter_map(|slot| Some((*slot, sim.flows.get(*slot)?)));
        let seen = |(slot, flow): (u32, &Flow)| {
            [0, 1].map(|side| {
                let tcp = &flow.ends[side].tcp;
                let (acked, windows) = ([tcp.acked(); STRETCHES + 1], [0; STRETCHES]);
                Seen { slot, side, acked, windows, counters: *tcp.counters() }
            })
        };
        let ends: Vec<Seen> = flows.flat_map(seen).collect();
        let stats = |end: &Seen| sim.flows.get(end.slot).map(|flow| flow.ends[end.side].tcp.stats().srtt);
        let round_trip = ends.iter().filter_map(stats).filter(|srtt| *srtt > Time::ZERO).max();
        let calm = round_trip.unwrap_or(ROUND_TRIP).saturating_mul(ROUND_TRIPS);
        Watch {
            calm,
            half: half.max(calm),
            looks: 0,
            ends,
            ports: sim.net.fabric.passed(&ground.ports),
            taken: taken(sim, ground),
        }
    }

    pub(super) fn half(&self) -> Time {
        self.half
    }

    /// From one look to the next.
    pub(super) fn interval(&self) -> Time {
        Time::from_ps(self.span().as_ps() / (STRETCHES * LOOKS) as u64)
    }

    /// From one attempt to let it sleep to the next: some of a round trip, so that each finds another moment
    /// of it.
    pub(super) fn pause(&self) -> Time {
        Time::from_ps(self.calm.as_ps() / PAUSES)
    }

    /// Looks at all flows; whether it was the last time.
    pub(super) fn look(&mut self, flows: &Slab<Flow>) -> bool {
        let stretch = self.looks / LOOKS;
        self.looks += 1;
        for end in &mut self.ends {
            let Some(flow) = flows.get(end.slot) else { continue };
            let tcp = &flow.ends[end.side].tcp;
            end.windows[stretch] += tcp.window();
            end.acked[stretch + 1] = tcp.acked();
        }
        self.looks == STRETCHES * LOOKS
    }

    /// What goes on if all flows are steady.
    pub(super) fn judge(&self, sim: &Sim, ground: &Ground) -> Option<Steady> {
        let mut ends = Vec::with_capacity(self.ends.len());
        for end in &self.ends {
            let flow = sim.flows.get(end.slot)?;
            let tcp = &flow.ends[end.side].tcp;
            let sent: [u64; STRETCHES] = std::array::from_fn(|at| end.acked[at + 1] - end.acked[at]);
            let bytes = sent.iter().sum();
            // A sender without a sign of life may wait for a timer that is not to be put off.
            let goes_on = if bytes > 0 { room(flow, end.side) > 0 } else { !tcp.awaits_answer() };
            if tcp.is_paced() || !goes_on || !are_alike(sent) || (bytes > 0 && !are_alike(end.windows)) {
                return None;
            }
            let counted = tcp.counters().since(&end.counters, |count| count);
            ends.push((endpoint(end.slot, end.side as u32), bytes, counted));
        }
        let ports = sim.net.fabric.passed(&ground.ports);
        let ports: Vec<Passed> =
            ports.iter().zip(&self.ports).map(|(now, before)| now.since(before, |count| count)).collect();
        if sim.net.fabric.is_left_to_chance(&ground.ports, &ports) {
            return None;
        }
        let taken = taken(sim, ground);
        let taken = taken.iter().zip(&self.taken).map(|(now, before)| Taken {
            packets: now.packets - before.packets,
            bytes: now.bytes - before.bytes,
        });
        Some(Steady {
            span: self.span(),
            left: self.span().saturating_mul(AHEAD),
            passed: (Time::ZERO, Time::ZERO),
            ends,
            ports,
            taken: taken.collect(),
        })
    }

    fn span(&self) -> Time {
        self.half.saturating_mul(2)
    }
}

/// What the hosts of an area were given.
fn taken(sim: &Sim, ground: &Ground) -> Vec<Taken> {
    ground.hosts.iter().map(|host| sim.net.taken[*host as usize]).collect()
}

/// Whether figures of all stretches are alike.
fn are_alike(figures: [u64; STRETCHES]) -> bool {
    let (least, most) =
        figures.iter().fold((u64::MAX, 0), |(least, most), at| (least.min(*at), most.max(*at)));
    ALIKE * (most - least) <= most
}

/// What flows and ports do in a span of time, again and again.
#[derive(Debug)]
pub(crate) struct Steady {
    span: Time,
    left: Time,
    /// Time that was passed over before the last step, and with it.
    passed: (Time, Time),
    /// Ends, the bytes that they have had acknowledged, and what they have counted.
    ends: Vec<(u32, u64, Counters)>,
    ports: Vec<Passed>,
    taken: Vec<Taken>,
}

impl Steady {
    /// Of flows that do nothing.
    #[cfg(test)]
    pub(super) fn nothing() -> Steady {
        Steady {
            span: Time::from_us(1),
            left: Time::MAX,
            passed: (Time::ZERO, Time::ZERO),
            ends: Vec::new(),
            ports: Vec::new(),
            taken: Vec::new(),
        }
    }

    pub(super) fn span(&self) -> Time {
        self.span
    }

    /// What each of both halves lasted.
    pub(super) fn half(&self) -> Time {
        Time::from_ps(self.span.as_ps() / 2)
    }

    /// Less is not worth skipping.
    pub(super) fn least(&self) -> Time {
        self.span
    }

    /// How long it may go on without a look.
    pub(super) fn left(&self) -> Time {
        self.left
    }

    /// Ends that send, as slot and side, and their bytes in a span.
    pub(super) fn senders(&self) -> impl Iterator<Item = (u32, usize, u64)> {
        let senders = self.ends.iter().filter(|(_, bytes, _)| *bytes > 0);
        senders.map(|(id, bytes, _)| (id >> 1, (id & 1) as usize, *bytes))
    }

    /// An attempt to let it sleep has failed: there are not many.
    pub(super) fn wait(&mut self) {
        self.left = self.left.saturating_sub(self.half());
    }

    /// A step of so much time is passed over.
    pub(super) fn pass(&mut self, by: Time) {
        self.left = self.left.saturating_sub(by);
        self.passed = (self.passed.1, self.passed.1 + by);
    }

    /// The share of `count` in a span that falls into the last step. All steps together have all of it.
    fn share(&self, count: u64) -> u64 {
        let until = |time: Time| u128::from(count) * u128::from(time.as_ps()) / u128::from(self.span.as_ps());
        (until(self.passed.1) - until(self.passed.0)) as u64
    }

    /// The same for all ends: slot, side, bytes and what they count.
    pub(super) fn ends(&self) -> impl Iterator<Item = (u32, usize, u64, Counters)> {
        self.ends.iter().map(|(id, bytes, counted)| {
            let counted = counted.since(&Counters::default(), |count| self.share(count));
            (id >> 1, (id & 1) as usize, self.share(*bytes), counted)
        })
    }

    /// The same for all ports of the area.
    pub(super) fn ports(&self) -> impl Iterator<Item = Passed> {
        self.ports.iter().map(|passed| passed.since(&Passed::default(), |count| self.share(count)))
    }

    /// The same for its hosts.
    pub(super) fn taken(&self) -> impl Iterator<Item = Taken> {
        let share =
            |taken: &Taken| Taken { packets: self.share(taken.packets), bytes: self.share(taken.bytes) };
        self.taken.iter().map(share)
    }
}
