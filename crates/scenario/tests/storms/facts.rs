//! What of a scenario makes which end possible.

use fabric::{PfcConfig, WatchdogAction};
use scenario::Scenario;
use scenario::kinds::Work;
use scenario::lab::{Change, Job};
use serde_json::Value;
use std::collections::BTreeSet;

/// What of a scenario makes which end possible.
pub struct Facts {
    pub scenario: Scenario,
    /// Hosts that crash at some time.
    pub crashed: BTreeSet<String>,
    /// PFC, and nothing that keeps PAUSE frames from coming or from being heeded.
    pub lossless: bool,
}

impl Facts {
    pub fn of(scenario: &Value) -> Facts {
        let scenario = scenario::parse(&scenario.to_string()).expect("a scenario");
        let mut crashed = BTreeSet::new();
        let mut lossy = false;
        for fault in &scenario.faults {
            match &fault.change {
                Change::Crash { host } => drop(crashed.insert(host.clone())),
                Change::Loss { .. } | Change::Corrupt { .. } => lossy = true,
                _ => {}
            }
        }
        let protects = |pfc: &PfcConfig| {
            pfc.headroom_pool.is_none()
                && pfc.watchdog.is_none_or(|watchdog| watchdog.action != WatchdogAction::Forward)
        };
        let lossless = scenario.switches[0].config.pfc.as_ref().is_some_and(protects) && !lossy;
        Facts { crashed, lossless, scenario }
    }

    pub fn background(&self, name: &str) -> bool {
        let is = |job: &Job| job.name == name && matches!(job.work, Work::Background(_));
        self.scenario.jobs.iter().any(is)
    }
}
