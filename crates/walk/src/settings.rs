//! Everything that can be set about walks on servers, with the readings of document 000 as defaults, and the
//! checks that refuse what can't work.

use crate::generator::Generation;
use crate::loss::LossSettings;
use crate::outbox::DatagramSettings;
use crate::queue::Discipline;
use crate::red::RedSettings;
use crate::seal::TAG;
use crate::wire::{DATAGRAM_MAX, HEADER, WALKER};
use serde::{Deserialize, Serialize};
use units::{Path, Problem, Time, in_range};

/// Steps that a walk may have at most.
pub const STEPS_MAX: u32 = 1 << 24;
/// Walks from one node at most.
pub const WALKS_MAX: u32 = 1 << 30;

/// How long things take on a modelled host. Zero where the work itself takes the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// A step.
    pub step: Time,
    /// Taking a walker in and sending it on.
    pub walker: Time,
    /// Generating a walker.
    pub generate: Time,
    /// A walker that is dropped: it has been taken in too. The next to be served waits for it.
    pub drop: Time,
    /// A datagram that comes or goes, whatever it carries. The next to be served waits for it.
    pub datagram: Time,
}

/// How walks are run; the same on all servers of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Finished walks that each start node is to have.
    pub walks: u32,
    /// A walk ends after so many steps, whatever its rule says.
    pub steps_max: u32,
    /// A lost walk is generated again (document 000: experiment 1; experiment 2 doesn't).
    pub regenerate: bool,
    /// RQ: how walkers wait.
    pub queue: Discipline,
    /// Most walkers that wait at a server.
    pub limit: u64,
    /// RG: how losses are found.
    pub loss: LossSettings,
    /// RG: how walkers are generated.
    pub generation: Generation,
    /// How walkers share datagrams.
    pub datagrams: DatagramSettings,
    /// Walkers that a server serves side by side.
    pub workers: u32,
    /// Time between snapshots of a source; nothing: one at its end.
    pub snapshot: Option<Time>,
    /// What nobody sets.
    #[serde(skip)]
    pub derived: Derived,
}

/// What follows from where servers run, and from what is asked of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derived {
    /// Walkers carry the nodes that they pass.
    pub paths: bool,
    /// Most bytes in a datagram, UDP and IP headers not counted.
    pub datagram_bytes: usize,
    /// Walkers that are served, or generated, between two looks at what has come: 1 where time is modelled,
    /// more on real hosts.
    pub burst: u32,
    /// Time between samples; nothing: none.
    pub sample: Option<Time>,
}

impl Default for Derived {
    /// What fits an Ethernet frame, in modelled time.
    fn default() -> Derived {
        Derived { paths: false, datagram_bytes: 1472, burst: 1, sample: None }
    }
}

impl Default for Settings {
    /// The document's: RED, and never more than its `max_th` of 100.
    fn default() -> Settings {
        Settings {
            walks: 10_000,
            steps_max: 1 << 16,
            regenerate: true,
            queue: Discipline::Red(RedSettings::default()),
            limit: 100,
            loss: LossSettings::default(),
            generation: Generation::default(),
            datagrams: DatagramSettings::default(),
            workers: 1,
            snapshot: None,
            derived: Derived::default(),
        }
    }
}

impl Settings {
    /// The settings for servers on sockets, where a walker takes a ten-thousandth of the time that it took
    /// the document's: the same in everything but what is counted in walkers or stands for scheduling. The
    /// queue's upper threshold stands for the document's 5 ms of waiting, and its lower one lies above what
    /// one look at the sockets brings, so that a burst alone drops nobody; a source has no more walkers under
    /// way than the queues of two servers and their sockets hold; T leaves time for a server that does not
    /// run for some turns of the scheduler.
    pub fn live() -> Settings {
        let plain = Settings::default();
        Settings {
            queue: Discipline::Red(RedSettings { min: 4_000.0, max: 20_000.0, ..RedSettings::default() }),
            limit: 20_000,
            loss: LossSettings { floor: Time::from_ms(200), attempts: 100, ..plain.loss },
            generation: Generation { under_way: Some(4_096), ..plain.generation },
            derived: Derived { burst: LIVE_BURST, ..plain.derived },
            ..plain
        }
    }
}

/// [`Derived::burst`] on real hosts.
pub const LIVE_BURST: u32 = 256;

type Check = Result<(), Problem>;

fn refuse(field: impl Into<Path>, message: impl Into<String>) -> Check {
    Err(Problem::new(field, message.into()))
}

impl Settings {
    /// Refuses what can't work.
    ///
    /// # Errors
    /// The first field that is wrong.
    pub fn check(&self) -> Result<(), Problem> {
        in_range("walks", self.walks, 1..=WALKS_MAX)?;
        in_range("steps_max", self.steps_max, 1..=STEPS_MAX)?;
        in_range("workers", self.workers, 1..=1024)?;
        in_range("burst", self.derived.burst, 1..=1 << 16)?;
        in_range("limit", self.limit, 1..=1 << 32)?;
        self.check_queue().map_err(|message| Problem::new("queue", message))?;
        self.check_loss().map_err(|problem| problem.within("loss"))?;
        self.generation.check().map_err(|problem| problem.within("generation"))?;
        self.check_datagrams()?;
        for (field, time) in [("sample", self.derived.sample), ("snapshot", self.snapshot)] {
            if time.is_some_and(|time| time < Time::from_us(1)) {
                return refuse(field, "below a microsecond: at least 1us");
            }
        }
        Ok(())
    }

    fn check_queue(&self) -> Result<(), String> {
        match self.queue {
            Discipline::TailDrop {} => Ok(()),
            Discipline::Red(red) => {
                if !(red.min >= 0.0 && red.max > red.min && red.max.is_finite()) {
                    return Err(format!("min {} and max {}: 0 ≤ min < max", red.min, red.max));
                }
                if !(0.0..=1.0).contains(&red.max_p) {
                    return Err(format!("{}: 0 to 1 are allowed", red.max_p));
                }
                if !(red.weight > 0.0 && red.weight <= 1.0) {
                    return Err(format!("{}: above 0 and at most 1", red.weight));
                }
                Ok(())
            }
            Discipline::Codel(codel) if codel.target == Time::ZERO || codel.interval < codel.target => {
                let (target, interval) = (codel.target, codel.interval);
                Err(format!("target {target}, interval {interval}: 0 < target ≤ interval"))
            }
            Discipline::Codel(_) => Ok(()),
        }
    }

    fn check_loss(&self) -> Check {
        if self.loss.initial == Time::ZERO || self.loss.floor == Time::ZERO {
            return refuse("floor", "0s: timeouts are above zero");
        }
        if self.loss.window.is_some_and(|(from, to)| from == Time::ZERO || to <= from) {
            return refuse("window", "0 < least < greatest age");
        }
        in_range("attempts", self.loss.attempts, 1..=u16::MAX)
    }

    fn check_datagrams(&self) -> Check {
        in_range(["datagrams", "walkers"], self.datagrams.walkers, 1..=u16::MAX.into())?;
        let bytes = self.derived.datagram_bytes;
        // A walker with all that is optional, and a header with a tag.
        let least = HEADER + TAG + WALKER + 8;
        // It is what the MTU of the servers leaves.
        in_range("servers", bytes, least..=DATAGRAM_MAX)?;
        let longest = least + 2 + 4 * (self.steps_max as usize + 1);
        if self.derived.paths && longest > bytes {
            let fit = (bytes - least - 2) / 4;
            let message = if fit < 2 {
                format!("{bytes} bytes a datagram are too few for paths")
            } else {
                format!(
                    "{}: a path of at most {} steps fits a datagram of {bytes} bytes",
                    self.steps_max,
                    fit - 1
                )
            };
            return refuse("steps_max", message);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(change: impl FnOnce(&mut Settings)) -> Option<String> {
        let mut settings = Settings::default();
        change(&mut settings);
        settings.check().err().map(|error| error.path.to_string())
    }

    #[test]
    fn what_cannot_work_is_refused_by_its_field() {
        assert_eq!(field(|_| ()), None);
        assert_eq!(field(|s| s.walks = 0).as_deref(), Some("walks"));
        assert_eq!(field(|s| s.limit = 0).as_deref(), Some("limit"));
        let red = RedSettings { max_p: 1.5, ..RedSettings::default() };
        assert_eq!(field(|s| s.queue = Discipline::Red(red)).as_deref(), Some("queue"));
        assert_eq!(field(|s| s.generation.time = Time::ZERO).as_deref(), Some("generation.time"));
        assert_eq!(field(|s| s.derived.datagram_bytes = 60).as_deref(), Some("servers"));
        assert_eq!(field(|s| s.derived.paths = true).as_deref(), Some("steps_max"));
        assert_eq!(field(|s| (s.derived.paths, s.steps_max) = (true, 80)), None);
    }
}
