//! A run on this machine with a thread a host: for tests, measurements and small jobs.
//!
//! The sockets are real; only the processes of the operating system are missing.

use crate::hello::Key;
use crate::member::{Error, Job, Member, Run};
use crate::report::{End, Report};
use crate::seal::Secret;
use crate::settings::Settings;
use crate::table::{HostAddress, Table};
use process::{HostId, rng};
use rand::Rng;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::mpsc;
use std::time::Duration;

/// A host and what it does.
pub struct Host {
    /// Its number.
    pub host: HostId,
    /// Its name.
    pub name: String,
    /// Its processes.
    pub jobs: Vec<Job>,
}

/// Why a run has failed.
#[derive(Debug, thiserror::Error)]
pub enum ThreadsError {
    /// A host could not run.
    #[error("host {0}: {1}")]
    Host(String, Error),
    /// A process has panicked.
    #[error("host {0}: its process panicked")]
    Panic(String),
}

/// Time that all threads need to get ready.
const HEAD_START: Duration = Duration::from_millis(20);

/// Runs all hosts until every process that the run waits for has finished, or `limit` is over. Reports are in
/// the order of `hosts`; those of a run that hit its limit say [`End::Interrupted`].
///
/// # Errors
/// When a host can't run.
#[expect(clippy::disallowed_methods, reason = "a run begins at a time of the calendar")]
pub fn run(
    hosts: Vec<Host>,
    ports: &[u16],
    seed: u64,
    settings: &Settings,
    limit: Duration,
) -> Result<Vec<Report>, ThreadsError> {
    let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let mut members = Vec::new();
    for host in hosts {
        let member = Member::bind(host.host, ip, ports, settings.clone())
            .map_err(|error| ThreadsError::Host(host.name.clone(), error))?;
        members.push((host, member));
    }
    let addresses: Vec<HostAddress> = members.iter().map(|(_, member)| member.address().clone()).collect();
    let start = std::time::SystemTime::now() + HEAD_START;
    let handles: Vec<_> = members.iter().map(|(_, member)| member.handle()).collect();
    let (mut key, mut secret) = (Key([0; 16]), Secret([0; 32]));
    rng::stream(seed, "local key").fill_bytes(&mut key.0);
    rng::stream(seed, "local secret").fill_bytes(&mut secret.0);
    let (sender, finished) = mpsc::channel();
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for (host, member) in members {
            let (addresses, sender) = (addresses.clone(), sender.clone());
            let name = host.name.clone();
            let body = move || {
                let told = Told { sender, host: host.host.0 };
                let table = Table::new(addresses).map_err(|_| Error::Absent(host.host.0))?;
                let run =
                    Run { table, name: host.name, seed, key, secret, start, jobs: host.jobs, signals: false };
                member.run(run, &mut |progress| {
                    if progress.finished {
                        told.tell(true);
                    }
                    true
                })
            };
            threads.push((name, scope.spawn(body)));
        }
        drop(sender);
        let in_time = wait(&finished, threads.len(), limit + HEAD_START);
        handles.iter().for_each(|handle| handle.stop());
        let mut reports = Vec::new();
        for (name, thread) in threads {
            let mut report = match thread.join() {
                Ok(result) => result.map_err(|error| ThreadsError::Host(name, error))?,
                Err(_) => return Err(ThreadsError::Panic(name)),
            };
            report.end = if in_time { report.end } else { End::Interrupted };
            reports.push(report);
        }
        Ok(reports)
    })
}

/// Says that a host has finished, and that its thread has ended.
struct Told {
    sender: mpsc::Sender<(u32, bool)>,
    host: u32,
}

impl Told {
    fn tell(&self, finished: bool) {
        // Nobody hears it any more when the run is over.
        let _ = self.sender.send((self.host, finished));
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        self.tell(false);
    }
}

/// Waits until all hosts have finished; false when one has ended without, or time is over.
#[expect(clippy::disallowed_methods, reason = "the limit is one of wall time")]
fn wait(finished: &mpsc::Receiver<(u32, bool)>, hosts: usize, limit: Duration) -> bool {
    let end = std::time::Instant::now() + limit;
    let mut done = std::collections::BTreeSet::new();
    while done.len() < hosts {
        match finished.recv_timeout(end.saturating_duration_since(std::time::Instant::now())) {
            Ok((host, true)) => {
                done.insert(host);
            }
            Ok((_, false)) | Err(_) => return false,
        }
    }
    true
}
