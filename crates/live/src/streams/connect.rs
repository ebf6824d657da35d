//! Streams that a member opens: tried, tried again while a peer may not listen yet, established.

use super::rows::flow_row;
use super::{Streams, World};
use crate::hello::{self, Hello};
use crate::seal::Seal;
use crate::settings::Settings;
use crate::stream::{Owner, Sealed, Stage, Stream, reason};
use process::{Addr, Event, StreamId};
use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};
use std::io;
use std::time::Duration;
use units::Time;

/// Time between two tries.
const RETRY: Time = Time::from_ms(10);

impl Streams {
    /// Opens a stream for a process.
    pub fn open(
        &mut self,
        (process, job): (u32, u32),
        to: Addr,
        group: u64,
        world: &mut World<'_>,
    ) -> StreamId {
        let id = self.next_id();
        let owner = Owner {
            process,
            job,
            opener: true,
            peer: to.host,
            port: to.port,
            group,
            opened: world.now,
            number: self.begun,
        };
        let connected = if self.open < self.settings.streams {
            connect(to, id, &self.settings, world)
        } else {
            Err(io::ErrorKind::ConnectionRefused.into())
        };
        match connected {
            Ok(socket) => {
                let greeting = self.greeting(to, world);
                let sealed = self.secret.map(|secret| {
                    let mut seal = Seal::opener(&secret, &greeting);
                    let said = seal.say().expect("the opener speaks first");
                    Sealed::new(seal, &said)
                });
                let mut stream = Stream::new(socket, Stage::Connecting, owner, greeting);
                stream.sealed = sealed;
                self.insert(id, stream);
                let at = world.now.saturating_add(Time::from_ms(self.settings.peer_timeout_ms));
                self.deadlines.push_back((at, id));
            }
            Err(error) => {
                world.counters.refused_streams += 1;
                self.free.push(id.0 as u32);
                let reason = reason(&error);
                self.keep(flow_row(&owner, (0, 0), world, reason.into()));
                world.inbox.push_back((process, Event::Closed { stream: id, reason }));
            }
        }
        id
    }

    /// What a stream to `to` begins with.
    fn greeting(&mut self, to: Addr, world: &World<'_>) -> Vec<u8> {
        let hello = Hello { host: world.host, life: self.life, number: self.begun };
        hello::encode(&self.key, hello, to).to_vec()
    }

    pub(super) fn connected(&mut self, id: StreamId, world: &mut World<'_>) {
        let Some(stream) = self.get(id) else { return };
        match stream.socket.take_error() {
            Ok(None) if stream.socket.peer_addr().is_ok() => {
                stream.stage = Stage::Open;
                world.inbox.push_back((stream.owner.process, Event::Opened { stream: id }));
            }
            Ok(None) => {}
            Ok(Some(error)) | Err(error) => {
                if error.kind() == io::ErrorKind::ConnectionRefused && world.early {
                    self.retries.push_back((world.now.saturating_add(RETRY), id));
                } else {
                    self.fail(id, &error, world);
                }
            }
        }
    }

    pub(super) fn retry(&mut self, id: StreamId, world: &mut World<'_>) {
        let settings = self.settings.clone();
        let Some(stream) = self.get(id) else { return };
        let to = Addr { host: stream.owner.peer, port: stream.owner.port };
        match connect(to, id, &settings, world) {
            Ok(socket) => stream.socket = socket,
            Err(error) => self.fail(id, &error, world),
        }
    }
}

/// A socket on its way to `to`.
fn connect(to: Addr, id: StreamId, settings: &Settings, world: &World<'_>) -> io::Result<Socket> {
    let Some(address) = world.table.tcp(to) else { return Err(io::ErrorKind::ConnectionRefused.into()) };
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    prepare(&socket, settings)?;
    match socket.connect(&address.into()) {
        Err(error) if error.raw_os_error() != Some(sys::tcp::IN_PROGRESS) => return Err(error),
        _ => {}
    }
    world.epoll.add(&socket, id.0)?;
    Ok(socket)
}

pub(super) fn prepare(socket: &Socket, settings: &Settings) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    socket.set_tcp_nodelay(true)?;
    let timeout = settings.peer_timeout();
    socket.set_tcp_user_timeout(Some(timeout))?;
    sys::tcp::cap_rto(socket, Duration::from_millis(settings.rto_max_ms));
    // A peer that is gone is found even when there is nothing to send to it.
    let second = Duration::from_secs(1);
    socket.set_tcp_keepalive(
        &TcpKeepalive::new().with_time((timeout / 2).max(second)).with_interval((timeout / 8).max(second)),
    )
}
