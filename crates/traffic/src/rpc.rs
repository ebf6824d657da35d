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
//!
//! A server that is lost after it acknowledged a request says nothing, and TCP does not notice: nothing is on
//! its way to it. So a client that has waited for [`SILENCE`] sends a ping, as Hadoop's clients do
//! (`ipc.ping.interval`). A server that has restarted resets the connection; if none answers, TCP gives up.

use crate::Cdf;
use crate::draw;
use process::wire::{Frames, Framing, Malformed, Reader, Writer};
use process::{Addr, Context, Event, HostId, Hosts, Payload, Process, StreamId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use units::{Problem, Time};

/// Calls of a client, at most: each is a row of a table.
pub const CALLS_MAX: u64 = 10_000_000;
/// Callers of a client, at most.
pub const CALLERS_MAX: u32 = 10_000;
/// A client that has heard nothing of a server for so long, and waits for its reply, sends a ping.
pub const SILENCE: Time = Time::from_secs(60);
/// Connections of a client to a server, at most.
pub const CONNECTIONS_MAX: u32 = 10_000;

/// A job of remote procedure calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rpc<H = HostId> {
    /// Hosts that call.
    pub clients: Vec<H>,
    /// Hosts that reply. A host never calls itself.
    pub servers: Vec<H>,
    /// When calls begin.
    pub arrivals: Arrivals,
    /// Calls of each client.
    pub calls: u64,
    /// Servers that a call sends a request to.
    pub fan_out: u32,
    /// Connections of a client to each server, at most.
    pub connections: u32,
    /// Sizes of requests: (bytes, probability of at most so many).
    pub request: Vec<(u64, f64)>,
    /// Sizes of replies, likewise.
    pub reply: Vec<(u64, f64)>,
    /// Time of one core that a request takes at its server.
    pub service: Time,
    /// A call that takes longer is late. It goes on all the same.
    pub deadline: Option<Time>,
}

/// When a client begins its calls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Arrivals {
    /// Callers think, call, and wait for the end of the call.
    Closed {
        /// Callers of each client.
        callers: u32,
        /// Mean time that a caller thinks, exponentially distributed.
        think: Time,
    },
    /// Calls begin as a Poisson process.
    Open {
        /// Mean time between two calls of a client.
        every: Time,
    },
}

/// A call, as its client saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Its number among the client's calls, from 0.
    pub number: u64,
    /// When it began.
    pub start: Time,
    /// When its last reply was complete, or its last connection broke; none: the run ended first.
    pub end: Option<Time>,
    /// A connection broke.
    pub failed: bool,
    /// Bytes of its requests and of the replies that came.
    pub bytes: u64,
}

/// Where a client shows its calls.
#[derive(Clone, Debug, Default)]
pub struct Board(Arc<Mutex<Shown>>);

#[derive(Debug, Default)]
struct Shown {
    ended: Vec<Call>,
    open: BTreeMap<u64, Call>,
    failed: u64,
}

impl Board {
    fn change<T>(&self, change: impl FnOnce(&mut Shown) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The calls that have ended since the last time, by their ends.
    pub fn take_ended(&self) -> Vec<Call> {
        self.change(|shown| std::mem::take(&mut shown.ended))
    }

    /// How many calls have failed.
    pub fn failed(&self) -> u64 {
        self.change(|shown| shown.failed)
    }

    /// The calls that are under way, by number.
    pub fn open(&self) -> Vec<Call> {
        self.change(|shown| shown.open.values().copied().collect())
    }
}

impl Rpc<String> {
    /// The same job with its hosts looked up.
    ///
    /// # Errors
    /// A host that does not exist.
    pub fn place(&self, hosts: &dyn Hosts) -> Result<Rpc, Problem> {
        Ok(Rpc {
            clients: hosts.all(&self.clients, "clients")?,
            servers: hosts.all(&self.servers, "servers")?,
            arrivals: self.arrivals,
            calls: self.calls,
            fan_out: self.fan_out,
            connections: self.connections,
            request: self.request.clone(),
            reply: self.reply.clone(),
            service: self.service,
            deadline: self.deadline,
        })
    }
}

impl Arrivals {
    fn check(&self) -> Result<(), Problem> {
        match *self {
            Arrivals::Closed { callers, .. } if !(1..=CALLERS_MAX).contains(&callers) => {
                Err(Problem::new("callers", format!("{callers}: 1 to {CALLERS_MAX} are allowed")))
            }
            Arrivals::Open { every: Time::ZERO } => Err(Problem::new("every", "it must be longer than 0")),
            _ => Ok(()),
        }
    }
}

impl Rpc {
    fn check(&self) -> Result<(), Problem> {
        let refuse = |field: &'static str, message: String| Err(Problem::new(field, message));
        for (field, hosts) in [("clients", &self.clients), ("servers", &self.servers)] {
            let mut sorted = hosts.clone();
            sorted.sort_unstable();
            if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                return refuse(field, format!("host number {} is listed twice", pair[0].0));
            }
            if hosts.is_empty() {
                return refuse(field, "is empty: at least one host is needed".into());
            }
        }
        if !(1..=CALLS_MAX).contains(&self.calls) {
            return refuse("calls", format!("{}: 1 to {CALLS_MAX} are allowed", self.calls));
        }
        if !(1..=CONNECTIONS_MAX).contains(&self.connections) {
            let message = format!("{}: 1 to {CONNECTIONS_MAX} are allowed", self.connections);
            return refuse("connections", message);
        }
        self.arrivals.check().map_err(|problem| problem.within("arrivals"))?;
        for client in &self.clients {
            let others = self.servers.iter().filter(|server| *server != client).count();
            if self.fan_out == 0 || self.fan_out as usize > others {
                let message =
                    format!("{}: 1 to {others} are allowed, the servers besides the client", self.fan_out);
                return refuse("fan_out", message);
            }
        }
        Ok(())
    }

    /// Bytes that each host is expected to send or to receive, whichever are more.
    ///
    /// # Errors
    /// Sizes that are no distribution.
    pub fn volumes(&self) -> Result<Vec<(HostId, f64)>, Problem> {
        let sizes = self.sizes()?;
        let client =
            self.calls as f64 * f64::from(self.fan_out) * sizes.request.mean().max(sizes.reply.mean());
        let server = client * self.clients.len() as f64 / self.servers.len() as f64;
        let of = |hosts: &[HostId], bytes| hosts.iter().map(|host| (*host, bytes)).collect::<Vec<_>>();
        Ok([of(&self.clients, client), of(&self.servers, server)].concat())
    }

    fn sizes(&self) -> Result<Arc<Sizes>, Problem> {
        let cdf = |field, points: &[(u64, f64)]| Cdf::new(points).map_err(|error| Problem::new(field, error));
        Ok(Arc::new(Sizes { request: cdf("request", &self.request)?, reply: cdf("reply", &self.reply)? }))
    }
}

#[derive(Debug)]
struct Sizes {
    request: Cdf,
    reply: Cdf,
}

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

/// A request's head: its call, its own bytes and those of the reply. A reply's head has the same form.
const FRAMING: Framing = Framing::new(1, 24);
/// Longest message that a head may announce, in bytes.
const BODY_MAX: u64 = 1 << 53;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    call: u64,
    bytes: u64,
    wanted: u64,
}

impl Head {
    /// Asks for nothing. No call has this number.
    const PING: Head = Head { call: u64::MAX, bytes: 0, wanted: 0 };

    fn encode(self) -> Payload {
        let mut writer = Writer::new(FRAMING);
        writer.long(self.call).long(self.bytes).long(self.wanted);
        Payload::from(writer.finish())
    }

    fn decode(bytes: &[u8]) -> Result<Head, Malformed> {
        let mut reader = Reader::new(bytes);
        let head = Head { call: reader.long()?, bytes: reader.long()?, wanted: reader.long()? };
        if head.bytes > BODY_MAX || head.wanted > BODY_MAX {
            return Err(Malformed);
        }
        reader.end(head)
    }
}

/// One end of a connection: a message that leaves, and a message that arrives.
#[derive(Debug)]
struct Wire {
    unsent: VecDeque<Payload>,
    frames: Frames,
    /// The head that has come, and the bytes of its body that have not.
    arriving: Option<(Head, u64)>,
    /// Nothing more is sent.
    closed: bool,
}

impl Wire {
    fn new() -> Wire {
        Wire { unsent: VecDeque::new(), frames: Frames::new(FRAMING), arriving: None, closed: false }
    }

    /// Sends a head and a body of its length.
    fn send(&mut self, head: Head, stream: StreamId, cx: &mut dyn Context) {
        self.unsent.extend([head.encode(), Payload::Zeros(head.bytes)]);
        self.resume(stream, cx);
    }

    /// Writes what the stream takes.
    fn resume(&mut self, stream: StreamId, cx: &mut dyn Context) {
        while let Some(first) = self.unsent.front_mut() {
            let taken = cx.write(stream, first.clone());
            first.split_to(taken);
            if !first.is_empty() {
                return;
            }
            self.unsent.pop_front();
        }
    }

    /// Sends no more; the peer may know already.
    fn close(&mut self, stream: StreamId, cx: &mut dyn Context) {
        if !std::mem::replace(&mut self.closed, true) {
            cx.close(stream);
        }
    }

    /// The head of the next message that has come whole.
    fn receive(&mut self, stream: StreamId, cx: &mut dyn Context) -> Result<Option<Head>, Malformed> {
        if self.arriving.is_none() {
            self.arriving = self.frames.next(stream, cx, Head::decode)?.map(|head| (head, head.bytes));
        }
        let Some((head, missing)) = &mut self.arriving else { return Ok(None) };
        while *missing > 0 {
            let read = cx.read(stream, *missing);
            self.frames.ended |= read.end;
            if read.is_empty() {
                return Ok(None);
            }
            *missing -= read.len();
        }
        let head = *head;
        self.arriving = None;
        Ok(Some(head))
    }
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

/// Replies to requests.
#[derive(Debug)]
struct Server {
    port: u16,
    service: Time,
    connections: BTreeMap<StreamId, Wire>,
    /// Requests that have a core or wait for one, by the computation's token.
    working: BTreeMap<u64, (StreamId, Head)>,
    next: u64,
}

impl Server {
    fn new(port: u16, service: Time) -> Server {
        Server { port, service, connections: BTreeMap::new(), working: BTreeMap::new(), next: 0 }
    }

    fn handle(&mut self, event: &Event, cx: &mut dyn Context) {
        match *event {
            Event::Start => {
                self.connections.clear();
                self.working.clear();
                cx.listen(self.port);
            }
            Event::Accepted { stream, .. } => {
                self.connections.insert(stream, Wire::new());
            }
            Event::Readable { stream } => self.receive(stream, cx),
            Event::Writable { stream } => {
                if let Some(wire) = self.connections.get_mut(&stream) {
                    wire.resume(stream, cx);
                }
            }
            Event::Computed { token } => {
                if let Some((stream, head)) = self.working.remove(&token) {
                    self.reply(stream, head, cx);
                }
            }
            Event::Closed { stream, .. } => {
                self.connections.remove(&stream);
            }
            _ => {}
        }
    }

    fn receive(&mut self, stream: StreamId, cx: &mut dyn Context) {
        let Some(wire) = self.connections.get_mut(&stream) else { return };
        loop {
            match wire.receive(stream, cx) {
                Ok(Some(Head::PING)) => {}
                Ok(Some(head)) if self.service > Time::ZERO => {
                    self.working.insert(self.next, (stream, head));
                    cx.compute(self.next, self.service);
                    self.next += 1;
                }
                Ok(Some(head)) => wire.send(Head { bytes: head.wanted, wanted: 0, ..head }, stream, cx),
                Ok(None) if wire.frames.ended => return wire.close(stream, cx),
                Ok(None) => return,
                Err(Malformed) => {
                    self.connections.remove(&stream);
                    return cx.abort(stream);
                }
            }
        }
    }

    /// The connection may be gone by now.
    fn reply(&mut self, stream: StreamId, head: Head, cx: &mut dyn Context) {
        if let Some(wire) = self.connections.get_mut(&stream) {
            wire.send(Head { bytes: head.wanted, wanted: 0, ..head }, stream, cx);
        }
    }
}

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
struct Client {
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
    fn new(host: HostId, port: u16, job: Arc<Rpc>, sizes: Arc<Sizes>, board: Board) -> Client {
        let servers = job.servers.iter().copied().filter(|server| *server != host).collect();
        let (open, connections, pools) = Default::default();
        let (begun, listens, finished) = (0, false, false);
        Client { port, job, sizes, servers, board, begun, open, connections, pools, listens, finished }
    }

    fn handle(&mut self, event: &Event, cx: &mut dyn Context) {
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
                if connection.wire.unsent.is_empty() {
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
                Ok(None) if connection.wire.frames.ended => return connection.wire.close(stream, cx),
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
