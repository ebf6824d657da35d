//! Controlled delay on the queue of walkers: RFC 8289, sections 4 and 5, with a walker in place of a packet.
//! It looks at how long walkers have waited when they are taken out of the queue, and drops there.
//!
//! A queue of one is never too long, as the RFC's queue of one MTU. There is nothing to mark.

use serde::{Deserialize, Serialize};
use units::Time;

/// CoDel's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodelSettings {
    /// `TARGET`: a standing wait up to this is accepted.
    pub target: Time,
    /// `INTERVAL`: waits above the target for so long are a standing queue.
    pub interval: Time,
}

impl Default for CodelSettings {
    /// The RFC's ratio of 1 to 20, at the scale of walkers: a millisecond, and twenty.
    fn default() -> CodelSettings {
        CodelSettings { target: Time::from_ms(1), interval: Time::from_ms(20) }
    }
}

/// CoDel at one queue.
#[derive(Clone, Debug)]
pub(crate) struct Codel {
    settings: CodelSettings,
    first_above: Option<Time>,
    drop_next: Time,
    count: u64,
    last_count: u64,
    dropping: bool,
}

impl Codel {
    pub(crate) fn new(settings: CodelSettings) -> Codel {
        let (count, last_count) = (0, 0);
        Codel { settings, first_above: None, drop_next: Time::ZERO, count, last_count, dropping: false }
    }

    /// The RFC's `deque`: takes the next item that may be served. `take` gives an item, when it came, and how
    /// many are left behind it; what is dropped goes to `dropped`.
    pub(crate) fn dequeue<T>(
        &mut self,
        now: Time,
        mut take: impl FnMut() -> Option<(Time, T, usize)>,
        mut dropped: impl FnMut(T),
    ) -> Option<T> {
        let (mut item, mut too_long) = self.look(now, take());
        if self.dropping {
            self.dropping = too_long;
            while self.dropping && now >= self.drop_next {
                item.map(&mut dropped);
                self.count += 1;
                (item, too_long) = self.look(now, take());
                self.dropping = too_long;
                if too_long {
                    self.schedule(self.drop_next);
                }
            }
        } else if too_long {
            item.map(&mut dropped);
            (item, _) = self.look(now, take());
            self.dropping = true;
            let delta = self.count - self.last_count;
            let recent = now.saturating_sub(self.drop_next) < self.settings.interval.saturating_mul(16);
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.schedule(now);
            self.last_count = self.count;
        }
        item
    }

    /// The RFC's `dodequeue`: whether waits have been above the target for an interval.
    fn look<T>(&mut self, now: Time, taken: Option<(Time, T, usize)>) -> (Option<T>, bool) {
        let Some((came, item, left)) = taken else {
            self.first_above = None;
            return (None, false);
        };
        if now.saturating_sub(came) < self.settings.target || left <= 1 {
            self.first_above = None;
            return (Some(item), false);
        }
        let due = *self.first_above.get_or_insert(now + self.settings.interval);
        (Some(item), now >= due)
    }

    /// The control law: `from + interval / √count`.
    fn schedule(&mut self, from: Time) {
        let interval = u128::from(self.settings.interval.as_ps());
        self.drop_next = from + Time::from_ps((interval * interval / u128::from(self.count)).isqrt() as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Serves one walker a millisecond from a queue whose items have all waited for `wait`; when drops came.
    fn standing(codel: &mut Codel, ms: std::ops::Range<u64>, wait: Time, left: usize) -> Vec<u64> {
        let mut drops = Vec::new();
        for at in ms {
            let now = Time::from_ms(at);
            codel.dequeue(now, || Some((now.saturating_sub(wait), (), left)), |()| drops.push(at));
        }
        drops
    }

    fn codel() -> Codel {
        Codel::new(CodelSettings { target: Time::from_ms(5), interval: Time::from_ms(100) })
    }

    #[test]
    fn drops_come_at_the_times_of_the_control_law() {
        // First above at 1000, so the first drop is at 1100 ms, the next 100/√1, 100/√2, 100/√3… ms later.
        let drops = standing(&mut codel(), 1000..1424, Time::from_ms(50), 50);
        assert_eq!(drops, [1100, 1200, 1271, 1329, 1379]);
    }

    #[test]
    fn nothing_is_dropped_below_the_target_or_from_a_queue_of_one() {
        assert!(standing(&mut codel(), 1000..3000, Time::from_us(4999), 50).is_empty());
        assert!(standing(&mut codel(), 1000..3000, Time::from_ms(50), 1).is_empty());
    }

    #[test]
    fn the_rate_of_drops_is_remembered() {
        // Five drops, then one good walker ends the state; a standing queue again takes up at count 5 − 1 =
        // 4.
        let mut codel = codel();
        standing(&mut codel, 1000..1424, Time::from_ms(50), 50);
        standing(&mut codel, 1424..1425, Time::from_ms(1), 50);
        assert_eq!(standing(&mut codel, 1425..1600, Time::from_ms(50), 50), [1525, 1575]);
    }
}
