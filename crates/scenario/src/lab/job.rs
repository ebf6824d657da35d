//! What the cluster does, and when.

use crate::kinds::Work;
use serde::{Deserialize, Serialize};
use units::Time;

/// What the cluster does.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Unique name.
    pub name: String,
    /// When it begins.
    pub start: Time,
    /// 802.1p class of its packets, 0–7.
    pub class: u8,
    /// What it does.
    pub work: Work,
}
