//! One host of a run: its sockets, then its processes on them.

use crate::clock::Clock;
use crate::datagrams::Datagrams;
use crate::driver::{Driver, Parts, Slot};
use crate::handle::Handle;
use crate::hello::Key;
use crate::report::{Progress, Report};
use crate::seal::Secret;
use crate::settings::Settings;
use crate::streams::Streams;
use crate::table::{HostAddress, Table};
use process::{HostId, Process, rng};
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::SystemTime;
use sys::signal::Requests;
use sys::udp::UdpSocket;
use units::Time;

/// Why a member can't run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A setting is out of its range: which, and what is allowed.
    #[error("{0}")]
    Setting(String),
    /// An address can't be used.
    #[error("{address}: {source}")]
    Address {
        /// Where it would have been.
        address: SocketAddr,
        /// What the kernel says.
        source: io::Error,
    },
    /// The table doesn't say where this member is.
    #[error("host {0} is not in the table of addresses")]
    Absent(u32),
    /// The kernel gave up.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// One process of a member.
pub struct Job {
    /// The job's index in the run.
    pub index: u32,
    /// The job's name: with the host's, the name of the process's random stream.
    pub name: String,
    /// When the process begins.
    pub start: Time,
    /// The run doesn't wait for it.
    pub background: bool,
    /// What it does.
    pub process: Box<dyn Process>,
}

/// What a member needs to know when all of them are ready.
pub struct Run {
    /// Where everybody is.
    pub table: Table,
    /// This host's name.
    pub name: String,
    /// All randomness derives from it.
    pub seed: u64,
    /// What members show each other.
    pub key: Key,
    /// Under which streams are sealed, with [`Settings::sealed`].
    pub secret: Secret,
    /// Time zero, as calendar time: the same for all members.
    pub start: SystemTime,
    /// What it does.
    pub jobs: Vec<Job>,
    /// SIGINT and SIGTERM end the run in good order, unless the process ignores them.
    pub signals: bool,
}

/// A host that has its sockets.
pub struct Member {
    host: HostId,
    address: HostAddress,
    udp: Vec<(u16, UdpSocket)>,
    tcp: Vec<(u16, Socket)>,
    settings: Settings,
    handle: Handle,
}

impl Member {
    /// Takes a UDP and a TCP port of the kernel's choice on `ip` for each of the jobs' `ports`.
    ///
    /// # Errors
    /// Settings that can't be, or an address that isn't this machine's.
    pub fn bind(host: HostId, ip: IpAddr, ports: &[u16], settings: Settings) -> Result<Member, Error> {
        let choice = ports.iter().map(|port| (*port, 0)).collect();
        let address = HostAddress { host: host.0, ip, udp: choice, tcp: Default::default() };
        Member::bind_at(HostAddress { tcp: address.udp.clone(), ..address }, settings)
    }

    /// Takes the ports that `wanted` says, so that a host that comes back is where it was; 0 is the kernel's
    /// choice. A port that another program took meanwhile is replaced by the kernel's choice:
    /// [`Member::address`] says which.
    ///
    /// # Errors
    /// Settings that can't be, or an address that isn't this machine's.
    pub fn bind_at(wanted: HostAddress, settings: Settings) -> Result<Member, Error> {
        settings.check().map_err(Error::Setting)?;
        let mut address = wanted;
        let (mut udp, mut tcp) = (Vec::new(), Vec::new());
        for (&port, real) in &mut address.udp {
            let socket = bind(SocketAddr::new(address.ip, *real), UdpSocket::bind)?;
            *real = socket.local_addr()?.port();
            udp.push((port, socket));
        }
        for (&port, real) in &mut address.tcp {
            let socket = bind(SocketAddr::new(address.ip, *real), listener)?;
            *real = socket.local_addr()?.as_socket().map_or(0, |address| address.port());
            tcp.push((port, socket));
        }
        Ok(Member { host: HostId(address.host), address, udp, tcp, settings, handle: Handle::new()? })
    }

    /// Where it is.
    pub fn address(&self) -> &HostAddress {
        &self.address
    }

    /// By what it can be told something while it runs.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Runs the processes in this thread until told to stop. `progress` is called now and then, and at once
    /// when all of them have finished; when it returns false the run ends.
    ///
    /// # Errors
    /// When the kernel has no descriptors or memory left.
    pub fn run(self, run: Run, progress: &mut dyn FnMut(&Progress) -> bool) -> Result<Report, Error> {
        if run.table.host(self.host).is_none() {
            return Err(Error::Absent(self.host.0));
        }
        let slot = |job: Job| Slot {
            job: job.index,
            awaited: !job.background,
            start: job.start,
            process: Some(job.process),
            rng: rng::stream(run.seed, &format!("job {} on {}", job.name, run.name)),
            finished: None,
        };
        let secret = self.settings.sealed.then_some(run.secret);
        let parts = Parts {
            host: self.host,
            clock: Clock::starting_at(run.start),
            table: run.table,
            slots: run.jobs.into_iter().map(slot).collect(),
            datagrams: Datagrams::new(self.udp, &self.settings)?,
            streams: Streams::new(self.tcp, (run.key, secret), &self.settings),
            settings: self.settings,
            handle: self.handle,
            signals: run.signals.then(Requests::catch).transpose()?,
        };
        Ok(Driver::new(parts)?.run(progress)?)
    }
}

/// A socket at an address, or at another port when that one is taken.
fn bind<S>(address: SocketAddr, open: impl Fn(SocketAddr) -> io::Result<S>) -> Result<S, Error> {
    open(address)
        .or_else(|error| match error.kind() {
            io::ErrorKind::AddrInUse => open(SocketAddr::new(address.ip(), 0)),
            _ => Err(error),
        })
        .map_err(|source| Error::Address { address, source })
}

/// A TCP socket that has its port and takes no connection yet.
fn listener(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    // Connections of a life before may still be in TIME-WAIT.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}
