//! Datagrams on their way from one port to one destination, until the kernel takes them.
//!
//! Datagrams of one size that follow one another form a run, which the kernel can take as one (GSO); the last
//! of a run may be shorter. A lane keeps their order.

use process::{Addr, Payload};
use std::collections::VecDeque;
use sys::udp::{Destination, Message, PAYLOAD_MAX};

/// What waits for one destination.
#[derive(Debug)]
pub(crate) struct Lane {
    /// Whose datagrams they are.
    pub job: u32,
    pub to: Addr,
    /// Datagrams ever queued here.
    pub sent_packets: u64,
    /// Their content.
    pub sent_bytes: u64,
    pub destination: Destination,
    data: Vec<u8>,
    runs: VecDeque<Run>,
    /// Datagrams of a run at most.
    segments: usize,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    start: usize,
    bytes: usize,
    /// Size of each datagram but the last.
    segment: u16,
    count: u16,
    /// Another may follow: the last was as long as the others.
    open: bool,
}

impl Lane {
    pub fn new(job: u32, to: Addr, destination: Destination, segments: usize) -> Lane {
        let (sent_packets, sent_bytes) = (0, 0);
        Lane {
            job,
            to,
            sent_packets,
            sent_bytes,
            destination,
            data: Vec::new(),
            runs: VecDeque::new(),
            segments,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Adds a datagram of at most [`PAYLOAD_MAX`] bytes.
    pub fn push(&mut self, payload: &Payload) {
        let start = self.data.len();
        match payload {
            Payload::Data(bytes) => self.data.extend_from_slice(bytes),
            Payload::Zeros(length) => self.data.resize(start + *length as usize, 0),
        }
        self.note(start, self.data.len() - start);
    }

    /// Adds datagrams of `segment` bytes, the last of what is left.
    pub fn push_train(&mut self, data: &[u8], segment: usize) {
        let start = self.data.len();
        self.data.extend_from_slice(data);
        let (mut at, mut left) = (start, data.len());
        while left > 0 {
            let length = segment.min(left);
            self.note(at, length);
            (at, left) = (at + length, left - length);
            // As many more as its run takes.
            let run = self.runs.back_mut().expect("just noted");
            let more = if usize::from(run.segment) == segment {
                run.room(self.segments).min(left / segment)
            } else {
                0
            };
            let bytes = more * segment;
            run.bytes += bytes;
            run.count += more as u16;
            self.sent_packets += more as u64;
            self.sent_bytes += bytes as u64;
            (at, left) = (at + bytes, left - bytes);
        }
    }

    /// A datagram has been added.
    fn note(&mut self, start: usize, length: usize) {
        self.sent_packets += 1;
        self.sent_bytes += length as u64;
        match self.runs.back_mut() {
            Some(run) if run.takes(length, self.segments) => {
                run.bytes += length;
                run.count += 1;
                run.open = length == usize::from(run.segment);
            }
            _ => {
                let open = self.segments > 1 && length > 0;
                self.runs.push_back(Run { start, bytes: length, segment: length as u16, count: 1, open });
            }
        }
    }

    /// What waits, in order; a message a run.
    pub fn messages(&self) -> impl Iterator<Item = Message<'_>> {
        self.runs.iter().map(|run| Message {
            to: &self.destination,
            data: &self.data[run.start..run.start + run.bytes],
            segment: if run.count > 1 { run.segment } else { 0 },
        })
    }

    /// Takes the first run off: its datagrams and bytes.
    pub fn pop(&mut self) -> Option<(u64, usize)> {
        let run = self.runs.pop_front()?;
        match self.runs.front() {
            None => self.data.clear(),
            Some(next) if next.start > self.data.len() / 2 => self.forget(next.start),
            Some(_) => {}
        }
        Some((run.count.into(), run.bytes))
    }

    /// Gives the memory of what was sent back, when something has waited for long.
    fn forget(&mut self, bytes: usize) {
        self.data.drain(..bytes);
        for run in &mut self.runs {
            run.start -= bytes;
        }
    }

    /// The kernel can't cut runs on this path: takes them apart, and forms no more. False if there was
    /// nothing to take apart.
    pub fn separate(&mut self) -> bool {
        self.segments = 1;
        if self.runs.iter().all(|run| run.count == 1) {
            return false;
        }
        self.runs = self.runs.iter().flat_map(Run::apart).collect();
        true
    }
}

impl Run {
    /// How many more of its size it takes.
    fn room(&self, segments: usize) -> usize {
        let (count, size) = (usize::from(self.count), usize::from(self.segment));
        if self.open { (segments - count).min((PAYLOAD_MAX - self.bytes) / size) } else { 0 }
    }

    fn takes(&self, length: usize, segments: usize) -> bool {
        self.open
            && (1..=usize::from(self.segment)).contains(&length)
            && usize::from(self.count) < segments
            && self.bytes + length <= PAYLOAD_MAX
    }

    fn apart(&self) -> impl Iterator<Item = Run> + use<> {
        let run = *self;
        (0..run.count).map(move |i| {
            let skip = usize::from(i) * usize::from(run.segment);
            let bytes = (run.bytes - skip).min(run.segment.into());
            Run { start: run.start + skip, bytes, segment: bytes as u16, count: 1, open: false }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use process::HostId;
    use proptest::prelude::*;
    use std::net::SocketAddr;

    fn lane(segments: usize) -> Lane {
        let address: SocketAddr = "127.0.0.1:9".parse().unwrap();
        Lane::new(0, Addr { host: HostId(0), port: 9 }, address.into(), segments)
    }

    /// The datagrams that the kernel would make of a message.
    fn datagrams(message: &Message<'_>) -> Vec<Vec<u8>> {
        match message.segment {
            0 => vec![message.data.to_vec()],
            size => message.data.chunks(size.into()).map(<[u8]>::to_vec).collect(),
        }
    }

    #[test]
    fn sixty_four_of_one_size_are_one_message() {
        let mut lane = lane(64);
        for _ in 0..130 {
            lane.push(&Payload::Zeros(64));
        }
        let counts: Vec<_> = lane.messages().map(|m| m.data.len() / 64).collect();
        assert_eq!(counts, [64, 64, 2]);
        assert_eq!(lane.pop(), Some((64, 64 * 64)));
    }

    proptest! {
        #[test]
        fn every_datagram_leaves_once_and_in_order(
            sizes in prop::collection::vec(prop_oneof![Just(64usize), 0..200usize, 30_000..=65_507usize], 1..100),
            segments in prop_oneof![Just(1usize), Just(64), Just(128)],
            in_trains: bool,
            separate_at in 0..200usize,
            pops in prop::collection::vec(any::<bool>(), 100),
        ) {
            let mut lane = lane(segments);
            let mut expected = Vec::new();
            let mut got = Vec::new();
            for (i, size) in sizes.iter().enumerate() {
                let data = vec![i as u8; *size];
                if in_trains && !data.is_empty() {
                    let part = 1 + i % 500;
                    lane.push_train(&data, part.max(data.len() / 9));
                    expected.extend(data.chunks(part.max(data.len() / 9)).map(<[u8]>::to_vec));
                } else {
                    lane.push(&Payload::from(data.clone()));
                    expected.push(data);
                }
                if i == separate_at {
                    lane.separate();
                }
                if pops[i] {
                    got.extend(datagrams(&lane.messages().next().unwrap()));
                    lane.pop();
                }
            }
            while !lane.is_empty() {
                let parts = lane.messages().next().map(|message| datagrams(&message)).unwrap();
                let bytes = parts.iter().map(Vec::len).sum();
                prop_assert!(bytes <= PAYLOAD_MAX);
                prop_assert!(parts.len() <= segments);
                prop_assert_eq!(lane.pop(), Some((parts.len() as u64, bytes)));
                got.extend(parts);
            }
            prop_assert_eq!(got, expected);
            prop_assert!(lane.is_empty());
        }
    }
}
