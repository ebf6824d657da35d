//! What people set about a transfer: how it is planned, paced and watched. Not here: what follows from the
//! cluster and the run (`config`).

use crate::algorithm::Algorithm;
use serde::{Deserialize, Serialize};
use units::{Problem, Time};

/// How a file is sent: the same at each node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// How plans are made.
    pub algorithm: Algorithm,
    /// A parent's pace as a percentage of the plan's rate; nothing: no pace (`pace.rs` says why 110).
    #[serde(rename = "headroom_percent")]
    pub headroom: Option<u32>,
    /// Plan again when links turn out slower or faster than planned.
    pub replan: bool,
    /// A chunk that came takes its time on the host's disk before it is there.
    pub disk: bool,
    /// Members report so often.
    pub report: Time,
    /// A host that is silent for so long is planned around, and taken back when it speaks again.
    pub silence: Time,
    /// A host that is silent for so long has failed for good; so has a broadcast without its source and
    /// without its content.
    pub patience: Time,
}

/// The default of [`Settings::report`].
pub const REPORT: Time = Time::from_ms(250);
/// The default of [`Settings::silence`].
pub const SILENCE: Time = Time::from_secs(3);
/// The default of [`Settings::patience`]: an outage of a minute, and half of one to find each other again.
pub const PATIENCE: Time = Time::from_secs(90);
/// The default of [`Settings::headroom`], in percent.
pub const HEADROOM: u32 = 110;

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            algorithm: Algorithm::Stable,
            headroom: Some(HEADROOM),
            replan: true,
            disk: false,
            report: REPORT,
            silence: SILENCE,
            patience: PATIENCE,
        }
    }
}

impl Settings {
    /// Refuses what can't be: the field and what is allowed.
    ///
    /// # Errors
    /// The first field that can't be as it is.
    pub fn check(&self) -> Result<(), Problem> {
        let refuse = |field: &'static str, message: &str| Err(Problem::new(field, message));
        if self.headroom.is_some_and(|percent| !(50..=1000).contains(&percent)) {
            return refuse("headroom", "0.5 to 10 are allowed");
        }
        if self.report == Time::ZERO || self.silence < self.report.saturating_mul(3) {
            return refuse("silence", "at least three times that between two reports, which is above 0");
        }
        if self.patience < self.silence {
            return refuse("patience", "at least the silence after which a host is planned around");
        }
        Ok(())
    }
}
