//! How exactly a run is computed.

use super::Scenario;
use crate::emulate;
use serde::{Deserialize, Serialize};
use sim::Sim;
use units::Problem;

/// What is not computed event by event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fidelity {
    /// Steady states are skipped.
    Skip,
}

/// Tells the simulation.
///
/// # Errors
/// A network, hosts or records with which no time can be skipped.
pub(crate) fn prepare(scenario: &Scenario, sim: &mut Sim) -> Result<(), Problem> {
    let Some(Fidelity::Skip) = scenario.fidelity else { return Ok(()) };
    let refuse =
        |why: &str| Err(Problem::new("fidelity", format!("skip is not possible with {why}: exact is")));
    if emulate::is_needed(scenario) {
        return refuse("hosts that are not simulated");
    }
    sim.skip_steady_states().or_else(refuse)
}
