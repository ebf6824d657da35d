//! Port numbers: functions of names, so that a job's flows keep theirs whatever else runs.
//!
//! A job listens on a port that follows from its name. The opening side of a stream takes a dynamic port (RFC
//! 6335) as RFC 6056, 3.3.3, has it: a hash of the job and the two hosts, plus the number of the stream among
//! those that the job has opened between the two.

use crate::run::Sim;
use process::rng;

/// First of the ports that jobs listen on, and how many there are.
const JOBS: (u16, u64) = (5_000, 40_000);
/// First of the ports that are given to the opening side of a stream, and how many there are.
const DYNAMIC: (u16, u64) = (49_152, 16_384);

/// The port of the job called `name`, if no other job has it. Routes depend on this one in any case.
pub fn home_port(name: &str) -> u16 {
    JOBS.0 + place(rng::split(0, name), JOBS.1)
}

/// The ports of jobs with these names, in their order: of two with the same home port, the one whose name is
/// less has it, and the other gets the next one that is free.
///
/// # Errors
/// There are more jobs than ports.
pub fn job_ports(names: &[&str]) -> Result<Vec<u16>, TooManyJobs> {
    if names.len() as u64 > JOBS.1 {
        return Err(TooManyJobs);
    }
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|&index| names[index]);
    let (mut ports, mut taken) = (vec![0; names.len()], std::collections::BTreeSet::new());
    for index in order {
        let mut port = home_port(names[index]);
        while !taken.insert(port) {
            port = JOBS.0 + place(u64::from(port - JOBS.0) + 1, JOBS.1);
        }
        ports[index] = port;
    }
    Ok(ports)
}

/// There are more jobs than ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more than {} jobs", JOBS.1)]
pub struct TooManyJobs;

fn place(hash: u64, among: u64) -> u16 {
    (hash % among) as u16
}

impl Sim {
    /// The port from which `process` opens its next stream to host `to`.
    pub(crate) fn dynamic_port(&mut self, process: u32, to: u32) -> u16 {
        let slot = &self.processes[process as usize];
        let count = self.opened.entry((process, to)).or_insert_with(|| {
            let [from, to] = [slot.host, to].map(|host| self.graph.name(fabric::NodeId(host)));
            let name = format!("ports of job {} from {from} to {to}", self.jobs[slot.job as usize].name);
            place(rng::split(0, &name), DYNAMIC.1)
        });
        let port = DYNAMIC.0 + *count;
        *count = place(u64::from(*count) + 1, DYNAMIC.1);
        port
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_keep_their_ports_whatever_else_there_is() {
        let names: Vec<String> = (0..2000).map(|n| format!("job{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let ports = job_ports(&names).unwrap();
        let own = names.iter().zip(&ports).filter(|(name, port)| home_port(name) == **port).count();
        // About n²/2m = 50 pairs meet.
        assert!((1880..1990).contains(&own), "{own}");
        let different: std::collections::BTreeSet<u16> = ports.iter().copied().collect();
        assert_eq!(different.len(), names.len());
        let mut turned = names.clone();
        turned.reverse();
        let mut again = job_ports(&turned).unwrap();
        again.reverse();
        assert_eq!(again, ports, "the order does not matter");
        assert_eq!(job_ports(&vec!["x"; 40_001]), Err(TooManyJobs));
    }
}
