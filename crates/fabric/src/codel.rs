//! Controlled delay (CoDel): RFC 8289, sections 4 and 5. It looks at how long packets have waited when
//! they leave the queue, and drops there; with `ecn` it marks capable packets instead, as Linux does.
//!
//! The RFC writes one function that takes packets until one may be sent. Here the port hands in one
//! packet after the other, and `Phase` says where in that function it stands. It is not flow queueing
//! (RFC 8290): one state a queue.
//!
//! Checked against the pseudo-code of section 5 (`dodequeue`, `deque`, `control_law`), of which copies differ
//! in when `count` grows: the tests hold it, in its own shape, beside this one. `maxpacket_` is the link's
//! MTU. Each drop counts, the one too after which the drop state ends, as in Linux. A queue that runs empty
//! was at most an MTU long before: its reset needs no case of its own.

use crate::config::CodelConfig;
use crate::packet::Verdict;
use units::Time;

/// Where the RFC's `deque` stands between two packets that it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// At its beginning.
    Fresh,
    /// It has dropped on entering the drop state: the next packet is sent whatever its wait.
    Entered,
    /// It has dropped in the drop state: the next packet ends that state, or sets the time of the next drop.
    Dropped,
}

/// The state of CoDel at one queue.
#[derive(Clone, Debug)]
pub(crate) struct Codel {
    config: CodelConfig,
    /// A queue of no more than a packet this large is never too long.
    mtu: u64,
    first_above: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    dropping: bool,
    phase: Phase,
}

impl Codel {
    pub(crate) fn new(config: CodelConfig, mtu: u32) -> Codel {
        Codel {
            config,
            mtu: u64::from(mtu),
            first_above: None,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
            dropping: false,
            phase: Phase::Fresh,
        }
    }

    /// Moves its times.
    pub(crate) fn shift(&mut self, by: Time) {
        self.first_above = self.first_above.map(|time| time + by);
        self.drop_next += by;
    }

    /// Decides on a packet that leaves the queue at `now` after a wait of `sojourn`; `left` bytes stay
    /// behind. After [`Verdict::Drop`] the next packet must be offered at the same time; there is one.
    pub(crate) fn leave(&mut self, now: Time, sojourn: Time, left: u64, capable: bool) -> Verdict {
        let too_long = self.is_too_long(now, sojourn, left);
        match std::mem::replace(&mut self.phase, Phase::Fresh) {
            Phase::Entered => return Verdict::Accept,
            Phase::Dropped if too_long => self.schedule_drop(self.drop_next),
            Phase::Fresh if !self.dropping && too_long => return self.enter(now, capable),
            _ => {}
        }
        self.dropping &= too_long;
        if !self.dropping || now < self.drop_next {
            return Verdict::Accept;
        }
        self.count = self.count.saturating_add(1);
        if self.marks(capable) {
            self.schedule_drop(self.drop_next);
            return Verdict::Mark;
        }
        self.phase = Phase::Dropped;
        Verdict::Drop
    }

    /// `ok_to_drop` of the RFC's `dodequeue`: waits have been above the target for an interval.
    fn is_too_long(&mut self, now: Time, sojourn: Time, left: u64) -> bool {
        if sojourn < self.config.target || left <= self.mtu {
            self.first_above = None;
            return false;
        }
        let due = *self.first_above.get_or_insert(now + self.config.interval);
        now >= due
    }

    /// Enters the drop state. If it was left not long ago, the rate of drops is taken up where it was.
    fn enter(&mut self, now: Time, capable: bool) -> Verdict {
        self.dropping = true;
        let delta = self.count.saturating_sub(self.last_count);
        let recent = now.saturating_sub(self.drop_next).as_ps() < 16 * self.config.interval.as_ps();
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.last_count = self.count;
        self.schedule_drop(now);
        if self.marks(capable) {
            return Verdict::Mark;
        }
        self.phase = Phase::Entered;
        Verdict::Drop
    }

    fn marks(&self, capable: bool) -> bool {
        self.config.ecn && capable
    }

    /// The control law: `from + interval / √count`, rounded down to a picosecond.
    fn schedule_drop(&mut self, from: Time) {
        let interval = u128::from(self.config.interval.as_ps());
        let step = (interval * interval / u128::from(self.count)).isqrt();
        self.drop_next = from + Time::from_ps(step as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    const MTU: u64 = 1500;

    fn config(ecn: bool) -> CodelConfig {
        CodelConfig { target: Time::from_ms(5), interval: Time::from_ms(100), ecn }
    }

    /// What became of a packet.
    type Fate = (u64, usize, Verdict);

    /// A packet of the trace: enqueued at (ps), bytes, ECN-capable.
    #[derive(Clone, Copy, Debug)]
    struct Item {
        at: u64,
        bytes: u64,
        capable: bool,
    }

    /// The queue of RFC 8289, section 5, in its own shape: `deque` takes packets until one may be sent.
    struct Oracle {
        queue: VecDeque<(usize, Item)>,
        ecn: bool,
        target: i128,
        interval: i128,
        first_above_time: i128,
        drop_next: i128,
        count: i128,
        lastcount: i128,
        dropping: bool,
        fates: Vec<Fate>,
    }

    impl Oracle {
        fn control_law(&self, t: i128) -> i128 {
            t + (self.interval as f64 / (self.count as f64).sqrt()) as i128
        }

        fn dodequeue(&mut self, now: i128) -> (Option<(usize, Item)>, bool) {
            let Some((number, item)) = self.queue.pop_front() else {
                self.first_above_time = 0;
                return (None, false);
            };
            let mut ok_to_drop = false;
            let bytes: u64 = self.queue.iter().map(|(_, item)| item.bytes).sum();
            if now - i128::from(item.at) < self.target || bytes <= MTU {
                self.first_above_time = 0;
            } else if self.first_above_time == 0 {
                self.first_above_time = now + self.interval;
            } else if now >= self.first_above_time {
                ok_to_drop = true;
            }
            (Some((number, item)), ok_to_drop)
        }

        fn drop_packet(&mut self, now: i128, packet: Option<(usize, Item)>) {
            self.fates.push((now as u64, packet.expect("dropped packets exist").0, Verdict::Drop));
        }

        fn can_mark(&self, packet: Option<(usize, Item)>) -> bool {
            self.ecn && packet.is_some_and(|(_, item)| item.capable)
        }

        fn deque(&mut self, now: i128) {
            let (mut packet, mut ok_to_drop) = self.dodequeue(now);
            let mut fate = Verdict::Accept;
            if self.dropping {
                if !ok_to_drop {
                    self.dropping = false;
                }
                while now >= self.drop_next && self.dropping {
                    self.count += 1;
                    if self.can_mark(packet) {
                        fate = Verdict::Mark;
                        self.drop_next = self.control_law(self.drop_next);
                        break;
                    }
                    self.drop_packet(now, packet);
                    (packet, ok_to_drop) = self.dodequeue(now);
                    if ok_to_drop {
                        self.drop_next = self.control_law(self.drop_next);
                    } else {
                        self.dropping = false;
                    }
                }
            } else if ok_to_drop {
                if self.can_mark(packet) {
                    fate = Verdict::Mark;
                } else {
                    self.drop_packet(now, packet);
                    (packet, _) = self.dodequeue(now);
                }
                self.dropping = true;
                let delta = self.count - self.lastcount;
                self.count = 1;
                if delta > 1 && now - self.drop_next < 16 * self.interval {
                    self.count = delta;
                }
                self.drop_next = self.control_law(now);
                self.lastcount = self.count;
            }
            if let Some((number, _)) = packet {
                self.fates.push((now as u64, number, fate));
            }
        }
    }

    /// Runs a trace through a link that takes `per_byte` ps a byte; `serve` sends one packet.
    fn play(items: &[Item], per_byte: u64, mut serve: impl FnMut(u64, &mut VecDeque<(usize, Item)>) -> u64) {
        let (mut queue, mut next, mut now) = (VecDeque::new(), 0, 0);
        while next < items.len() || !queue.is_empty() {
            if queue.is_empty() {
                now = now.max(items[next].at);
            }
            while next < items.len() && items[next].at <= now {
                queue.push_back((next, items[next]));
                next += 1;
            }
            now += serve(now, &mut queue) * per_byte;
        }
    }

    fn by_the_rfc(items: &[Item], per_byte: u64, config: CodelConfig) -> Vec<Fate> {
        let mut oracle = Oracle {
            queue: VecDeque::new(),
            ecn: config.ecn,
            target: config.target.as_ps().into(),
            interval: config.interval.as_ps().into(),
            first_above_time: 0,
            drop_next: 0,
            count: 0,
            lastcount: 0,
            dropping: false,
            fates: Vec::new(),
        };
        play(items, per_byte, |now, queue| {
            std::mem::swap(queue, &mut oracle.queue);
            oracle.deque(now.into());
            std::mem::swap(queue, &mut oracle.queue);
            items[oracle.fates.last().expect("a packet was there").1].bytes
        });
        oracle.fates
    }

    fn ours(items: &[Item], per_byte: u64, config: CodelConfig) -> Vec<Fate> {
        let mut codel = Codel::new(config, MTU as u32);
        let mut fates = Vec::new();
        play(items, per_byte, |now, queue| {
            loop {
                let (number, item) = queue.pop_front().expect("a packet is left after a drop");
                let left = queue.iter().map(|(_, item)| item.bytes).sum();
                let verdict =
                    codel.leave(Time::from_ps(now), Time::from_ps(now - item.at), left, item.capable);
                fates.push((now, number, verdict));
                if verdict != Verdict::Drop {
                    return item.bytes;
                }
            }
        });
        fates
    }

    /// Phases of load: how many packets, how far apart (ps).
    fn trace() -> impl Strategy<Value = Vec<Item>> {
        let phase = (1usize..300, 1u64..3_000_000_000, 40u64..=MTU, 0u8..3);
        proptest::collection::vec(phase, 1..8).prop_map(|phases| {
            let (mut at, mut items) = (1, Vec::new());
            for (packets, gap, bytes, kind) in phases {
                for i in 0..packets as u64 {
                    let capable = kind == 1 || (kind == 2 && i % 3 == 0);
                    items.push(Item { at, bytes, capable });
                    at += gap;
                }
            }
            items
        })
    }

    proptest! {
        #[test]
        fn drops_and_marks_as_the_rfcs_pseudo_code(
            items in trace(), per_byte in 100_000u64..4_000_000, ecn in any::<bool>(), fast in any::<bool>()
        ) {
            let config = if fast {
                CodelConfig { target: Time::from_ms(1), interval: Time::from_ms(20), ecn }
            } else {
                config(ecn)
            };
            prop_assert_eq!(ours(&items, per_byte, config), by_the_rfc(&items, per_byte, config));
        }
    }

    /// A queue that never gets shorter: a packet of 1500 B leaves every millisecond after 50 ms.
    fn standing(codel: &mut Codel, from_ms: u64, to_ms: u64, capable: bool) -> Vec<(u64, Verdict)> {
        let mut hits = Vec::new();
        for ms in from_ms..to_ms {
            loop {
                let verdict = codel.leave(Time::from_ms(ms), Time::from_ms(50), 75_000, capable);
                if verdict != Verdict::Accept {
                    hits.push((ms, verdict));
                }
                if verdict != Verdict::Drop {
                    break;
                }
            }
        }
        hits
    }

    #[test]
    fn drops_come_at_the_times_of_the_control_law() {
        // First above at 0, so the first drop is at 100 ms, the next ones 100/√1, 100/√2, 100/√3… ms later:
        // at 200, 270.7, 328.4, 378.4, 423.2 ms, seen at the next whole millisecond.
        let hits = standing(&mut Codel::new(config(false), 1500), 0, 424, false);
        assert_eq!(hits, [100, 200, 271, 329, 379].map(|ms| (ms, Verdict::Drop)));
    }

    #[test]
    fn capable_packets_are_marked_at_the_same_times() {
        let hits = standing(&mut Codel::new(config(true), 1500), 0, 424, true);
        assert_eq!(hits, [100, 200, 271, 329, 379].map(|ms| (ms, Verdict::Mark)));
        assert_eq!(standing(&mut Codel::new(config(true), 1500), 0, 101, false), [(100, Verdict::Drop)]);
    }

    #[test]
    fn below_the_target_nothing_happens_and_the_rate_of_drops_is_remembered() {
        let mut codel = Codel::new(config(false), 1500);
        for ms in 0..1000 {
            assert_eq!(
                codel.leave(Time::from_ms(ms), Time::from_ps(4_999_999_999), 75_000, false),
                Verdict::Accept
            );
            assert_eq!(codel.leave(Time::from_ms(ms), Time::from_ms(50), 1500, false), Verdict::Accept);
        }
        // Five drops, then one good packet ends the state; 100 ms later it takes up at count 5 − 1 = 4:
        // the drop after the first comes 100/√4 = 50 ms later.
        assert_eq!(standing(&mut codel, 1000, 1424, false).len(), 5);
        codel.leave(Time::from_ms(1424), Time::from_ms(1), 75_000, false);
        let hits = standing(&mut codel, 1425, 1600, false);
        assert_eq!(hits, [(1525, Verdict::Drop), (1575, Verdict::Drop)]);
    }
}
