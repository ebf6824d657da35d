//! RG: how fast a source generates walkers (document 000, *RG*). Before each batch it looks for losses;
//! unless the last `x` looks found none, it sleeps. A loss resets the count.
//!
//! The document's sleep is fixed: 1 ns, which on Linux is 50 to 70 µs (timer slack). Two others are settings:
//! one that grows and shrinks by steps, one that halves the rate and adds to it.

use serde::{Deserialize, Serialize};
use units::{Problem, Time, in_range};

/// When a source sleeps, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sleep {
    /// Never: the document's *sleep0*.
    Never,
    /// Always, for the same time: *sleep1*.
    Always,
    /// For the same time, unless the last checks saw no loss: *RG*.
    Fixed,
    /// Unless the last checks saw no loss. A sleep grows by its step with each check that saw a loss, up to
    /// the longest, and shrinks by it with each run of checks that saw none.
    Additive,
    /// Additive increase, multiplicative decrease of the rate: a sleep doubles with each check that saw a
    /// loss, up to the longest; each run of checks that saw none adds to the rate what one step stands for at
    /// the longest sleep.
    Aimd,
}

/// How a source generates walkers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generation {
    /// When it sleeps.
    pub sleep: Sleep,
    /// Checks without a loss after which it sleeps no more: the document's x.
    pub checks: u32,
    /// Length of a sleep, or of its step.
    pub time: Time,
    /// Longest sleep, where it varies.
    pub max: Time,
    /// Walkers between two checks.
    pub batch: u32,
    /// Most walkers of a source that are under way; nothing: any number, as in the document. It stops a
    /// source whose walkers wait elsewhere before any is lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under_way: Option<u64>,
}

impl Default for Generation {
    /// The document's: x = 3, a walker a check; and its sleep as long as it is on Linux.
    fn default() -> Generation {
        let time = Time::from_us(69);
        Generation { sleep: Sleep::Fixed, checks: 3, time, max: time, batch: 1, under_way: None }
    }
}

impl Generation {
    /// Refuses what can't work.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        in_range("batch", self.batch, 1..=1 << 20)?;
        self.under_way.map_or(Ok(()), |most| in_range("under_way", most, 1..=1 << 40))?;
        if !matches!(self.sleep, Sleep::Never | Sleep::Always) {
            in_range("checks", self.checks, 1..=1 << 20)?;
        }
        if self.sleep != Sleep::Never && self.time == Time::ZERO {
            return Err(Problem::new("time", "0s: a sleep is above zero"));
        }
        if matches!(self.sleep, Sleep::Additive | Sleep::Aimd) && self.max < self.time {
            return Err(Problem::new("max", format!("{}: at least a sleep of {}", self.max, self.time)));
        }
        Ok(())
    }
}

/// RG's state.
#[derive(Clone, Debug)]
pub(crate) struct Generator {
    settings: Generation,
    /// Checks in a row that saw no loss.
    clean: u32,
    /// Checks that saw none since the sleep was last shortened.
    run: u32,
    /// The present sleep, for those that vary.
    sleep: Time,
}

impl Generator {
    pub(crate) fn new(settings: Generation) -> Generator {
        Generator { settings, clean: 0, run: 0, sleep: settings.time }
    }

    pub(crate) fn batch(&self) -> u32 {
        self.settings.batch
    }

    /// How many more walkers may set out while so many are under way.
    pub(crate) fn room(&self, under_way: u64) -> u64 {
        self.settings.under_way.map_or(u64::MAX, |most| most.saturating_sub(under_way))
    }

    /// Whether a check that finds no loss changes nothing, and means no sleep.
    #[inline]
    pub(crate) fn is_calm(&self) -> bool {
        match self.settings.sleep {
            Sleep::Never => true,
            Sleep::Fixed => self.clean >= self.settings.checks,
            Sleep::Always | Sleep::Additive | Sleep::Aimd => false,
        }
    }

    /// A check has been made: how long to sleep before the next batch; nothing means not at all.
    pub(crate) fn check(&mut self, loss: bool) -> Option<Time> {
        self.clean = if loss { 0 } else { self.clean.saturating_add(1) };
        let Generation { sleep, checks, time, max, .. } = self.settings;
        match sleep {
            Sleep::Never => None,
            Sleep::Always => Some(time),
            Sleep::Fixed => (self.clean < checks).then_some(time),
            Sleep::Additive => self.vary(loss, |sleep, step| sleep + step, Time::saturating_sub),
            Sleep::Aimd => {
                // A rate of 1 / sleep, and a step of it of 1 / max; rounded up, so that whole steps stay
                // whole.
                let faster = |sleep: Time, step: Time| {
                    let next = sleep.mul_div(max.as_ps(), (max + sleep).as_ps()) + Time::from_ps(1);
                    if next < step { Time::ZERO } else { next }
                };
                self.vary(loss, |sleep, step| sleep.max(step).saturating_mul(2), faster)
            }
        }
    }

    fn vary(
        &mut self,
        loss: bool,
        slower: impl Fn(Time, Time) -> Time,
        faster: impl Fn(Time, Time) -> Time,
    ) -> Option<Time> {
        self.run = if loss { 0 } else { self.run + 1 };
        if loss {
            self.sleep = slower(self.sleep, self.settings.time).min(self.settings.max);
        } else if self.run >= self.settings.checks {
            self.run = 0;
            self.sleep = faster(self.sleep, self.settings.time);
        }
        (self.sleep > Time::ZERO).then_some(self.sleep)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeps(settings: Generation, losses: &[bool]) -> Vec<u64> {
        let mut generator = Generator::new(settings);
        losses.iter().map(|loss| generator.check(*loss).map_or(0, Time::as_us)).collect()
    }

    const CLEAN: bool = false;
    const LOSS: bool = true;

    #[test]
    fn the_documents_source_sleeps_until_three_checks_saw_no_loss() {
        let checks = [CLEAN, CLEAN, CLEAN, CLEAN, LOSS, CLEAN, CLEAN, CLEAN];
        assert_eq!(sleeps(Generation::default(), &checks), [69, 69, 0, 0, 69, 69, 69, 0]);
        let mut generator = Generator::new(Generation::default());
        let calm = checks.map(|loss| {
            generator.check(loss);
            generator.is_calm()
        });
        assert_eq!(calm, [false, false, true, true, false, false, false, true]);
    }

    #[test]
    fn sleep0_and_sleep1_look_at_nothing() {
        let always = |sleep| Generation { sleep, ..Generation::default() };
        assert_eq!(sleeps(always(Sleep::Never), &[LOSS, CLEAN]), [0, 0]);
        assert_eq!(sleeps(always(Sleep::Always), &[LOSS, CLEAN, CLEAN, CLEAN]), [69; 4]);
    }

    #[test]
    fn an_additive_sleep_goes_up_and_down_by_steps() {
        let time = Time::from_us(10);
        let (sleep, max) = (Sleep::Additive, Time::from_us(30));
        let settings = Generation { sleep, checks: 2, time, max, ..Generation::default() };
        let checks = [LOSS, LOSS, LOSS, CLEAN, CLEAN, CLEAN, CLEAN, CLEAN, CLEAN];
        assert_eq!(sleeps(settings, &checks), [20, 30, 30, 30, 20, 20, 10, 10, 0]);
    }

    #[test]
    fn aimd_halves_the_rate_and_adds_to_it() {
        let time = Time::from_us(10);
        let (sleep, max) = (Sleep::Aimd, Time::from_us(80));
        let settings = Generation { sleep, checks: 1, time, max, ..Generation::default() };
        // Rates are 1/80, 2/80, 3/80… after losses have brought the sleep to 80.
        let checks = [LOSS, LOSS, LOSS, CLEAN, CLEAN, CLEAN, CLEAN, CLEAN, CLEAN, CLEAN, CLEAN];
        assert_eq!(sleeps(settings, &checks), [20, 40, 80, 40, 26, 20, 16, 13, 11, 10, 0]);
    }
}
