//! The TCP streams of a member: opened, accepted, looked after, and what their processes are told of them.

use crate::hello::{self, Key};
use crate::report::{Counters, FlowRow, Outcome};
use crate::settings::Settings;
use crate::stream::{Owner, Stage, Stream, reason};
use crate::table::Table;
use process::{Addr, CloseReason, Event, HostId, Payload, Read, StreamId};
use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};
use std::collections::VecDeque;
use std::io;
use sys::epoll::{Epoll, Ready};
use units::Time;

/// Events for processes, in order.
pub(crate) type Inbox = VecDeque<(u32, Event)>;

/// Time between two tries.
const RETRY: Time = Time::from_ms(10);
/// A connection that has not said whose it is by then is dropped.
const GREETING: Time = Time::from_secs(5);
/// Connections that have not said whose they are, at most.
const STRANGERS: usize = 256;
/// Bytes that a stream brings before others get their turn.
const FILL_BYTES: u64 = 1 << 20;
/// Rows of flows that are kept.
const FLOWS_KEPT: usize = 1 << 20;

/// A port that takes streams.
pub(crate) struct Listener {
    /// Its number in the job.
    pub port: u16,
    pub socket: Socket,
    /// Who listens.
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
    begun: u64,
    open: usize,
    pub listeners: Vec<Listener>,
    key: Key,
    settings: Settings,
    scratch: Vec<u8>,
    /// Streams that may have something to send, to read or to tell.
    touched: Vec<StreamId>,
    /// Streams that have to get further by then.
    deadlines: VecDeque<(Time, StreamId)>,
    greetings: VecDeque<(Time, StreamId)>,
    retries: VecDeque<(Time, StreamId)>,
    rows: Vec<FlowRow>,
    rows_lost: u64,
}

impl Streams {
    pub fn new(sockets: Vec<(u16, Socket)>, key: Key, settings: &Settings) -> Streams {
        let listener = |(port, socket)| Listener { port, socket, owner: None, ready: false };
        Streams {
            slots: Vec::new(),
            free: Vec::new(),
            begun: 0,
            open: 0,
            listeners: sockets.into_iter().map(listener).collect(),
            key,
            settings: settings.clone(),
            scratch: vec![0; 64 << 10],
            touched: Vec::new(),
            deadlines: VecDeque::new(),
            greetings: VecDeque::new(),
            retries: VecDeque::new(),
            rows: Vec::new(),
            rows_lost: 0,
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

    /// Opens a stream for a process.
    pub fn open(
        &mut self,
        (process, job): (u32, u32),
        to: Addr,
        group: u64,
        world: &mut World<'_>,
    ) -> StreamId {
        let id = self.next_id();
        let owner =
            Owner { process, job, opener: true, peer: to.host, port: to.port, group, opened: world.now };
        let connected = if self.open < self.settings.streams {
            connect(to, id, &self.settings, world)
        } else {
            Err(io::ErrorKind::ConnectionRefused.into())
        };
        match connected {
            Ok(socket) => {
                let greeting = hello::encode(&self.key, world.host).to_vec();
                self.insert(id, Stream::new(socket, Stage::Connecting, owner, greeting));
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

    fn connected(&mut self, id: StreamId, world: &mut World<'_>) {
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

    fn retry(&mut self, id: StreamId, world: &mut World<'_>) {
        let settings = self.settings.clone();
        let Some(stream) = self.get(id) else { return };
        let to = Addr { host: stream.owner.peer, port: stream.owner.port };
        match connect(to, id, &settings, world) {
            Ok(socket) => stream.socket = socket,
            Err(error) => self.fail(id, &error, world),
        }
    }

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
    fn greet(&mut self, index: usize, socket: Socket, world: &mut World<'_>) {
        let Some((process, job)) = self.listeners[index].owner else { return };
        if self.open >= self.settings.streams || self.greetings.len() >= STRANGERS {
            world.counters.refused_streams += 1;
            return;
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

    /// Reads what has come of a greeting; when it is whole, the process gets its stream.
    fn greeted(&mut self, id: StreamId, world: &mut World<'_>) {
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
        let member = hello::decode(&key, hello).filter(|host| world.table.host(*host).is_some());
        let Some(host) = member else { return self.strange(id, world) };
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
    fn strange(&mut self, id: StreamId, world: &mut World<'_>) {
        world.counters.foreign_streams += 1;
        self.greetings.retain(|(_, waiting)| *waiting != id);
        if let Some(stream) = self.get(id) {
            stream.reset();
        }
        self.remove(id, Outcome::Reset, world);
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
        let mut scratch = std::mem::take(&mut self.scratch);
        let stream = self.get(id).expect("the caller has looked");
        let moved = stream.flush().and_then(|sent| {
            world.counters.stream_sent_bytes += sent;
            stream.fill(&mut scratch, room, FILL_BYTES)
        });
        let process = stream.owner.process;
        match moved {
            Err(error) => self.fail(id, &error, world),
            Ok(received) => {
                world.counters.stream_received_bytes += received;
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
                } else if stream.more && stream.input_bytes < room {
                    self.touch(id);
                }
            }
        }
        self.scratch = scratch;
    }

    fn fail(&mut self, id: StreamId, error: &io::Error, world: &mut World<'_>) {
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

    fn remove(&mut self, id: StreamId, outcome: Outcome, world: &World<'_>) {
        if self.get(id).is_none() {
            return;
        }
        let slot = id.0 as u32;
        let Some((_, stream)) = self.slots[slot as usize].take() else { return };
        self.free.push(slot);
        self.open -= 1;
        if stream.owner.opener {
            let mut row = flow_row(&stream.owner, (stream.sent, stream.received), world, outcome);
            if let Ok(info) = sys::tcp::info(&stream.socket) {
                row.sent_packets = info.sent_segments;
                row.sent_bytes = info.sent_bytes;
                row.retransmits = info.retransmits;
                let present = |time| Some(crate::clock::to_time(time).as_ps()).filter(|ps| *ps > 0);
                (row.min_rtt_ps, row.srtt_ps) = (present(info.min_rtt), present(info.srtt));
            }
            self.keep(row);
        }
    }

    fn keep(&mut self, row: FlowRow) {
        if self.rows.len() < FLOWS_KEPT {
            self.rows.push(row);
        } else {
            self.rows_lost += 1;
        }
    }

    /// When something is due.
    pub fn next(&self) -> Option<Time> {
        [&self.deadlines, &self.greetings, &self.retries]
            .into_iter()
            .filter_map(|queue| queue.front().map(|(at, _)| *at))
            .min()
    }

    /// Sees to what is due.
    pub fn on_time(&mut self, world: &mut World<'_>) {
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

    /// Closes the books: streams that are open stay unfinished.
    pub fn finish(&mut self, world: &World<'_>) -> (Vec<FlowRow>, u64) {
        let open: Vec<StreamId> = self.slots.iter().flatten().map(|(id, _)| *id).collect();
        for id in open {
            self.remove(id, Outcome::Unfinished, world);
        }
        (std::mem::take(&mut self.rows), self.rows_lost)
    }
}

fn due(queue: &mut VecDeque<(Time, StreamId)>, now: Time) -> Option<StreamId> {
    if queue.front()?.0 > now {
        return None;
    }
    queue.pop_front().map(|(_, id)| id)
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

fn prepare(socket: &Socket, settings: &Settings) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    socket.set_tcp_nodelay(true)?;
    let timeout = settings.peer_timeout();
    socket.set_tcp_user_timeout(Some(timeout))?;
    // A peer that is gone is found even when there is nothing to send to it.
    let second = std::time::Duration::from_secs(1);
    socket.set_tcp_keepalive(
        &TcpKeepalive::new().with_time((timeout / 2).max(second)).with_interval((timeout / 8).max(second)),
    )
}

fn flow_row(owner: &Owner, (sent, received): (u64, u64), world: &World<'_>, outcome: Outcome) -> FlowRow {
    let (host, peer) = (world.host.0, owner.peer.0);
    let (from, to) = if received > sent { (peer, host) } else { (host, peer) };
    FlowRow {
        job: owner.job,
        group: owner.group,
        from,
        to,
        bytes: sent + received,
        start_ps: owner.opened.as_ps(),
        end_ps: (outcome == Outcome::Finished).then(|| world.now.as_ps()),
        sent_packets: 0,
        sent_bytes: 0,
        retransmits: 0,
        min_rtt_ps: None,
        srtt_ps: None,
        outcome,
    }
}

impl From<CloseReason> for Outcome {
    fn from(reason: CloseReason) -> Outcome {
        match reason {
            CloseReason::Finished => Outcome::Finished,
            CloseReason::Refused => Outcome::Refused,
            CloseReason::Reset => Outcome::Reset,
            CloseReason::TimedOut => Outcome::TimedOut,
        }
    }
}
