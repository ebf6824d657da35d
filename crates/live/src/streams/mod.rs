//! The TCP streams of a member: opened, accepted, looked after, and what their processes are told of them.

mod connect;
mod greet;
mod rows;
mod sampler;

use crate::clock;
use crate::hello::{Key, Seen};
use crate::report::{Counters, FarEnd, FlowRow, Outcome};
use crate::seal::Secret;
use crate::settings::Settings;
use crate::stream::{Stage, Stream, reason};
use crate::table::Table;
use bytes::BytesMut;
use process::{CloseReason, Event, HostId, Payload, Read, StreamId};
use sampler::Sampler;
use socket2::Socket;
use std::collections::VecDeque;
use std::io;
use sys::epoll::{Epoll, Ready};
use units::Time;

/// Events for processes, in order.
pub(crate) type Inbox = VecDeque<(u32, Event)>;

/// Bytes that a stream brings before others get their turn.
const FILL_BYTES: u64 = 1 << 20;

/// A port that takes streams.
pub(crate) struct Listener {
    /// Its number in the job.
    pub port: u16,
    pub socket: Socket,
    /// The listener.
    pub owner: Option<(u32, u32)>,
    /// Somebody may wait to be accepted.
    pub ready: bool,
}

/// What the driver lends for a call.
pub(crate) struct World<'a> {
    pub now: Time,
    /// Peers whose clock is behind may not listen yet: who is refused tries again.
    pub early: bool,
    pub host: HostId,
    pub table: &'a Table,
    pub epoll: &'a Epoll,
    pub counters: &'a mut Counters,
    pub inbox: &'a mut Inbox,
}

/// All streams of a member.
pub(crate) struct Streams {
    slots: Vec<Option<(StreamId, Stream)>>,
    free: Vec<u32>,
    /// Streams begun in this life.
    begun: u64,
    life: u64,
    seen: Seen,
    open: usize,
    pub listeners: Vec<Listener>,
    key: Key,
    /// Streams are sealed with it.
    secret: Option<Secret>,
    settings: Settings,
    /// Where the kernel puts what it has.
    block: BytesMut,
    /// Streams that may have something to send, to read or to tell.
    touched: Vec<StreamId>,
    /// Streams that have to get further by then.
    deadlines: VecDeque<(Time, StreamId)>,
    greetings: VecDeque<(Time, StreamId)>,
    retries: VecDeque<(Time, StreamId)>,
    rows: Vec<FlowRow>,
    far_ends: Vec<FarEnd>,
    /// Streams that others opened and that have gone, with [`Settings::one_clock`].
    past: VecDeque<Stream>,
    rows_lost: u64,
    /// With [`Settings::sample_ns`].
    pub sampler: Sampler,
}

impl Streams {
    pub fn new(
        sockets: Vec<(u16, Socket)>,
        (key, secret): (Key, Option<Secret>),
        settings: &Settings,
    ) -> Streams {
        let listener = |(port, socket)| Listener { port, socket, owner: None, ready: false };
        Streams {
            slots: Vec::new(),
            free: Vec::new(),
            begun: 0,
            life: clock::calendar_ns(),
            seen: Seen::default(),
            open: 0,
            listeners: sockets.into_iter().map(listener).collect(),
            key,
            secret,
            settings: settings.clone(),
            block: BytesMut::new(),
            touched: Vec::new(),
            deadlines: VecDeque::new(),
            greetings: VecDeque::new(),
            retries: VecDeque::new(),
            rows: Vec::new(),
            far_ends: Vec::new(),
            past: VecDeque::new(),
            rows_lost: 0,
            sampler: Sampler::new(settings.sample_ns),
        }
    }

    /// Streams open now.
    pub fn count(&self) -> usize {
        self.open
    }

    fn get(&mut self, id: StreamId) -> Option<&mut Stream> {
        let slot = self.slots.get_mut(id.0 as u32 as usize)?.as_mut()?;
        (slot.0 == id).then_some(&mut slot.1)
    }

    fn touch(&mut self, id: StreamId) {
        if let Some(stream) = self.get(id)
            && !std::mem::replace(&mut stream.touched, true)
        {
            self.touched.push(id);
        }
    }

    fn next_id(&mut self) -> StreamId {
        self.begun += 1;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        // The top bit is left to tokens that mean no stream.
        StreamId(((self.begun & 0x7fff_ffff) << 32) | u64::from(slot))
    }

    fn insert(&mut self, id: StreamId, stream: Stream) {
        self.open += 1;
        self.slots[id.0 as u32 as usize] = Some((id, stream));
    }

    pub fn write(&mut self, id: StreamId, data: Payload) -> u64 {
        let room = self.settings.stream_buffer_bytes as u64;
        let taken = self.get(id).map_or(0, |stream| stream.write(data, room));
        self.touch(id);
        taken
    }

    pub fn read(&mut self, id: StreamId, max: u64) -> Read {
        let read = self.get(id).map_or_else(Read::default, |stream| stream.read(max));
        self.touch(id);
        read
    }

    pub fn drain(&mut self, id: StreamId) {
        if let Some(stream) = self.get(id) {
            stream.drain();
        }
        self.touch(id);
    }

    pub fn close(&mut self, id: StreamId) {
        if let Some(stream) = self.get(id) {
            stream.closing = true;
        }
        self.touch(id);
    }

    /// Drops a stream at once; its process is not told.
    pub fn abort(&mut self, id: StreamId, world: &World<'_>) {
        if let Some(stream) = self.get(id) {
            stream.reset();
            self.remove(id, Outcome::Reset, world);
        }
    }

    /// A socket is ready for something.
    pub fn on_ready(&mut self, ready: Ready, world: &mut World<'_>) {
        let id = StreamId(ready.token);
        let Some(stream) = self.get(id) else { return };
        stream.more |= ready.readable;
        if stream.stage == Stage::Connecting && ready.writable {
            self.connected(id, world);
        }
        self.touch(id);
    }

    /// Sees to all streams that something has happened to.
    pub fn settle(&mut self, world: &mut World<'_>) {
        for id in std::mem::take(&mut self.touched) {
            if let Some(stream) = self.get(id) {
                stream.touched = false;
                match stream.stage {
                    Stage::Connecting | Stage::Over => {}
                    Stage::Greeting => self.greeted(id, world),
                    Stage::Open => self.move_on(id, world),
                }
            }
        }
    }

    /// Whether [`Streams::settle`] has something to do.
    pub fn has_work(&self) -> bool {
        !self.touched.is_empty() || self.listeners.iter().any(|l| l.ready && l.owner.is_some())
    }

    fn move_on(&mut self, id: StreamId, world: &mut World<'_>) {
        let room = self.settings.stream_buffer_bytes as u64;
        let mut block = std::mem::take(&mut self.block);
        let stream = self.get(id).expect("the caller has looked");
        let silent = !stream.is_greeted();
        let moved = stream.flush().and_then(|sent| {
            world.counters.stream_sent_bytes += sent;
            stream.fill(&mut block, room, FILL_BYTES)
        });
        let heard = silent && stream.is_greeted();
        let process = stream.owner.process;
        match moved {
            Err(error) => self.fail(id, &error, world),
            Ok(received) => {
                world.counters.stream_received_bytes += received;
                if received > 0 {
                    stream.received_at = world.now;
                }
                if stream.has_news() {
                    stream.told = true;
                    world.inbox.push_back((process, Event::Readable { stream: id }));
                }
                if stream.cut && !stream.closing && stream.has_room(room) {
                    stream.cut = false;
                    world.inbox.push_back((process, Event::Writable { stream: id }));
                }
                if stream.is_done() {
                    self.over(id, CloseReason::Finished, world);
                } else if heard || stream.more && stream.input_bytes < room {
                    self.touch(id);
                }
            }
        }
        self.block = block;
    }

    fn fail(&mut self, id: StreamId, error: &io::Error, world: &mut World<'_>) {
        world.counters.damaged_streams += u64::from(error.kind() == io::ErrorKind::InvalidData);
        // What the other side has sent was changed, or cut off: it is told at once that nothing of it counts.
        if let Some(stream) = self.get(id) {
            stream.reset();
        }
        self.over(id, reason(error), world);
    }

    /// The process is told that a stream is closed; the stream goes when it has been.
    fn over(&mut self, id: StreamId, reason: CloseReason, world: &mut World<'_>) {
        let Some(stream) = self.get(id) else { return };
        stream.stage = Stage::Over;
        stream.reason = Some(reason);
        world.inbox.push_back((stream.owner.process, Event::Closed { stream: id, reason }));
    }

    /// A process has been told that a stream is closed.
    pub fn closed(&mut self, id: StreamId, world: &World<'_>) {
        if let Some(reason) = self.get(id).and_then(|stream| stream.reason) {
            self.remove(id, reason.into(), world);
        }
    }

    /// When something is due.
    pub fn next(&self) -> Option<Time> {
        let queues = [&self.deadlines, &self.greetings, &self.retries].into_iter();
        let due = queues.filter_map(|queue| queue.front().map(|(at, _)| *at));
        // Without a stream there is nothing to sample.
        due.chain(self.sampler.next().filter(|_| self.open > 0)).min()
    }

    /// Sees to what is due.
    pub fn on_time(&mut self, world: &mut World<'_>) {
        if self.sampler.is_due(world.now) {
            let streams = self.slots.iter().flatten().map(|(_, stream)| stream);
            self.sampler.sample(world, streams);
        }
        while let Some(id) = due(&mut self.retries, world.now) {
            self.retry(id, world);
        }
        while let Some(id) = due(&mut self.greetings, world.now) {
            self.strange(id, world);
        }
        while let Some(id) = due(&mut self.deadlines, world.now) {
            if self.get(id).is_some_and(|stream| stream.stage == Stage::Connecting) {
                self.over(id, CloseReason::TimedOut, world);
            }
        }
    }
}

fn due(queue: &mut VecDeque<(Time, StreamId)>, now: Time) -> Option<StreamId> {
    if queue.front()?.0 > now {
        return None;
    }
    queue.pop_front().map(|(_, id)| id)
}
