//! How exactly a run is computed.

use super::Scenario;
use crate::emulate;
use serde::{Deserialize, Serialize};
use sim::Sim;
use units::Problem;

/// What of a run is computed event by event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fidelity {
    /// Everything.
    #[default]
    Exact,
    /// All but steady states.
    Skip,
}

impl Fidelity {
    pub(crate) fn is_exact(&self) -> bool {
        *self == Fidelity::Exact
    }
}

/// Tells the simulation.
///
/// # Errors
/// A network, hosts or records with which no time can be skipped.
pub(crate) fn prepare(scenario: &Scenario, sim: &mut Sim) -> Result<(), Problem> {
    if scenario.fidelity.is_exact() {
        return Ok(());
    }
    let refuse =
        |why: &str| Err(Problem::new("fidelity", format!("skip is not possible with {why}: exact is")));
    if emulate::is_needed(scenario) {
        return refuse("hosts that are not simulated");
    }
    sim.skip_steady_states().or_else(refuse)
}
