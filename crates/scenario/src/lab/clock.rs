//! Whose time a run keeps.

use super::{Change, Scenario};
use crate::emulate;
use serde::{Deserialize, Serialize};
use sim::Kernel;
use units::{Problem, Time};

/// A clock that is not the run's own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Clock {
    /// This machine's: programs are its processes, and computing takes the time that it takes.
    Real {
        /// Seconds here for each second of the run.
        scale: f64,
        /// A packet that comes later than this, by this machine's time, is late.
        late: Time,
    },
}

/// What the run's clock does not go with.
///
/// # Errors
/// The first such setting.
pub fn check(scenario: &Scenario) -> Result<(), Problem> {
    let Some(Clock::Real { scale, late }) = scenario.clock else { return Ok(()) };
    if !(1.0..=1000.0).contains(&scale) {
        return Err(Problem::new("scale", "1 to 1000 are allowed").within("clock"));
    }
    if late == Time::ZERO {
        return Err(Problem::new("late", "is no time: something always takes some").within("clock"));
    }
    for (index, rule) in scenario.hosts.iter().enumerate() {
        if let Some(problem) = of_guests(&rule.config.kernel) {
            return Err(problem.within("kernel").within("config").within(("hosts", index)));
        }
    }
    if let Some(index) = scenario.faults.iter().position(|fault| matches!(fault.change, Change::Slow { .. }))
    {
        let message = "slows a host down, but with the real clock its processor is this machine's";
        return Err(Problem::whole(message).within(("faults", index)));
    }
    if !emulate::is_needed(scenario) {
        return Err(Problem::new("clock", "nothing needs it: there is no job of kind program"));
    }
    Ok(())
}

/// A setting that only guests in virtual time have.
fn of_guests(kernel: &Kernel) -> Option<Problem> {
    let refuse = |field, message: &str| Some(Problem::new(field, message.to_owned()));
    let real = "with the real clock";
    if kernel.emulated {
        return refuse(
            "emulated",
            &format!("{real} only programs run on hosts of their own: see incast run --live"),
        );
    }
    if kernel.cpu_rate.is_some() {
        return refuse("cpu_rate", &format!("{real} the processor is this machine's: leave it away"));
    }
    if kernel.moderation != Time::ZERO {
        return refuse("moderation", &format!("{real} no network card interrupts: leave it away"));
    }
    if kernel.receive_ring != Kernel::default().receive_ring {
        return refuse("receive_ring", &format!("{real} there is no network card: leave it away"));
    }
    kernel.tso.then(|| Problem::new("tso", format!("{real} the kernel cuts segments: leave it away")))
}
