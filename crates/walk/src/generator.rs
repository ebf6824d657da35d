//! RG: how fast a source generates walkers (document 000, *RG*). Before each batch it looks for losses;
//! unless the last `x` looks found none, it sleeps. A loss resets the count.
//!
//! The document's sleep is fixed: 1 ns, which on Linux is 50 to 70 µs (timer slack). Two others are settings:
//! one that grows and shrinks by steps, one that halves the rate and adds to it.

use units::Time;

/// When a source sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Never: the document's *sleep0*.
    Never,
    /// Always: *sleep1*.
    Always,
    /// Unless the last so many checks saw no loss: *RG*, with x = 3.
    AfterLoss(u32),
}

/// How long it sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sleep {
    /// Always the same.
    Fixed,
    /// Grows by the sleep's length with each check that saw a loss, up to `max`, and shrinks by it with each
    /// run of `x` checks that saw none.
    Additive {
        /// Longest.
        max: Time,
    },
    /// Additive increase, multiplicative decrease of the rate: doubles with each check that saw a loss, up to
    /// `max`; each run of `x` checks that saw none adds to the rate what one sleep's length stands for at
    /// `max`.
    Aimd {
        /// Longest.
        max: Time,
    },
}

/// The settings of generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeneratorSettings {
    /// When it sleeps.
    pub rule: Rule,
    /// How long it sleeps.
    pub sleep: Sleep,
    /// Length of a sleep, or of its step.
    pub time: Time,
    /// Walkers between two checks.
    pub batch: u32,
    /// Most walkers of a source that are under way; nothing: any number, as in the document. It stops a
    /// source whose walkers wait elsewhere before any is lost.
    pub window: Option<u64>,
}

impl Default for GeneratorSettings {
    /// The document's: x = 3, a walker a check; and its sleep as long as it is on Linux.
    fn default() -> GeneratorSettings {
        let time = Time::from_us(69);
        GeneratorSettings { rule: Rule::AfterLoss(3), sleep: Sleep::Fixed, time, batch: 1, window: None }
    }
}

/// RG's state.
#[derive(Clone, Debug)]
pub(crate) struct Generator {
    settings: GeneratorSettings,
    /// Checks in a row that saw no loss.
    clean: u32,
    /// Checks that saw none since the sleep was last shortened.
    run: u32,
    /// The present sleep, for those that vary.
    sleep: Time,
}

impl Generator {
    pub(crate) fn new(settings: GeneratorSettings) -> Generator {
        Generator { settings, clean: 0, run: 0, sleep: settings.time }
    }

    pub(crate) fn batch(&self) -> u32 {
        self.settings.batch
    }

    /// How many more walkers may set out while so many are under way.
    pub(crate) fn room(&self, under_way: u64) -> u64 {
        self.settings.window.map_or(u64::MAX, |window| window.saturating_sub(under_way))
    }

    /// Whether a check that finds no loss changes nothing, and means no sleep.
    #[inline]
    pub(crate) fn is_calm(&self) -> bool {
        match (self.settings.rule, self.settings.sleep) {
            (Rule::Never, _) => true,
            (Rule::AfterLoss(x), Sleep::Fixed) => self.clean >= x,
            _ => false,
        }
    }

    /// A check has been made: how long to sleep before the next batch; nothing means not at all.
    pub(crate) fn check(&mut self, loss: bool) -> Option<Time> {
        self.clean = if loss { 0 } else { self.clean.saturating_add(1) };
        let x = match self.settings.rule {
            Rule::Never => return None,
            Rule::Always => return Some(self.settings.time),
            Rule::AfterLoss(x) => x,
        };
        match self.settings.sleep {
            Sleep::Fixed => (self.clean < x).then_some(self.settings.time),
            Sleep::Additive { max } => {
                self.vary(loss, x, max, |sleep, step| sleep + step, Time::saturating_sub)
            }
            Sleep::Aimd { max } => {
                // A rate of 1 / sleep, and a step of it of 1 / max; rounded up, so that whole steps stay
                // whole.
                let faster = |sleep: Time, step: Time| {
                    let next = sleep.mul_div(max.as_ps(), (max + sleep).as_ps()) + Time::from_ps(1);
                    if next < step { Time::ZERO } else { next }
                };
                self.vary(loss, x, max, |sleep, step| sleep.max(step).saturating_mul(2), faster)
            }
        }
    }

    fn vary(
        &mut self,
        loss: bool,
        x: u32,
        max: Time,
        slower: impl Fn(Time, Time) -> Time,
        faster: impl Fn(Time, Time) -> Time,
    ) -> Option<Time> {
        self.run = if loss { 0 } else { self.run + 1 };
        if loss {
            self.sleep = slower(self.sleep, self.settings.time).min(max);
        } else if self.run >= x {
            self.run = 0;
            self.sleep = faster(self.sleep, self.settings.time);
        }
        (self.sleep > Time::ZERO).then_some(self.sleep)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeps(settings: GeneratorSettings, losses: &[bool]) -> Vec<u64> {
        let mut generator = Generator::new(settings);
        losses.iter().map(|loss| generator.check(*loss).map_or(0, Time::as_us)).collect()
    }

    const CLEAN: bool = false;
    const LOSS: bool = true;

    #[test]
    fn the_documents_source_sleeps_until_three_checks_saw_no_loss() {
        let checks = [CLEAN, CLEAN, CLEAN, CLEAN, LOSS, CLEAN, CLEAN, CLEAN];
        assert_eq!(sleeps(GeneratorSettings::default(), &checks), [69, 69, 0, 0, 69, 69, 69, 0]);
        let mut generator = Generator::new(GeneratorSettings::default());
        let calm = checks.map(|loss| {
            generator.check(loss);
            generator.is_calm()
        });
        assert_eq!(calm, [false, false, true, true, false, false, false, true]);
    }

    #[test]
    fn sleep0_and_sleep1_look_at_nothing() {
        let rule = |rule| GeneratorSettings { rule, ..GeneratorSettings::default() };
        assert_eq!(sleeps(rule(Rule::Never), &[LOSS, CLEAN]), [0, 0]);
        assert_eq!(sleeps(rule(Rule::Always), &[LOSS, CLEAN, CLEAN, CLEAN]), [69; 4]);
    }

    #[test]
    fn an_additive_sleep_goes_up_and_down_by_steps() {
        let time = Time::from_us(10);
        let sleep = Sleep::Additive { max: Time::from_us(30) };
        let settings =
            GeneratorSettings { sleep, time, rule: Rule::AfterLoss(2), ..GeneratorSettings::default() };
        let checks = [LOSS, LOSS, LOSS, CLEAN, CLEAN, CLEAN, CLEAN, CLEAN, CLEAN];
        assert_eq!(sleeps(settings, &checks), [20, 30, 30, 30, 20, 20, 10, 10, 0]);
    }

    #[test]
    fn aimd_halves_the_rate_and_adds_to_it() {
        let time = Time::from_us(10);
        let sleep = Sleep::Aimd { max: Time::from_us(80) };
        let settings =
            GeneratorSettings { sleep, time, rule: Rule::AfterLoss(1), ..GeneratorSettings::default() };
        // Rates are 1/80, 2/80, 3/80… after losses have brought the sleep to 80.
        let checks = [LOSS, LOSS, LOSS, CLEAN, CLEAN, CLEAN, CLEAN, CLEAN, CLEAN, CLEAN, CLEAN];
        assert_eq!(sleeps(settings, &checks), [20, 40, 80, 40, 26, 20, 16, 13, 11, 10, 0]);
    }
}
