//! One end of a stream: its transport, and what the simulator needs to run it.

use fabric::{PortId, Route};
use process::Payload;
use std::collections::VecDeque;
use transport::tcp::Connection;
use units::Time;

/// An endpoint's number: its flow's slot and its side.
#[inline]
pub(crate) fn endpoint(slot: u32, side: u32) -> u32 {
    (slot << 1) | side
}

/// Where an endpoint stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The accepting side before its host has agreed.
    Listening,
    /// In use.
    Open,
    /// Its process has been told that it is closed.
    Closed,
    /// Its host crashed or has refused: segments are answered with a reset.
    Dead,
}

/// One end of a stream.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub tcp: Connection,
    /// Where its packets enter the network, and their route; `None` while there is no route.
    pub way: Option<(PortId, Route)>,
    pub host: u32,
    /// It may send while less than this waits where its packets enter the network.
    pub nic_limit: Time,
    /// The process that is told of events; on the accepting side known when accepted.
    pub process: u32,
    pub stage: Stage,
    /// Grows from one to the next that the host's processes hear of: part of the stream's id there.
    pub tag: u32,
    /// In [`crate::host::Nic::ready`] of a port of its host.
    pub ready: bool,
    /// The connection is over, and its process has not read everything.
    pub unread: bool,
    /// The earliest event under way for its timer.
    pub timer_at: Time,
    /// Written by this end, not yet read by the other.
    pub written: VecDeque<Payload>,
    /// Zeros that its process wanted to write last and that found no room.
    pub offered: u64,
}

impl Endpoint {
    pub(crate) fn new(tcp: Connection, host: u32, process: u32, stage: Stage) -> Endpoint {
        Endpoint {
            tcp,
            way: None,
            host,
            nic_limit: Time::MAX,
            process,
            stage,
            tag: 0,
            ready: false,
            unread: false,
            timer_at: Time::MAX,
            written: VecDeque::new(),
            offered: 0,
        }
    }

    /// Keeps what was written until the peer reads it.
    pub(crate) fn store(&mut self, data: Payload) {
        if let (Some(Payload::Zeros(last)), Payload::Zeros(more)) = (self.written.back_mut(), &data) {
            *last += more;
        } else if !data.is_empty() {
            if self.written.capacity() == 0 {
                // Mostly it is one piece.
                self.written.reserve_exact(1);
            }
            self.written.push_back(data);
        }
    }

    /// Takes the first `n` bytes of what is kept.
    pub(crate) fn take(&mut self, mut n: u64) -> Vec<Payload> {
        let mut pieces = Vec::new();
        while n > 0 {
            let Some(first) = self.written.front_mut() else { break };
            if first.len() <= n {
                n -= first.len();
                pieces.extend(self.written.pop_front());
            } else {
                pieces.push(first.split_to(n));
                n = 0;
            }
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_is_taken() {
        let config = transport::tcp::Config::default().into();
        let mut end = Endpoint::new(Connection::client(&config, 0), 0, 0, Stage::Open);
        end.store(Payload::Zeros(5));
        end.store(Payload::Zeros(5));
        end.store(Payload::from(vec![1, 2, 3]));
        assert_eq!(end.written.len(), 2);
        assert_eq!(end.take(11), vec![Payload::Zeros(10), Payload::from(vec![1])]);
        assert_eq!(end.take(100), vec![Payload::from(vec![2, 3])]);
    }
}
