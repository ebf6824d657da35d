//! One process that has nobody else: strangers call it and write to it, and what it opens they take.

use process::testing::{Network, World};
use process::{Addr, HostId, Process, StreamId};

/// A world with `process` on `host`, which starts with the first event.
pub(crate) fn alone(host: HostId, process: Box<dyn Process>) -> World {
    let mut world = World::new(Network { strangers: true, ..Network::default() }, 1);
    world.add(host, process);
    world
}

/// The streams of strangers, by number.
pub(crate) struct Strangers {
    to: Addr,
    streams: [Option<StreamId>; 8],
}

impl Strangers {
    /// They call `to`.
    pub fn new(to: Addr) -> Strangers {
        Strangers { to, streams: [None; 8] }
    }

    /// The stream of a number, and whether it is a new one, opened from `host`: at the first use, and when
    /// the process has ended the one before. None if nobody listens.
    pub fn stream(&mut self, world: &mut World, number: usize, host: u32) -> Option<(StreamId, bool)> {
        if let Some(stream) = self.streams[number].filter(|stream| world.is_open(*stream)) {
            return Some((stream, false));
        }
        self.streams[number] = world.call_now(Addr { host: HostId(host), ..self.to }, self.to);
        self.streams[number].map(|stream| (stream, true))
    }
}
