//! Streams of a [`World`]: two ends, a bounded buffer each way, and what arrives in the order in which it was
//! written.

use super::{Action, World};
use crate::{Addr, CloseReason, Event, HostId, Payload, Read, StreamId};
use rand::RngExt;
use std::collections::VecDeque;
use units::Time;

/// How long it takes to notice that a silent host does not answer.
const PATIENCE: Time = Time::from_secs(10);

/// What became of a stream.
#[derive(Clone, Debug)]
pub struct Row {
    /// The end that opened it.
    pub from: HostId,
    /// The other end.
    pub to: HostId,
    /// The group that the opener gave it.
    pub group: u64,
    /// When it was opened.
    pub opened: Time,
    /// Bytes read by the acceptor.
    pub forth: u64,
    /// Bytes read by the opener.
    pub back: u64,
    /// Why the opener's end is gone.
    pub closed: Option<CloseReason>,
}

/// The holder of an end of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Process(usize),
    /// A test: it takes whatever comes.
    Stranger,
    /// Not accepted yet.
    Nobody,
}

/// One end of a stream.
pub(super) struct End {
    row: usize,
    opener: bool,
    peer: StreamId,
    owner: Owner,
    inbox: VecDeque<Payload>,
    /// Bytes in the inbox or on the way to it.
    occupied: u64,
    /// When the last of what is on the way arrives.
    last_arrival: Time,
    /// The owner is told of the next arrival.
    armed: bool,
    /// The owner's last write was cut short.
    blocked: bool,
    closed: bool,
    fin_arrived: bool,
    end_read: bool,
    /// What arrives is dropped.
    draining: bool,
    /// Both sides have finished: only its owner has not been told.
    over: bool,
}

/// What happens to an end.
pub(super) enum Strand {
    /// The stream that it opens from here reaches there.
    Connect(Addr, Addr),
    Opened,
    Arrive(Payload),
    Fin,
    Readable,
    Writable,
    Gone(CloseReason),
}

impl World {
    /// Ends of streams that have not finished.
    pub fn ends(&self) -> usize {
        self.ends.values().filter(|end| !end.over).count()
    }

    /// Whether this end is still there.
    pub fn is_open(&self, stream: StreamId) -> bool {
        self.ends.contains_key(&stream)
    }

    /// Streams that process `number` has opened and neither closed nor given up.
    pub fn opened_by(&self, number: usize) -> Vec<StreamId> {
        let own = |end: &End| end.opener && end.owner == Owner::Process(number) && !end.closed;
        self.ends.iter().filter(|(_, end)| own(end)).map(|(stream, _)| *stream).collect()
    }

    /// A stranger that passes for `from` opens a stream to `to` and writes; the end that accepts it.
    pub fn call(&mut self, from: Addr, to: Addr, bytes: Vec<u8>) -> StreamId {
        let stream = self.open(from, None, to, 0);
        self.write(stream, Payload::from(bytes));
        self.ends[&stream].peer
    }

    /// A stranger's stream to `to` is there at once, if somebody listens; its end.
    pub fn call_now(&mut self, from: Addr, to: Addr) -> Option<StreamId> {
        let stream = self.call(from, to, Vec::new());
        self.pull(StreamId(stream.0 - 1), Strand::Connect(from, to));
        self.ends.get(&stream).filter(|end| end.owner != Owner::Nobody).map(|_| stream)
    }

    /// Bytes arrive at an end at once, whatever room there is.
    pub fn arrive(&mut self, stream: StreamId, bytes: &[u8]) {
        if let Some(end) = self.ends.get_mut(&stream) {
            end.occupied += bytes.len() as u64;
            end.inbox.push_back(Payload::from(bytes.to_vec()));
            end.armed = false;
            self.pull(stream, Strand::Readable);
        }
    }

    /// Some stream breaks.
    pub fn cut(&mut self) {
        if self.ends.is_empty() {
            return;
        }
        let chosen = self.chance.random_range(0..self.ends.len());
        let (&stream, end) = self.ends.iter().nth(chosen).expect("there are so many");
        let peer = end.peer;
        for stream in [stream, peer] {
            let at = self.after();
            self.schedule(at, Action::Stream(stream, Strand::Gone(CloseReason::Reset)));
        }
    }

    /// Process `number` has lost its ends; the others learn of it at `at`.
    pub(super) fn lose_ends(&mut self, number: usize, at: Time) {
        let own = |end: &End| end.owner == Owner::Process(number);
        let lost: Vec<StreamId> = self.ends.iter().filter(|(_, end)| own(end)).map(|(id, _)| *id).collect();
        for stream in lost {
            let peer = self.ends.remove(&stream).expect("just found").peer;
            self.schedule(at, Action::Stream(peer, Strand::Gone(CloseReason::Reset)));
        }
    }

    /// Opens a stream for a process, or for a stranger.
    pub(super) fn open(&mut self, from: Addr, opener: Option<usize>, to: Addr, group: u64) -> StreamId {
        let row = self.rows.len();
        let (from_host, to_host, opened) = (from.host, to.host, self.now);
        self.rows.push(Row { from: from_host, to: to_host, group, opened, forth: 0, back: 0, closed: None });
        let (near, far) = (StreamId(self.streams_made), StreamId(self.streams_made + 1));
        self.streams_made += 2;
        let at = self.after();
        let owner = opener.map_or(Owner::Stranger, Owner::Process);
        for (stream, peer, owner) in [(near, far, owner), (far, near, Owner::Nobody)] {
            let end = End {
                row,
                opener: stream == near,
                peer,
                owner,
                inbox: VecDeque::new(),
                occupied: 0,
                last_arrival: at,
                armed: true,
                blocked: false,
                closed: false,
                fin_arrived: false,
                end_read: false,
                draining: false,
                over: false,
            };
            self.ends.insert(stream, end);
        }
        self.schedule(at, Action::Stream(near, Strand::Connect(from, to)));
        near
    }

    /// Takes as much of `data` as there is room for.
    pub(super) fn write(&mut self, stream: StreamId, mut data: Payload) -> u64 {
        let end = self.ends.get(&stream).expect("nothing is written to a stream that is gone");
        assert!(!end.closed, "nothing is written behind the end");
        let peer = end.peer;
        let Some(peer_end) = self.ends.get_mut(&peer) else { return data.len() };
        let taken = data.len().min(self.network.buffer.saturating_sub(peer_end.occupied));
        peer_end.occupied += taken;
        if taken < data.len() {
            self.ends.get_mut(&stream).expect("checked").blocked = true;
        }
        let mut rest = data.split_to(taken);
        while !rest.is_empty() {
            let most = rest.len();
            let piece = if self.network.pieces { self.chance.random_range(1..=most) } else { most };
            let piece = rest.split_to(piece);
            self.send_on(peer, Strand::Arrive(piece));
        }
        taken
    }

    /// Reads up to `max` bytes.
    pub(super) fn read(&mut self, stream: StreamId, max: u64) -> Read {
        let mut read = self.take(stream, max);
        let Some(end) = self.ends.get_mut(&stream) else { return read };
        read.end = end.inbox.is_empty() && end.fin_arrived;
        end.armed = end.inbox.is_empty();
        end.end_read |= read.end;
        self.check_over(stream);
        read
    }

    pub(super) fn drain(&mut self, stream: StreamId) {
        let Some(end) = self.ends.get_mut(&stream) else { return };
        (end.draining, end.armed) = (true, !end.end_read);
        let ended = end.fin_arrived;
        self.take(stream, u64::MAX);
        if ended {
            self.announce(stream);
        }
    }

    pub(super) fn close(&mut self, stream: StreamId) {
        let end = self.ends.get_mut(&stream).expect("no stream is closed that is gone");
        assert!(!std::mem::replace(&mut end.closed, true), "no stream is closed twice");
        let peer = end.peer;
        self.send_on(peer, Strand::Fin);
    }

    pub(super) fn abort(&mut self, stream: StreamId) {
        let Some(end) = self.ends.remove(&stream) else { return };
        self.note_gone(&end, CloseReason::Reset);
        self.later(end.peer, Strand::Gone(CloseReason::Reset));
    }

    /// Sends something to an end behind all that is on the way there.
    fn send_on(&mut self, to: StreamId, strand: Strand) {
        let at = self.after();
        let Some(end) = self.ends.get(&to) else { return };
        let row = &self.rows[end.row];
        let at = end.last_arrival.max(at + self.network.distance(row.from, row.to));
        self.ends.get_mut(&to).expect("just found").last_arrival = at;
        self.schedule(at, Action::Stream(to, strand));
    }

    fn later(&mut self, stream: StreamId, strand: Strand) {
        let at = self.after();
        self.schedule(at, Action::Stream(stream, strand));
    }

    /// Something has come to an end.
    pub(super) fn pull(&mut self, stream: StreamId, strand: Strand) {
        match strand {
            Strand::Connect(from, to) => self.connect(stream, from, to),
            Strand::Opened => self.tell_owner(stream, Event::Opened { stream }),
            Strand::Arrive(data) => self.take_in(stream, data),
            Strand::Fin => {
                let Some(end) = self.ends.get_mut(&stream).filter(|end| end.owner != Owner::Nobody) else {
                    return;
                };
                end.fin_arrived = true;
                let peer = end.peer;
                self.announce(stream);
                self.check_over(peer);
            }
            Strand::Readable => {
                let Some(end) = self.ends.get(&stream) else { return };
                if !end.armed && (!end.inbox.is_empty() || end.fin_arrived && !end.end_read) {
                    self.tell_owner(stream, Event::Readable { stream });
                }
            }
            Strand::Writable => self.tell_owner(stream, Event::Writable { stream }),
            Strand::Gone(reason) => self.gone(stream, reason),
        }
    }

    fn tell_owner(&mut self, stream: StreamId, event: Event) {
        if let Some(Owner::Process(number)) = self.ends.get(&stream).map(|end| end.owner) {
            self.dispatch(number, event);
        }
    }

    fn connect(&mut self, stream: StreamId, from: Addr, to: Addr) {
        let Some(end) = self.ends.get(&stream) else { return };
        let peer = end.peer;
        if self.ends.get(&peer).is_none_or(|end| end.owner != Owner::Nobody) {
            return;
        }
        if self.silent.contains(&to.host) {
            let gone = Strand::Gone(CloseReason::TimedOut);
            return self.schedule(self.now + PATIENCE, Action::Stream(stream, gone));
        }
        let listener = self.listeners.get(&to).copied();
        let known = self.slots.iter().any(|slot| slot.host == to.host);
        let owner = match listener {
            Some(number) => Owner::Process(number),
            None if self.network.strangers && !known => Owner::Stranger,
            None => return self.later(stream, Strand::Gone(CloseReason::Refused)),
        };
        self.ends.get_mut(&peer).expect("just found").owner = owner;
        self.tell_owner(peer, Event::Accepted { stream: peer, from, port: to.port });
        self.later(stream, Strand::Opened);
    }

    /// Data has come; what is sent to a silent host is lost.
    fn take_in(&mut self, stream: StreamId, data: Payload) {
        match self.ends.get_mut(&stream) {
            Some(end) if end.owner != Owner::Nobody => end.inbox.push_back(data),
            _ => return,
        }
        let end = &self.ends[&stream];
        if end.draining || end.owner == Owner::Stranger {
            self.take(stream, u64::MAX);
        }
        self.announce(stream);
    }

    /// Tells the owner that there is something to read, once.
    fn announce(&mut self, stream: StreamId) {
        let end = self.ends.get_mut(&stream).expect("checked by the caller");
        if (end.fin_arrived || !end.draining) && std::mem::take(&mut end.armed) {
            // Behind what arrives at the same time.
            self.schedule(self.now, Action::Stream(stream, Strand::Readable));
        }
    }

    /// Takes up to `max` bytes out of an inbox, and lets a writer that waits for room go on.
    fn take(&mut self, stream: StreamId, max: u64) -> Read {
        let mut read = Read::default();
        let Some(end) = self.ends.get_mut(&stream) else { return read };
        let mut room = max;
        while let Some(mut data) = if room > 0 { end.inbox.pop_front() } else { None } {
            let head = data.split_to(data.len().min(room));
            room -= head.len();
            read.data.push(head);
            if !data.is_empty() {
                end.inbox.push_front(data);
            }
        }
        end.occupied -= max - room;
        let (peer, row) = (end.peer, &mut self.rows[end.row]);
        *(if end.opener { &mut row.back } else { &mut row.forth }) += max - room;
        let blocked = self.ends.get_mut(&peer).filter(|_| room < max);
        if blocked.is_some_and(|peer| std::mem::take(&mut peer.blocked)) {
            self.later(peer, Strand::Writable);
        }
        read
    }

    /// An end is over that has closed its side, whose peer knows, and that has read everything.
    fn check_over(&mut self, stream: StreamId) {
        let Some(end) = self.ends.get(&stream) else { return };
        let known = self.ends.get(&end.peer).is_none_or(|peer| peer.fin_arrived);
        if end.closed && end.end_read && known && !end.over {
            self.ends.get_mut(&stream).expect("just found").over = true;
            let at = self.now + self.network.more(&mut self.chance);
            self.schedule(at, Action::Stream(stream, Strand::Gone(CloseReason::Finished)));
        }
    }

    fn gone(&mut self, stream: StreamId, reason: CloseReason) {
        let Some(end) = self.ends.remove(&stream) else { return };
        // An end that has finished does not learn that the other broke afterwards.
        let reason = if end.over { CloseReason::Finished } else { reason };
        if reason != CloseReason::Finished {
            self.later(end.peer, Strand::Gone(reason));
        }
        self.note_gone(&end, reason);
        if let Owner::Process(number) = end.owner {
            self.dispatch(number, Event::Closed { stream, reason });
        }
    }

    fn note_gone(&mut self, end: &End, reason: CloseReason) {
        if end.opener
            && let Owner::Process(number) = end.owner
        {
            self.rows[end.row].closed = Some(reason);
            self.slots[number].open -= 1;
        }
    }
}
