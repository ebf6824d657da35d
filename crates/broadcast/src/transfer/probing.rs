//! Measures hosts with unknown rates: each is sent a few chunks while nothing else leaves the source.
//!
//! A train of consecutive chunks arrives at the rate of the slowest link on its path (packet trains: Jain and
//! Routhier 1986; dispersion: Dovrolis, Ramanathan and Moore 2004), and their confirmations show that rate.
//! The chunks are part of the file, with different ones for each host. Until then a host is no other's
//! parent: it could be the slow one.
//!
//! Rates that are nearly equal are treated as equal, since a plan would make trees of every difference.

use crate::topology::RATE_MAX;
use process::HostId;
use std::collections::BTreeMap;
use units::Time;

/// A train has so many chunks; its first and last confirmation are so far apart, or more of them follow.
const CHUNKS: u32 = 4;
const LEAST_TIME: Time = Time::from_ms(4);
const HALF_TIME: Time = Time::from_ms(2);
const MOST_CHUNKS: u32 = 32;
/// Whatever has come of a train by then is what its host can.
const MOST_TIME: Time = Time::from_ms(200);
/// Others wait for a train for so many times as long as the fastest has taken: a slow host takes little of
/// what the source can send.
const PATIENCE: u64 = 3;
/// Rates of this part of the highest of a group belong to it, in percent.
const ALIKE_PERCENT: u64 = 88;

/// Chunks that are on their way to one host.
#[derive(Clone, Copy, Debug)]
struct Train {
    began: Time,
    /// Others may be sent to then, whatever has come.
    alone: Time,
    sent: u32,
    /// It is to have so many chunks.
    most: u32,
    /// Confirmed before it began, or with its first chunk.
    before: u32,
    /// When its first chunk was confirmed, and how many have been since.
    first: Option<Time>,
    came: u32,
    /// Others wait for it.
    leaves: bool,
}

/// What is known of hosts, and which of them is being probed.
#[derive(Debug, Default)]
pub(crate) struct Probing {
    /// Bytes of a chunk.
    chunk: u64,
    /// In bit/s.
    rates: BTreeMap<HostId, u64>,
    trains: BTreeMap<HostId, Train>,
    /// Hosts that are in a plan with their rates, and whether they still have to take up the first such plan.
    planned: BTreeMap<HostId, bool>,
    /// A timer is set for then.
    pub timer: Option<Time>,
    /// The time that the fastest train took.
    fastest: Option<Time>,
}

impl Probing {
    /// Nothing is known; chunks are of `chunk` bytes.
    pub(crate) fn new(chunk: u64) -> Probing {
        Probing { chunk, ..Probing::default() }
    }

    /// Whether nothing is known of a host.
    pub(crate) fn is_unknown(&self, host: HostId) -> bool {
        !self.rates.contains_key(&host)
    }

    /// Whether nothing is known of a host and its train has not left.
    pub(crate) fn awaits(&self, host: HostId) -> bool {
        self.is_unknown(host) && self.trains.get(&host).is_none_or(|train| train.leaves)
    }

    /// Whether a chunk may go to a host: no train is leaving, or it is the host's. If nothing is known of it,
    /// its train begins.
    pub(crate) fn may_send(&mut self, host: HostId, got: u32, now: Time) -> bool {
        if self.planned.get(&host) == Some(&true) {
            return false;
        }
        if let Some(train) = self.trains.get(&host) {
            return train.sent < train.most;
        }
        if self.trains.values().any(|train| train.leaves) {
            return false;
        }
        if self.is_unknown(host) {
            let patience =
                self.fastest.map_or(MOST_TIME, |time| time.saturating_mul(PATIENCE).min(MOST_TIME));
            let alone = now.saturating_add(patience);
            let (before, first) = (got, None);
            let train =
                Train { began: now, alone, sent: 0, most: CHUNKS, before, first, came: 0, leaves: true };
            self.trains.insert(host, train);
        }
        true
    }

    /// A plan is made for hosts whose rates are known. A host asked the source for everything before its
    /// first such plan: nothing more of that is sent until the host has asked by the plan.
    pub(crate) fn planned(&mut self, hosts: &[HostId]) {
        hosts.iter().for_each(|host| {
            self.planned.entry(*host).or_insert(true);
        });
    }

    /// A host asks by the latest plan.
    pub(crate) fn takes_up(&mut self, host: HostId) {
        if let Some(waits) = self.planned.get_mut(&host) {
            *waits = false;
        }
    }

    /// A chunk has left for a host.
    pub(crate) fn sent(&mut self, host: HostId) {
        if let Some(train) = self.trains.get_mut(&host) {
            train.sent += 1;
        }
    }

    /// A host has confirmed so many chunks in all. True when others may be sent to.
    pub(crate) fn got(&mut self, host: HostId, got: u32, now: Time) -> bool {
        let Some(train) = self.trains.get_mut(&host) else { return false };
        let Some(first) = train.first else {
            (train.first, train.before) = (Some(now), got);
            return false;
        };
        train.came = got.saturating_sub(train.before);
        if train.came + 1 < train.most {
            // The next may begin while the last one is on its way.
            let nearly = train.came + 2 == train.most && now >= first.saturating_add(HALF_TIME);
            return nearly && std::mem::take(&mut train.leaves);
        }
        if now < first.saturating_add(LEAST_TIME) && train.most < MOST_CHUNKS {
            // They came too fast to say how fast: some more.
            train.most *= 2;
            return false;
        }
        self.fastest = Some(self.fastest.unwrap_or(MOST_TIME).min(now.saturating_sub(train.began)));
        self.end(host, now);
        true
    }

    /// Ends trains that take too long, and lets others pass. True when there was one.
    pub(crate) fn expire(&mut self, now: Time) -> bool {
        let mut passed = false;
        for train in self.trains.values_mut().filter(|train| now >= train.alone) {
            passed |= std::mem::take(&mut train.leaves);
        }
        let late = |(host, train): (&HostId, &Train)| {
            (now >= train.began.saturating_add(MOST_TIME)).then_some(*host)
        };
        let late: Vec<HostId> = self.trains.iter().filter_map(late).collect();
        late.iter().for_each(|host| self.end(*host, now));
        passed || !late.is_empty()
    }

    /// When the next of the trains is to be looked at.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let end =
            |train: &Train| if train.leaves { train.alone } else { train.began.saturating_add(MOST_TIME) };
        self.trains.values().map(end).min()
    }

    /// A host is gone, and may come back another.
    pub(crate) fn forget(&mut self, host: HostId) {
        self.rates.remove(&host);
        self.trains.remove(&host);
        self.planned.remove(&host);
    }

    fn end(&mut self, host: HostId, now: Time) {
        let Some(train) = self.trains.remove(&host) else { return };
        // Of one that has confirmed nothing more than its first chunk, the time of that counts.
        let (chunks, since) = match train.first {
            Some(first) if train.came > 0 => (train.came, first),
            _ => (1, train.began),
        };
        let time = u128::from(now.saturating_sub(since).as_us().max(1));
        let rate = u128::from(chunks) * u128::from(self.chunk) * 8_000_000 / time;
        self.rates.insert(host, u64::try_from(rate).unwrap_or(u64::MAX).clamp(1, RATE_MAX as u64));
    }

    /// The rate of each host that was looked at, in bit/s; those that are alike have one.
    pub(crate) fn rates(&self) -> BTreeMap<HostId, u64> {
        let mut sorted: Vec<(u64, HostId)> = self.rates.iter().map(|(host, rate)| (*rate, *host)).collect();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        let mut rest = &sorted[..];
        let mut rates = BTreeMap::new();
        while let Some((highest, _)) = rest.first() {
            let alike =
                |rate: u64| u128::from(rate) * 100 >= u128::from(*highest) * u128::from(ALIKE_PERCENT);
            let (group, slower) = rest.split_at(rest.partition_point(|(rate, _)| alike(*rate)));
            let middle = group[group.len() / 2].0;
            rates.extend(group.iter().map(|(_, host)| (*host, middle)));
            rest = slower;
        }
        rates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNK: u64 = 10_000;
    const A: HostId = HostId(1);
    const B: HostId = HostId(2);

    /// Sends a train to a host whose chunks take so long; when it is over.
    fn train(probing: &mut Probing, host: HostId, each: Time, from: Time) -> Time {
        let mut now = from;
        for got in 0.. {
            if got > 0 {
                probing.got(host, got, now);
            }
            probing.expire(now);
            if !probing.is_unknown(host) {
                return now;
            }
            if probing.may_send(host, got, now) {
                probing.sent(host);
            }
            now += each;
        }
        unreachable!()
    }

    #[test]
    fn one_train_leaves_at_a_time() {
        let mut probing = Probing::new(CHUNK);
        for _ in 0..CHUNKS {
            assert!(probing.may_send(A, 0, Time::ZERO) && !probing.may_send(B, 0, Time::ZERO));
            probing.sent(A);
        }
        assert!(!probing.may_send(A, 0, Time::ZERO) && !probing.may_send(B, 0, Time::ZERO));
        let now = train(&mut probing, B, Time::from_ms(4), Time::from_ms(200));
        assert!(!probing.is_unknown(A) && !probing.is_unknown(B));
        assert!(probing.may_send(A, 9, now) && probing.may_send(B, 9, now));
        probing.forget(B);
        assert!(probing.may_send(B, 0, now) && !probing.may_send(A, 9, now));
        // A fast one has been seen: for one that is slower than that by far nobody waits.
        assert!(probing.expire(now + Time::from_ms(60)) && probing.may_send(A, 9, now));
    }

    #[test]
    fn rates_are_those_of_confirmations() {
        let mut probing = Probing::new(CHUNK);
        train(&mut probing, A, Time::from_ms(4), Time::ZERO);
        let over = train(&mut probing, B, Time::from_ms(50), Time::from_secs(1));
        assert!(over <= Time::from_ms(1250), "{over:?}");
        let rates = probing.rates();
        assert_eq!(rates[&A], 20_000_000);
        assert!((1_000_000..2_200_000).contains(&rates[&B]), "{rates:?}");
        // One that confirms nothing costs no more time than that.
        let mut silent = Probing::new(CHUNK);
        assert!(silent.may_send(A, 0, Time::ZERO));
        assert!(!silent.expire(Time::from_ms(199)) && silent.expire(Time::from_ms(200)));
        assert!(silent.rates()[&A] <= 400_000);
    }

    #[test]
    fn rates_that_are_alike_are_one() {
        let rates = [30, 28, 27, 25, 10, 9, 3].map(|mbps| mbps * 1_000_000);
        let known = (1..).map(HostId).zip(rates).collect();
        let probing = Probing { rates: known, ..Probing::default() };
        let grouped: Vec<u64> = probing.rates().into_values().map(|rate| rate / 1_000_000).collect();
        assert_eq!(grouped, [28, 28, 28, 25, 9, 9, 3]);
    }
}
