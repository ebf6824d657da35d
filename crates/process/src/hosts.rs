//! From the names that people give hosts to the numbers that processes know them by.

use crate::HostId;
use units::Problem;

/// Refuses a list of hosts in the setting `field` that has one of them twice.
///
/// # Errors
/// The first host, by number, that is listed again.
pub fn distinct(field: &'static str, hosts: &[HostId]) -> Result<(), Problem> {
    let mut sorted = hosts.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Problem::new(field, format!("host number {} is listed twice", pair[0].0))),
        None => Ok(()),
    }
}

/// The hosts of a cluster by name. The settings of a job name hosts by text until it is placed.
pub trait Hosts {
    /// The host called `name`, or why there is none.
    ///
    /// # Errors
    /// No host is called so.
    fn find(&self, name: &str) -> Result<HostId, String>;

    /// The host called `name` by the setting `field`.
    ///
    /// # Errors
    /// No host is called so.
    fn one(&self, name: &str, field: &'static str) -> Result<HostId, Problem> {
        self.find(name).map_err(|message| Problem::new(field, message))
    }

    /// The hosts that the list `field` names.
    ///
    /// # Errors
    /// The first that does not exist.
    fn all(&self, names: &[String], field: &'static str) -> Result<Vec<HostId>, Problem> {
        let host = |(i, name): (usize, &String)| {
            self.find(name).map_err(|message| Problem::new((field, i), message))
        };
        names.iter().enumerate().map(host).collect()
    }
}
