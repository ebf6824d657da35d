//! From the names that people give hosts to the numbers that processes know them by.

use crate::HostId;
use units::Problem;

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
