//! The settings of a job of calls, and which of them can't run.

use crate::Cdf;
use process::{HostId, Hosts, distinct};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use units::{Problem, Time, in_range};

/// Calls of a client, at most: each is a row of a table.
pub const CALLS_MAX: u64 = 10_000_000;
/// Callers of a client, at most.
pub const CALLERS_MAX: u32 = 10_000;
/// Connections of a client to a server, at most.
pub const CONNECTIONS_MAX: u32 = 10_000;

/// A job of remote procedure calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rpc<H = HostId> {
    /// Hosts that call.
    pub clients: Vec<H>,
    /// Hosts that reply. A host never calls itself.
    pub servers: Vec<H>,
    /// When calls begin.
    pub arrivals: Arrivals,
    /// Calls of each client.
    pub calls: u64,
    /// Servers that a call sends a request to.
    pub fan_out: u32,
    /// Connections of a client to each server, at most.
    pub connections: u32,
    /// Sizes of requests: (bytes, probability of at most so many).
    pub request: Vec<(u64, f64)>,
    /// Sizes of replies, likewise.
    pub reply: Vec<(u64, f64)>,
    /// Time of one core that a request takes at its server.
    pub service: Time,
    /// A call that takes longer is late. It goes on all the same.
    pub deadline: Option<Time>,
}

/// When a client begins its calls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Arrivals {
    /// Callers think, call, and wait for the end of the call.
    Closed {
        /// Callers of each client.
        callers: u32,
        /// Mean time that a caller thinks, exponentially distributed.
        think: Time,
    },
    /// Calls begin as a Poisson process.
    Open {
        /// Mean time between two calls of a client.
        every: Time,
    },
}

impl Rpc<String> {
    /// The same job with its hosts looked up.
    ///
    /// # Errors
    /// A host that does not exist.
    pub fn place(&self, hosts: &dyn Hosts) -> Result<Rpc, Problem> {
        Ok(Rpc {
            clients: hosts.all(&self.clients, "clients")?,
            servers: hosts.all(&self.servers, "servers")?,
            arrivals: self.arrivals,
            calls: self.calls,
            fan_out: self.fan_out,
            connections: self.connections,
            request: self.request.clone(),
            reply: self.reply.clone(),
            service: self.service,
            deadline: self.deadline,
        })
    }
}

impl Arrivals {
    fn check(&self) -> Result<(), Problem> {
        match *self {
            Arrivals::Closed { callers, .. } => in_range("callers", callers, 1..=CALLERS_MAX),
            Arrivals::Open { every: Time::ZERO } => Err(Problem::new("every", "it must be longer than 0")),
            Arrivals::Open { .. } => Ok(()),
        }
    }
}

impl Rpc {
    pub(super) fn check(&self) -> Result<(), Problem> {
        let refuse = |field: &'static str, message: String| Err(Problem::new(field, message));
        for (field, hosts) in [("clients", &self.clients), ("servers", &self.servers)] {
            distinct(field, hosts)?;
            if hosts.is_empty() {
                return refuse(field, "is empty: at least one host is needed".into());
            }
        }
        in_range("calls", self.calls, 1..=CALLS_MAX)?;
        in_range("connections", self.connections, 1..=CONNECTIONS_MAX)?;
        self.arrivals.check().map_err(|problem| problem.within("arrivals"))?;
        for client in &self.clients {
            let others = self.servers.iter().filter(|server| *server != client).count();
            if self.fan_out == 0 || self.fan_out as usize > others {
                let message =
                    format!("{}: 1 to {others} are allowed, the servers besides the client", self.fan_out);
                return refuse("fan_out", message);
            }
        }
        Ok(())
    }

    /// Bytes that each host is expected to send or to receive, whichever are more.
    ///
    /// # Errors
    /// Sizes that are no distribution.
    pub fn volumes(&self) -> Result<Vec<(HostId, f64)>, Problem> {
        let sizes = self.sizes()?;
        let client =
            self.calls as f64 * f64::from(self.fan_out) * sizes.request.mean().max(sizes.reply.mean());
        let server = client * self.clients.len() as f64 / self.servers.len() as f64;
        let of = |hosts: &[HostId], bytes| hosts.iter().map(|host| (*host, bytes)).collect::<Vec<_>>();
        Ok([of(&self.clients, client), of(&self.servers, server)].concat())
    }

    pub(super) fn sizes(&self) -> Result<Arc<Sizes>, Problem> {
        let cdf = |field, points: &[(u64, f64)]| Cdf::new(points).map_err(|error| Problem::new(field, error));
        Ok(Arc::new(Sizes { request: cdf("request", &self.request)?, reply: cdf("reply", &self.reply)? }))
    }
}

/// The distributions that sizes are drawn from.
#[derive(Debug)]
pub(super) struct Sizes {
    pub(super) request: Cdf,
    pub(super) reply: Cdf,
}
