//! Streams that come to a member: whoever connects says first that it belongs to the job ([`crate::hello`]).

use super::connect::prepare;
use super::{Streams, World};
use crate::hello;
use crate::report::Outcome;
use crate::seal::{Damaged, HANDSHAKE, Seal, Secret};
use crate::stream::{Owner, Sealed, Stage, Stream};
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
        let owner =
            Owner { process, job, opener: false, peer: nobody, port, group: 0, opened: world.now, number: 0 };
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

    /// Drops the stranger that has waited longest, of the address that most come from: who belongs to the job
    /// has said so within a round trip, and many who don't can't keep it out.
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
        let (key, secret) = (self.key, self.secret);
        let Some(stream) = self.get(id) else { return };
        let mut bytes = [0; hello::LENGTH + HANDSHAKE];
        let whole = hello::LENGTH + if secret.is_some() { HANDSHAKE } else { 0 };
        let missing = whole - stream.greeting.len();
        match io::Read::read(&mut (&stream.socket), &mut bytes[..missing]) {
            Ok(n) if n > 0 => stream.greeting.extend_from_slice(&bytes[..n]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            _ => return self.strange(id, world),
        }
        if stream.greeting.len() < whole {
            return self.touch(id);
        }
        let (hello, said) = stream.greeting.split_first_chunk().expect("it is whole");
        let (greeted, said) = (hello.to_vec(), said.to_vec());
        let to = Addr { host: world.host, port: stream.owner.port };
        let member = hello::decode(&key, hello, to).filter(|hello| world.table.host(hello.host).is_some());
        let Some(member) = member else { return self.strange(id, world) };
        // Under a greeting that was only overheard nothing can be sealed: it does not count as the member's.
        let sealed = secret.map(|secret| answer(&secret, &greeted, &said)).transpose();
        let (Ok(sealed), true) = (sealed, self.seen.is_new(member)) else { return self.strange(id, world) };
        let hello = member;
        let host = hello.host;
        let Some(stream) = self.get(id) else { return };
        (stream.owner.peer, stream.owner.number) = (host, hello.number);
        stream.stage = Stage::Open;
        stream.sealed = sealed;
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

/// The listener's end of a sealed stream, from what its opener has said first.
fn answer(secret: &Secret, hello: &[u8], said: &[u8]) -> Result<Box<Sealed>, Damaged> {
    let mut seal = Seal::listener(secret, hello);
    seal.hear(said.try_into().map_err(|_| Damaged)?)?;
    let answer = seal.say()?;
    Ok(Sealed::new(seal, &answer))
}
