//! Remote procedure calls: clients send requests to servers and wait for their replies.
//!
//! A call sends requests to `fan_out` servers at the same time, drawn for each call, and ends with the last
//! reply. With many servers the slowest reply decides (J. Dean and L. A. Barroso, "The Tail at Scale", CACM
//! 56(2), 2013). In a closed loop a caller waits for its call before it begins the next; in an open loop
//! calls begin whether or not earlier calls have ended (B. Schroeder, A. Wierman and M. Harchol-Balter, "Open
//! Versus Closed: A Cautionary Tale", NSDI 2006).
//!
//! A connection carries one request at a time and stays open, as RFC 9112 section 9.3 has it for HTTP/1.1. If
//! all of a client's connections to a server are busy, it opens another one, up to a limit; then requests
//! wait for a connection. A request whose connection breaks fails, and its call with it: nothing is repeated.

mod calls;
mod client;
mod server;
mod settings;
mod wire;

pub use calls::{Board, Call};
pub use client::SILENCE;
pub use settings::{Arrivals, CALLERS_MAX, CALLS_MAX, CONNECTIONS_MAX, Rpc};

use client::Client;
use process::{Context, Event, HostId, Process};
use server::Server;
use std::collections::BTreeMap;
use std::sync::Arc;
use units::Problem;

/// The clients' boards, and the processes of a job by host. All of them use `port`.
pub type Built = (Vec<(HostId, Board)>, Vec<(HostId, Box<dyn Process>)>);

/// Checks a job and returns its processes.
///
/// # Errors
/// A job that can't run.
pub fn build(job: Rpc, port: u16) -> Result<Built, Problem> {
    job.check()?;
    let (job, sizes) = (Arc::new(job.clone()), job.sizes()?);
    let boards: Vec<(HostId, Board)> = job.clients.iter().map(|host| (*host, Board::default())).collect();
    let mut ends: BTreeMap<HostId, Ends> = BTreeMap::new();
    for host in &job.servers {
        ends.entry(*host).or_default().server = Some(Server::new(port, job.service));
    }
    for (host, board) in &boards {
        let client = Client::new(*host, port, Arc::clone(&job), Arc::clone(&sizes), board.clone());
        ends.entry(*host).or_default().client = Some(client);
    }
    let processes = ends.into_iter().map(|(host, ends)| (host, Box::new(ends) as Box<dyn Process>));
    Ok((boards, processes.collect()))
}

/// The client and the server of one host, or either.
#[derive(Debug, Default)]
struct Ends {
    client: Option<Client>,
    server: Option<Server>,
}

impl Process for Ends {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        if let Some(server) = &mut self.server {
            server.handle(&event, cx);
        }
        match &mut self.client {
            Some(client) => client.handle(&event, cx),
            // A server only ever replies: clients know when the job is done.
            None if event == Event::Start => cx.finish(),
            None => {}
        }
    }
}
