//! Background jobs that are modelled as a fluid.

use crate::names::Names;
use crate::problem::Problem;
use crate::spec::{Carrier, Job, Model, Scenario, Work};
use sim::{FluidSetup, HostConfig, Sim};

/// Whether a job has no packets.
pub(super) fn is_fluid(job: &Job) -> bool {
    matches!(job.work, Work::Background { model: Model::Fluid, .. })
}

/// Hands all fluid over to the simulation.
pub(super) fn add(
    scenario: &Scenario,
    names: &Names<'_>,
    hosts: &[HostConfig],
    sim: &mut Sim,
) -> Result<(), Problem> {
    for (index, job) in scenario.jobs.iter().enumerate().filter(|(_, job)| is_fluid(job)) {
        let path = format!("jobs[{index}].work");
        let Work::Background { pairs, rate, over, duration, .. } = &job.work else { continue };
        if *over == Carrier::Tcp {
            let message = "a fluid is what nothing slows down: over udp is needed";
            return Err(Problem::new(format!("{path}.model"), message));
        }
        for (number, (from, to)) in pairs.iter().enumerate() {
            let end =
                |name: &String, side: u8| names.host(name, || format!("{path}.pairs[{number}][{side}]"));
            let (from, to) = (end(from, 0)?.0, end(to, 1)?.0);
            let setup = FluidSetup {
                from,
                to,
                rate: *rate,
                packet_bytes: hosts[from as usize].mtu.min(u32::from(u16::MAX)) as u16,
                port: sim::home_port(&job.name),
                start: job.start,
                end: duration.map(|duration| job.start + duration),
            };
            sim.add_fluid(&setup).map_err(|error| {
                Problem::new(format!("{path}.pairs[{number}]"), format!("as a fluid: {error}"))
            })?;
        }
    }
    Ok(())
}
