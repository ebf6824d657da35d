//! The generic jobs of [`traffic`], whose streams and datagrams are in the tables that every driver writes,
//! and background traffic as a fluid.

use super::kind::{Cast, Kind, Place, Processes};
use crate::build::in_a_run;
use fabric::Graph;
use process::HostId;
use sim::{FluidSetup, HostConfig};
use traffic::{
    AllToAll, Background, Bulk, Carrier, Coflows, HostInfo, Incast, Job, Load, Model, Named, Permutation,
    Replay, Sends,
};
use units::{Bytes, Problem, Rate, Time};

/// Implements [`Kind`] for jobs that show nothing of their own.
macro_rules! kinds {
    ($($job:ident $name:literal)*) => {$(
        impl Kind for $job<String> {
            fn name(&self) -> &'static str {
                $name
            }

            fn cast(&self, place: &mut Place<'_>) -> Result<Cast, Problem> {
                processes(&Named::place(self, place.names)?, place).map(Cast::silent)
            }

            fn sends(&self) -> Option<Sends> {
                Named::sends(self)
            }

            fn opens_again(&self) -> bool {
                false
            }
        }
    )*};
}

kinds! {
    Bulk "bulk"
    Incast "incast"
    Permutation "permutation"
    AllToAll "all-to-all"
    Load "load"
    Replay "replay"
    Coflows "coflows"
}

impl Kind for Background<String> {
    fn name(&self) -> &'static str {
        "background"
    }

    fn cast(&self, place: &mut Place<'_>) -> Result<Cast, Problem> {
        let processes = processes(&self.place(place.names)?, place)?;
        // A fluid is checked as packets are, but has none.
        Ok(Cast::silent(if self.is_fluid() { Vec::new() } else { processes }))
    }

    fn opens_again(&self) -> bool {
        false
    }

    fn is_background(&self) -> bool {
        true
    }

    fn is_fluid(&self) -> bool {
        self.model == Model::Fluid
    }

    fn fluids(&self, place: &Place<'_>) -> Result<Vec<FluidSetup>, Problem> {
        if !self.is_fluid() {
            return Ok(Vec::new());
        }
        if self.over == Carrier::Tcp {
            let message = "a fluid is what nothing slows down: over udp is needed";
            return Err(Problem::new("model", message));
        }
        let Job::Background(Background { pairs, rate, duration, .. }) = self.place(place.names)? else {
            unreachable!("a job keeps its kind");
        };
        let fluid = |(from, to): (HostId, HostId)| FluidSetup {
            from: from.0,
            to: to.0,
            rate,
            packet_bytes: place.hosts[from.0 as usize].mtu.min(u32::from(u16::MAX)) as u16,
            port: sim::home_port(place.name),
            start: place.start,
            end: duration.map(|duration| place.start + duration),
        };
        Ok(pairs.into_iter().map(fluid).collect())
    }
}

fn processes(job: &Job, place: &mut Place<'_>) -> Result<Processes, Problem> {
    begins_in_a_run(job, place.start)?;
    let infos = host_infos(place.graph, place.hosts);
    place.check_volumes(job.volumes(&infos)?)?;
    traffic::build(job, &infos, &mut place.draws, place.port)
}

/// Refuses flows that would begin after the longest run.
fn begins_in_a_run(job: &Job, start: Time) -> Result<(), Problem> {
    let all = |field: &'static str, ats: &mut dyn Iterator<Item = Time>| {
        ats.enumerate().try_for_each(|(number, at)| {
            in_a_run(start.saturating_add(at)).map_err(|error| error.within("at").within((field, number)))
        })
    };
    match job {
        Job::Replay(Replay { flows }) => all("flows", &mut flows.iter().map(|flow| flow.at)),
        Job::Coflows(Coflows { coflows }) => all("coflows", &mut coflows.iter().map(|coflow| coflow.at)),
        Job::Load(Load { duration, .. }) => {
            in_a_run(start.saturating_add(*duration)).map_err(|error| error.within("duration"))
        }
        _ => Ok(()),
    }
}

/// What jobs have to know of hosts.
pub(super) fn host_infos(graph: &Graph, hosts: &[HostConfig]) -> Vec<HostInfo> {
    let mut rates = vec![0u64; graph.nodes()];
    for link in graph.links() {
        for (end, props) in [(link.a, link.ab), (link.b, link.ba)] {
            let rate = &mut rates[end.0 as usize];
            *rate = rate.saturating_add(props.rate.as_bps());
        }
    }
    let info = |(host, rate): (&HostConfig, &u64)| HostInfo {
        rate: Rate::from_bps(*rate),
        mtu: Bytes::new(u64::from(host.mtu)),
    };
    hosts.iter().zip(&rates).map(info).collect()
}
