//! Streams that come to a member: whoever connects says first that it belongs to the job ([`crate::hello`]).

use super::connect::prepare;
use super::{Streams, World};
use crate::hello;
use crate::report::Outcome;
use crate::stream::{Owner, Stage, Stream};
use process::{Addr, Event, HostId, StreamId};
use socket2::Socket;
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use units::Time;

/// A connection that has not said whose it is by then is dropped, however much it says.
const GREETING: Time = Time::from_secs(5);
/// Connections that have not said whose they are, at most.
const STRANGERS: usize = 256;

impl Streams {
    /// Accepts who waits at `index`.
    pub fn accept(&mut self, index: usize, world: &mut World<'_>) {
        while self.listeners[index].ready {
            match self.listeners[index].socket.accept() {
                Ok((socket, _)) => self.greet(index, socket, world),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                // No more, or no descriptors left: the next one that comes is a new try.
                Err(_) => self.listeners[index].ready = false,
            }
        }
    }

    /// Somebody has connected: they say who they are first.
    pub(super) fn greet(&mut self, index: usize, socket: Socket, world: &mut World<'_>) {
        let Some((process, job)) = self.listeners[index].owner else { return };
        if self.open >= self.settings.streams {
            world.counters.refused_streams += 1;
            return;
        }
        if self.greetings.len() >= STRANGERS {
            self.make_room(world);
        }
        let id = self.next_id();
        let (port, nobody) = (self.listeners[index].port, HostId(u32::MAX));
        let owner = Owner { process, job, opener: false, peer: nobody, port, group: 0, opened: world.now };
        let ready = prepare(&socket, &self.settings).and_then(|()| world.epoll.add(&socket, id.0));
        if ready.is_err() {
            self.free.push(id.0 as u32);
            world.counters.refused_streams += 1;
            return;
        }
        self.insert(id, Stream::new(socket, Stage::Greeting, owner, Vec::with_capacity(hello::LENGTH)));
        self.greetings.push_back((world.now.saturating_add(GREETING), id));
        self.touch(id);
    }

    /// Drops the stranger that has waited longest, of the address that most come from: who belongs to the job has said so
    /// within a round trip, and many who don't can't keep it out.
    fn make_room(&mut self, world: &mut World<'_>) {
        let waiting: Vec<StreamId> = self.greetings.iter().map(|(_, id)| *id).collect();
        let origins: Vec<Option<IpAddr>> = waiting.iter().map(|id| self.origin(*id)).collect();
        let mut counts: BTreeMap<Option<IpAddr>, usize> = BTreeMap::new();
        origins.iter().for_each(|origin| *counts.entry(*origin).or_default() += 1);
        let longest = waiting.iter().zip(&origins).rev().max_by_key(|(_, origin)| counts[origin]);
        if let Some((id, _)) = longest {
            self.strange(*id, world);
        }
    }

    fn origin(&mut self, id: StreamId) -> Option<IpAddr> {
        let address = self.get(id)?.socket.peer_addr().ok()?.as_socket()?;
        Some(address.ip())
    }

    /// Reads what has come of a greeting; when it is whole, the process gets its stream.
    pub(super) fn greeted(&mut self, id: StreamId, world: &mut World<'_>) {
        let key = self.key;
        let Some(stream) = self.get(id) else { return };
        let mut bytes = [0; hello::LENGTH];
        let missing = hello::LENGTH - stream.greeting.len();
        match io::Read::read(&mut (&stream.socket), &mut bytes[..missing]) {
            Ok(n) if n > 0 => stream.greeting.extend_from_slice(&bytes[..n]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            _ => return self.strange(id, world),
        }
        let Ok(hello) = stream.greeting[..].try_into() else { return self.touch(id) };
        let to = Addr { host: world.host, port: stream.owner.port };
        let member = hello::decode(&key, hello, to).filter(|hello| world.table.host(hello.host).is_some());
        let Some(hello) = member.filter(|hello| self.seen.is_new(*hello)) else {
            return self.strange(id, world);
        };
        let host = hello.host;
        let Some(stream) = self.get(id) else { return };
        stream.owner.peer = host;
        stream.stage = Stage::Open;
        stream.greeting.clear();
        let Owner { process, port, .. } = stream.owner;
        let address = stream.socket.peer_addr().ok().and_then(|address| address.as_socket());
        let from = Addr { host, port: address.map_or(0, |address| address.port()) };
        world.inbox.push_back((process, Event::Accepted { stream: id, from, port }));
        self.greetings.retain(|(_, waiting)| *waiting != id);
        self.touch(id);
    }

    /// Somebody who is no member of the job.
    pub(super) fn strange(&mut self, id: StreamId, world: &mut World<'_>) {
        world.counters.foreign_streams += 1;
        self.greetings.retain(|(_, waiting)| *waiting != id);
        if let Some(stream) = self.get(id) {
            stream.reset();
        }
        self.remove(id, Outcome::Reset, world);
    }
}
