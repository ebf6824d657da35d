//! The client: when calls begin, which servers they ask, over which connections, and how they end.
//!
//! A server that is lost after it acknowledged a request says nothing, and TCP does not notice: nothing is on
//! its way to it. So a client that has waited for [`SILENCE`] sends a ping, as Hadoop's clients do
//! (`ipc.ping.interval`). A server that has restarted resets the connection; if none answers, TCP gives up.

use super::calls::{Board, Call};
use super::settings::{Arrivals, Rpc, Sizes};
use super::wire::{Head, Wire};
use crate::draw;
use process::wire::Malformed;
use process::{Addr, Context, Event, HostId, StreamId};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use units::Time;

/// A client that has heard nothing of a server for so long, and waits for its reply, sends a ping.
pub const SILENCE: Time = Time::from_secs(60);

/// A client's timer: the next arrival of an open loop. A caller of a closed loop has the timer of its number
/// behind it.
const ARRIVAL: u64 = 0;
/// And the one that finds servers from which nothing has come.
const LISTEN: u64 = u64::MAX;

/// A call under way.
#[derive(Debug)]
struct Open {
    call: Call,
    /// Replies that are missing.
    missing: u32,
    /// Of a closed loop: who waits for it.
    caller: Option<u32>,
}

/// A request that waits for a connection.
#[derive(Debug)]
struct Request {
    call: u64,
    bytes: u64,
    wanted: u64,
}

/// A client's way to a server.
#[derive(Debug, Default)]
struct Pool {
    connections: u32,
    idle: Vec<StreamId>,
    waiting: VecDeque<Request>,
}

/// A connection of a client.
#[derive(Debug)]
struct Connection {
    server: HostId,
    wire: Wire,
    /// The call whose reply it waits for.
    call: Option<u64>,
    /// When the request was written, the server was last heard, or a ping was sent.
    quiet_since: Time,
}

/// Calls servers.
#[derive(Debug)]
pub(super) struct Client {
    port: u16,
    job: Arc<Rpc>,
    sizes: Arc<Sizes>,
    /// All servers but this host.
    servers: Vec<HostId>,
    board: Board,
    /// Calls that have begun.
    begun: u64,
    open: BTreeMap<u64, Open>,
    connections: BTreeMap<StreamId, Connection>,
    pools: BTreeMap<HostId, Pool>,
    /// The timer [`LISTEN`] is set.
    listens: bool,
    finished: bool,
}

impl Client {
    pub(super) fn new(host: HostId, port: u16, job: Arc<Rpc>, sizes: Arc<Sizes>, board: Board) -> Client {
        let servers = job.servers.iter().copied().filter(|server| *server != host).collect();
        let (open, connections, pools) = Default::default();
        let (begun, listens, finished) = (0, false, false);
        Client { port, job, sizes, servers, board, begun, open, connections, pools, listens, finished }
    }

    pub(super) fn handle(&mut self, event: &Event, cx: &mut dyn Context) {
        match *event {
            Event::Start => self.start(cx),
            Event::Timer { token: ARRIVAL } => {
                self.call(None, cx);
                self.await_arrival(cx);
            }
            Event::Timer { token: LISTEN } => self.listen(cx),
            Event::Timer { token } => self.call(Some((token - 1) as u32), cx),
            Event::Readable { stream } => self.receive(stream, cx),
            Event::Writable { stream } => {
                if let Some(connection) = self.connections.get_mut(&stream) {
                    connection.wire.resume(stream, cx);
                }
            }
            Event::Closed { stream, .. } => self.lose(stream, cx),
            Event::PeerLost { host } => {
                let of_it = self.connections.iter().filter(|(_, connection)| connection.server == host);
                let lost: Vec<StreamId> = of_it.map(|(stream, _)| *stream).collect();
                for stream in lost {
                    cx.abort(stream);
                    self.lose(stream, cx);
                }
            }
            _ => {}
        }
    }

    /// After a restart the calls that were under way have failed.
    fn start(&mut self, cx: &mut dyn Context) {
        self.connections.clear();
        self.pools.clear();
        (self.listens, self.finished) = (false, false);
        let lost: Vec<u64> = self.open.keys().copied().collect();
        for number in lost {
            let open = self.open.get_mut(&number).expect("a key of the same map");
            (open.call.failed, open.missing, open.caller) = (true, 0, None);
            self.end(number, cx);
        }
        match self.job.arrivals {
            Arrivals::Open { .. } => self.await_arrival(cx),
            Arrivals::Closed { callers, think } => {
                (0..callers).for_each(|caller| think_of(caller, think, cx));
            }
        }
        self.finish_if_done(cx);
    }

    fn await_arrival(&mut self, cx: &mut dyn Context) {
        if let Arrivals::Open { every } = self.job.arrivals
            && self.begun < self.job.calls
        {
            let wait = drawn(every, cx);
            cx.set_timer(ARRIVAL, wait);
        }
    }

    fn call(&mut self, caller: Option<u32>, cx: &mut dyn Context) {
        if self.begun == self.job.calls {
            return self.finish_if_done(cx);
        }
        let number = self.begun;
        self.begun += 1;
        let call = Call { number, start: cx.now(), end: None, failed: false, bytes: 0 };
        self.open.insert(number, Open { call, missing: self.job.fan_out, caller });
        self.board.change(|shown| shown.open.insert(number, call));
        // The first of a shuffle that stops as soon as there are enough (Fisher and Yates).
        for asked in 0..self.job.fan_out as usize {
            let other = asked + draw::index(cx.rng(), self.servers.len() - asked);
            self.servers.swap(asked, other);
            self.request(number, self.servers[asked], cx);
        }
    }

    fn request(&mut self, number: u64, server: HostId, cx: &mut dyn Context) {
        let (bytes, wanted) = (self.sizes.request.draw(cx.rng()), self.sizes.reply.draw(cx.rng()));
        self.pools.entry(server).or_default().waiting.push_back(Request { call: number, bytes, wanted });
        self.serve(server, cx);
        if let Some(open) = self.open.get_mut(&number) {
            open.call.bytes += bytes;
        }
    }

    /// Sends what waits for a server while there are connections for it.
    fn serve(&mut self, server: HostId, cx: &mut dyn Context) {
        let Some(pool) = self.pools.get_mut(&server) else { return };
        while !pool.waiting.is_empty() {
            let stream = match pool.idle.pop() {
                Some(stream) => stream,
                None if pool.connections < self.job.connections => {
                    pool.connections += 1;
                    cx.open(Addr { host: server, port: self.port }, 0)
                }
                None => return,
            };
            let Some(Request { call, bytes, wanted }) = pool.waiting.pop_front() else { return };
            let quiet_since = cx.now();
            let new = || Connection { server, wire: Wire::new(), call: None, quiet_since };
            let connection = self.connections.entry(stream).or_insert_with(new);
            (connection.call, connection.quiet_since) = (Some(call), quiet_since);
            connection.wire.send(Head { call, bytes, wanted }, stream, cx);
            if !std::mem::replace(&mut self.listens, true) {
                cx.set_timer(LISTEN, SILENCE);
            }
        }
    }

    /// Pings servers that have said nothing for long. What is unsent does the same.
    fn listen(&mut self, cx: &mut dyn Context) {
        let (now, mut next) = (cx.now(), None);
        for (stream, connection) in &mut self.connections {
            if connection.call.is_none() {
                continue;
            }
            if now >= connection.quiet_since.saturating_add(SILENCE) {
                connection.quiet_since = now;
                if connection.wire.is_written() {
                    connection.wire.send(Head::PING, *stream, cx);
                }
            }
            let due = connection.quiet_since.saturating_add(SILENCE);
            next = Some(next.map_or(due, |next: Time| next.min(due)));
        }
        self.listens = next.is_some();
        if let Some(due) = next {
            cx.set_timer(LISTEN, due - now);
        }
    }

    fn receive(&mut self, stream: StreamId, cx: &mut dyn Context) {
        while let Some(connection) = self.connections.get_mut(&stream) {
            connection.quiet_since = cx.now();
            match connection.wire.receive(stream, cx) {
                Ok(Some(head)) if connection.call == Some(head.call) => {
                    connection.call = None;
                    let server = connection.server;
                    self.pools.entry(server).or_default().idle.push(stream);
                    self.serve(server, cx);
                    self.replied(head.call, Some(head.bytes), cx);
                }
                Ok(None) if connection.wire.has_ended() => return connection.wire.close(stream, cx),
                Ok(None) => return,
                Ok(Some(_)) | Err(Malformed) => {
                    cx.abort(stream);
                    self.lose(stream, cx);
                }
            }
        }
    }

    /// A connection is gone; with it the request that it carried.
    fn lose(&mut self, stream: StreamId, cx: &mut dyn Context) {
        let Some(connection) = self.connections.remove(&stream) else { return };
        if let Some(pool) = self.pools.get_mut(&connection.server) {
            pool.connections -= 1;
            pool.idle.retain(|kept| *kept != stream);
        }
        if let Some(number) = connection.call {
            self.replied(number, None, cx);
        }
        self.serve(connection.server, cx);
        self.finish_if_done(cx);
    }

    /// One of a call's replies is complete, or will never be.
    fn replied(&mut self, number: u64, bytes: Option<u64>, cx: &mut dyn Context) {
        let Some(open) = self.open.get_mut(&number) else { return };
        open.missing -= 1;
        open.call.bytes += bytes.unwrap_or_default();
        open.call.failed |= bytes.is_none();
        if open.missing == 0 {
            self.end(number, cx);
            self.finish_if_done(cx);
        }
    }

    fn end(&mut self, number: u64, cx: &mut dyn Context) {
        let Some(mut open) = self.open.remove(&number) else { return };
        open.call.end = Some(cx.now());
        self.board.change(|shown| {
            shown.open.remove(&number);
            shown.failed += u64::from(open.call.failed);
            shown.ended.push(open.call);
        });
        if let (Some(caller), Arrivals::Closed { think, .. }) = (open.caller, self.job.arrivals) {
            think_of(caller, think, cx);
        }
    }

    /// When all calls have ended, connections are closed, and with the last of them the client is done.
    fn finish_if_done(&mut self, cx: &mut dyn Context) {
        if self.begun < self.job.calls || !self.open.is_empty() || self.finished {
            return;
        }
        self.connections.iter_mut().for_each(|(stream, connection)| connection.wire.close(*stream, cx));
        if self.connections.is_empty() {
            self.finished = true;
            cx.finish();
        }
    }
}

/// A caller begins its next call after a time.
fn think_of(caller: u32, think: Time, cx: &mut dyn Context) {
    let wait = drawn(think, cx);
    cx.set_timer(u64::from(caller) + 1, wait);
}

/// From the exponential distribution with this mean.
fn drawn(mean: Time, cx: &mut dyn Context) -> Time {
    Time::from_ps(draw::exponential(cx.rng(), mean.as_ps() as f64))
}
