//! When a walker counts as lost (document 000, *RG*): by timeout, if its age lies in a window and its end has
//! not been confirmed; at once, if the server where it was born dropped it.
//!
//! The window is a fixed range of ages, or [T, 2T]. T follows how long walks take to be confirmed, as RFC
//! 6298 (section 2) follows round trips: `T = srtt + 4 · rttvar`, with a floor. Attempts carry the time of
//! their generation, so each confirmation is a sample, late ones too (as RFC 7323's timestamps; Karn's rule
//! is not needed).

use crate::ledger::{Entry, Ledger};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::Time;

/// The settings of loss detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LossSettings {
    /// T before the first walk has been confirmed.
    pub initial: Time,
    /// Least T.
    pub floor: Time,
    /// Instead of [T, 2T]: the window's least and greatest age.
    pub window: Option<(Time, Time)>,
    /// An unconfirmed walker slows generation down at every check as long as it is in the window, and is
    /// given up when the window has passed. Otherwise the first check that finds it there gives it up.
    pub repeated: bool,
    /// A walker dropped on the server where it was born is known to be lost at once.
    pub direct: bool,
    /// Servers tell others of walkers that they drop. Beyond the document.
    pub remote: bool,
    /// A walk is given up once so many attempts at it became overdue. Beyond the document. Scenarios of
    /// earlier versions don't say it: they knew no end.
    #[serde(default = "endless")]
    pub attempts: u16,
}

fn endless() -> u16 {
    u16::MAX
}

impl Default for LossSettings {
    /// The document's, where it says; RFC 6298's first timeout; a floor of 10 ms.
    fn default() -> LossSettings {
        LossSettings {
            initial: Time::from_secs(1),
            floor: Time::from_ms(10),
            window: None,
            repeated: false,
            direct: true,
            remote: false,
            attempts: 1000,
        }
    }
}

/// How long walks take.
#[derive(Clone, Copy, Debug, Default)]
struct Estimate {
    srtt: Time,
    rttvar: Time,
}

impl Estimate {
    /// RFC 6298, section 2: α = 1/8, β = 1/4.
    fn add(&mut self, sample: Time) {
        let r = sample.as_ps();
        if self.srtt == Time::ZERO {
            (self.srtt, self.rttvar) = (sample, Time::from_ps(r / 2));
            return;
        }
        let (srtt, rttvar) = (self.srtt.as_ps(), self.rttvar.as_ps());
        self.rttvar = Time::from_ps(rttvar - rttvar / 4 + srtt.abs_diff(r) / 4);
        self.srtt = Time::from_ps(srtt - srtt / 8 + r / 8);
    }
}

/// Attempts of one number at walks that follow one another in the ledger, generated at the same time.
#[derive(Clone, Copy, Debug)]
struct Litter {
    born: Time,
    first: Entry,
    count: u32,
    attempt: u16,
}

/// Walkers on their way, and those that have become overdue.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    settings: LossSettings,
    estimate: Estimate,
    /// In order of birth.
    under_way: VecDeque<Litter>,
}

impl Watch {
    pub(crate) fn new(settings: LossSettings) -> Watch {
        Watch { settings, estimate: Estimate::default(), under_way: VecDeque::new() }
    }

    /// T: the age at which the window begins.
    pub(crate) fn timeout(&self) -> Time {
        if let Some((from, _)) = self.settings.window {
            return from;
        }
        let Estimate { srtt, rttvar } = self.estimate;
        if srtt == Time::ZERO {
            self.settings.initial
        } else {
            (srtt + rttvar.saturating_mul(4)).max(self.settings.floor)
        }
    }

    /// Walkers set out: `count` of them from `first` on.
    pub(crate) fn born(&mut self, now: Time, first: Entry, count: u32, attempt: u16) {
        match self.under_way.back_mut() {
            Some(last)
                if (last.born, last.attempt, last.first.plus(last.count)) == (now, attempt, first)
                    && last.count <= u32::MAX - count =>
            {
                last.count += count;
            }
            _ => self.under_way.push_back(Litter { born: now, first, count, attempt }),
        }
    }

    /// A walk has been confirmed `age` after its generation.
    pub(crate) fn confirmed(&mut self, age: Time) {
        self.estimate.add(age.max(Time::from_ps(1)));
    }

    /// Gives up those that are overdue. Returns how many, and whether generation is to slow down for them:
    /// those that nobody looked for until their window had passed are generated again, but say nothing of
    /// now.
    pub(crate) fn check(&mut self, now: Time, ledger: &mut Ledger) -> (u64, bool) {
        let (timeout, longest) = (self.timeout(), self.longest());
        let overdue = if self.settings.repeated { longest } else { timeout };
        let (mut lost, mut signal) = (0, false);
        while let Some(&Litter { born, first, count, attempt }) = self.under_way.front() {
            let age = now.saturating_sub(born);
            if age < overdue {
                break;
            }
            self.under_way.pop_front();
            let given_up = ledger.time_out_all(first, count, attempt);
            lost += given_up;
            signal |= given_up > 0 && age <= longest;
        }
        (lost, signal || self.settings.repeated && self.is_in_window(now, timeout, ledger))
    }

    /// Whether a walker is old enough for the window and not confirmed. Forgets those before it that nobody
    /// waits for.
    fn is_in_window(&mut self, now: Time, timeout: Time, ledger: &Ledger) -> bool {
        while let Some(litter) = self.under_way.front_mut().filter(|l| now.saturating_sub(l.born) >= timeout)
        {
            if ledger.is_under_way(litter.first, litter.attempt) {
                return true;
            }
            litter.first = litter.first.plus(1);
            litter.count -= 1;
            if litter.count == 0 {
                self.under_way.pop_front();
            }
        }
        false
    }

    /// The age at which the window ends.
    fn longest(&self) -> Time {
        self.settings.window.map_or_else(|| self.timeout().saturating_mul(2), |(_, to)| to)
    }

    /// When the next walker may become overdue; nothing if none is on its way.
    pub(crate) fn due(&self) -> Option<Time> {
        let overdue = if self.settings.repeated { self.longest() } else { self.timeout() };
        self.under_way.front().map(|litter| litter.born.saturating_add(overdue))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(repeated: bool) -> (Watch, Ledger) {
        let settings = LossSettings { repeated, ..LossSettings::default() };
        (Watch::new(settings), Ledger::new(vec![0], 10, u16::MAX, true))
    }

    #[test]
    fn the_timeout_follows_rfc_6298_with_a_floor() {
        let (mut watch, _) = setup(false);
        assert_eq!(watch.timeout(), Time::from_secs(1));
        watch.confirmed(Time::from_ms(1));
        assert_eq!(watch.timeout(), Time::from_ms(10), "1 + 4 · 0.5 is below the floor");
        watch.confirmed(Time::from_ms(81));
        // rttvar = 3/4 · 0.5 + 1/4 · 80 = 20.375; srtt = 7/8 + 81/8 = 11: 92.5 ms.
        assert_eq!(watch.timeout(), Time::from_us(92_500));
    }

    #[test]
    fn a_walker_is_lost_once_its_age_is_in_the_window() {
        let (mut watch, mut ledger) = setup(false);
        let (entry, attempt) = ledger.begin_next().unwrap();
        watch.born(Time::ZERO, entry, 1, attempt);
        assert_eq!(watch.due(), Some(Time::from_secs(1)));
        assert_eq!(watch.check(Time::from_ms(999), &mut ledger), (0, false));
        assert_eq!(watch.check(Time::from_secs(1), &mut ledger), (1, true));
        assert_eq!(watch.check(Time::from_ms(1500), &mut ledger), (0, false));
        assert_eq!((ledger.begin_next(), watch.due()), (Some((entry, 2)), None));
    }

    #[test]
    fn repeated_it_slows_down_until_the_window_has_passed_and_then_gives_up() {
        let (mut watch, mut ledger) = setup(true);
        let (entry, attempt) = ledger.begin_next().unwrap();
        watch.born(Time::ZERO, entry, 1, attempt);
        assert_eq!(watch.due(), Some(Time::from_secs(2)));
        assert_eq!(watch.check(Time::from_ms(999), &mut ledger), (0, false));
        assert_eq!(watch.check(Time::from_secs(1), &mut ledger), (0, true));
        assert_eq!(watch.check(Time::from_ms(1999), &mut ledger), (0, true));
        assert_eq!(watch.check(Time::from_secs(2), &mut ledger), (1, true));
        assert_eq!(watch.check(Time::from_secs(2), &mut ledger), (0, false));
        assert_eq!(ledger.begin_next(), Some((entry, 2)));
    }

    #[test]
    fn repeated_it_slows_down_no_more_once_all_in_the_window_are_confirmed_or_dropped() {
        let (mut watch, mut ledger) = setup(true);
        let walkers: Vec<_> = (0..3).map(|_| ledger.begin_next().unwrap()).collect();
        walkers.iter().for_each(|&(entry, attempt)| watch.born(Time::ZERO, entry, 1, attempt));
        let now = Time::from_secs(1);
        assert_eq!(watch.check(now, &mut ledger), (0, true));
        ledger.end(walkers[0].0, walkers[0].1);
        ledger.end(walkers[2].0, walkers[2].1);
        assert_eq!(watch.check(now, &mut ledger), (0, true));
        ledger.lose(walkers[1].0, walkers[1].1);
        assert_eq!(watch.check(now, &mut ledger), (0, false));
        assert_eq!(watch.due(), None);
    }

    #[test]
    fn a_fixed_window_does_not_follow_how_long_walks_take() {
        let window = Some((Time::from_ms(2), Time::from_ms(15)));
        let mut watch = Watch::new(LossSettings { window, repeated: true, ..LossSettings::default() });
        let mut ledger = Ledger::new(vec![0], 10, u16::MAX, true);
        let (entry, attempt) = ledger.begin_next().unwrap();
        watch.born(Time::ZERO, entry, 1, attempt);
        watch.confirmed(Time::from_secs(1));
        assert_eq!(watch.timeout(), Time::from_ms(2));
        assert_eq!(watch.check(Time::from_us(1999), &mut ledger), (0, false));
        assert_eq!(watch.check(Time::from_ms(2), &mut ledger), (0, true));
        assert_eq!(watch.check(Time::from_us(14_999), &mut ledger), (0, true));
        assert_eq!(watch.check(Time::from_us(15_001), &mut ledger), (1, false));
    }

    #[test]
    fn what_is_found_after_the_window_is_lost_but_no_signal() {
        let (mut watch, mut ledger) = setup(false);
        let (entry, attempt) = ledger.begin_next().unwrap();
        watch.born(Time::ZERO, entry, 1, attempt);
        assert_eq!(watch.check(Time::from_ms(2001), &mut ledger), (1, false));
    }

    #[test]
    fn who_has_been_confirmed_is_not_lost() {
        let (mut watch, mut ledger) = setup(false);
        let (entry, attempt) = ledger.begin_next().unwrap();
        watch.born(Time::ZERO, entry, 1, attempt);
        ledger.end(entry, attempt);
        assert_eq!(watch.check(Time::from_secs(1), &mut ledger), (0, false));
    }
}
