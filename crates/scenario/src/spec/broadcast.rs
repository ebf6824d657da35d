//! One file from one host to many.

use broadcast::algorithm::Algorithm;
use broadcast::plan_data::PlanData;
use serde::{Deserialize, Serialize};
use units::{Bytes, Time};

/// A broadcast.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Broadcast {
    /// Who has the file.
    pub source: String,
    /// Who is to get it.
    pub destinations: Vec<String>,
    /// Size of the file.
    pub bytes: Bytes,
    /// Size of its chunks; without a value, one that suits the plan.
    pub chunk: Option<Bytes>,
    /// How plans are made.
    pub algorithm: Algorithm,
    /// The first plan, instead of one that is made.
    pub plan: Option<PlanData>,
    /// What parents send at most, in percent of the plan's rate; without a value, anything.
    pub headroom_percent: Option<u32>,
    /// Plan anew when links turn out slower or faster.
    pub replan: bool,
    /// Chunks take their time on the receivers' disks.
    pub disk: bool,
    /// Members report so often.
    pub report: Time,
    /// Who is silent for so long is planned around until it speaks again.
    pub silence: Time,
    /// Who is silent for so long has failed for good.
    pub patience: Time,
}
