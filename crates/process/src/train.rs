//! Datagrams that travel together: what a driver has read at once from one sender.

use crate::{Addr, Event, Payload};
use bytes::Bytes;

/// Datagrams of one sender, in their order: all of one length but the last, which may be shorter.
#[derive(Clone, Copy, Debug)]
pub struct Train<'a> {
    /// The sender.
    pub from: Addr,
    /// The local port.
    pub port: u16,
    /// Their content, behind one another.
    pub data: &'a [u8],
    /// Length of each but the last in bytes, at least 1.
    pub segment: usize,
}

impl<'a> Train<'a> {
    /// The datagrams. One of no bytes is one.
    pub fn datagrams(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        let count = self.data.len().div_ceil(self.segment).max(1);
        let (data, segment) = (self.data, self.segment);
        (0..count).map(move |i| &data[i * segment..data.len().min((i + 1) * segment)])
    }

    /// An event for each datagram. They share one copy of the content.
    pub fn events(&self) -> impl Iterator<Item = Event> + use<'a> {
        let (from, port) = (self.from, self.port);
        let mut rest = Bytes::copy_from_slice(self.data);
        self.datagrams().map(move |part| {
            let data = Payload::Data(rest.split_to(part.len()));
            Event::Datagram { from, port, data }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostId;

    #[test]
    fn the_last_may_be_shorter_and_none_is_one() {
        let from = Addr { host: HostId(1), port: 2 };
        let lengths = |data: &[u8], segment| {
            let train = Train { from, port: 3, data, segment };
            let lengths: Vec<usize> = train.datagrams().map(<[u8]>::len).collect();
            let events: Vec<Event> = train.events().collect();
            let same = train.datagrams().map(|part| {
                let data = Payload::from(part.to_vec());
                Event::Datagram { from, port: 3, data }
            });
            assert_eq!(events, same.collect::<Vec<_>>());
            lengths
        };
        assert_eq!(lengths(&[1, 2, 3, 4, 5], 2), [2, 2, 1]);
        assert_eq!(lengths(&[1, 2], 2), [2]);
        assert_eq!(lengths(&[], 1), [0]);
    }
}
