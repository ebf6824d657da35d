//! How a member uses its sockets: batches, and the bounds of every queue.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How datagrams go through the kernel. It is named beside every result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Datagrams {
    /// One datagram a system call.
    Single,
    /// Many datagrams a system call (sendmmsg, recvmmsg).
    Batched,
    /// Many a system call, and those of one size to one destination as one (GSO, GRO). Where the kernel or a
    /// path can't, it is as [`Datagrams::Batched`].
    Segmented,
}

/// A member's settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// How datagrams go through the kernel.
    pub datagrams: Datagrams,
    /// Datagrams a system call takes or brings at most, 1–1024; joined ones count as one.
    pub batch: usize,
    /// Largest datagram in bytes, 1–65507: longer ones are counted and dropped.
    pub datagram_max_bytes: usize,
    /// Kernel memory asked for to receive datagrams, in bytes a port.
    pub receive_buffer_bytes: usize,
    /// Kernel memory asked for to send datagrams, in bytes a port.
    pub send_buffer_bytes: usize,
    /// Datagrams that wait for the kernel, in bytes a port; more are counted and dropped.
    pub send_queue_bytes: usize,
    /// What a stream holds for its process, in bytes each way, on top of the kernel's buffers.
    pub stream_buffer_bytes: usize,
    /// Streams open at a time; more are refused.
    pub streams: usize,
    /// Events that processes handle before sockets are looked at again.
    pub turn_events: usize,
    /// When so many bytes of datagrams have come since it waited last, a member with nothing to do pauses
    /// before it looks at its ports again, as shortly as the kernel can (some 60 µs): then more come at once,
    /// and fewer senders wake it. Each of them may be that much later. 0: never.
    pub gather_bytes: usize,
    /// Computations take as long as their process says: the host is as slow as a modelled one. Otherwise the
    /// work itself takes the time.
    pub paced: bool,
    /// What streams carry is sealed ([`crate::seal`]): nobody without the run's secret reads or changes it.
    pub sealed: bool,
    /// All members have one clock: then both ends of a stream report of it, and a flow ends when its last
    /// byte has come. Otherwise it ends when its opener knows so.
    pub one_clock: bool,
    /// Nanoseconds between two samples of each open stream ([`crate::FlowSample`]); 0: none.
    pub sample_ns: u64,
    /// Milliseconds between two reports of progress.
    pub progress_ms: u64,
    /// Milliseconds after which a peer that answers nothing is given up (streams).
    pub peer_timeout_ms: u64,
    /// Most milliseconds between two tries of the kernel to reach a peer that does not answer: what comes on
    /// top of an outage.
    pub rto_max_ms: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            datagrams: Datagrams::Segmented,
            batch: 64,
            datagram_max_bytes: sys::udp::PAYLOAD_MAX,
            receive_buffer_bytes: 4 << 20,
            send_buffer_bytes: 4 << 20,
            send_queue_bytes: 4 << 20,
            stream_buffer_bytes: 256 << 10,
            streams: 4096,
            turn_events: 1024,
            gather_bytes: 0,
            paced: false,
            sealed: false,
            one_clock: false,
            sample_ns: 0,
            progress_ms: 200,
            peer_timeout_ms: 30_000,
            rto_max_ms: 2_000,
        }
    }
}

impl Settings {
    /// Refuses what can't be: the field and what is allowed.
    ///
    /// # Errors
    /// The first field out of its range.
    pub fn check(&self) -> Result<(), String> {
        let max = usize::MAX as u64;
        let fields = [
            ("batch", self.batch as u64, 1, 1024),
            ("datagram_max_bytes", self.datagram_max_bytes as u64, 1, sys::udp::PAYLOAD_MAX as u64),
            ("receive_buffer_bytes", self.receive_buffer_bytes as u64, 1, i32::MAX as u64),
            ("send_buffer_bytes", self.send_buffer_bytes as u64, 1, i32::MAX as u64),
            ("send_queue_bytes", self.send_queue_bytes as u64, 1 << 16, max),
            ("stream_buffer_bytes", self.stream_buffer_bytes as u64, 1, max),
            ("streams", self.streams as u64, 1, 1 << 20),
            ("turn_events", self.turn_events as u64, 1, max),
            ("gather_bytes", self.gather_bytes as u64, 0, max),
            ("progress_ms", self.progress_ms, 1, 3_600_000),
            ("peer_timeout_ms", self.peer_timeout_ms, 1, 3_600_000),
            ("rto_max_ms", self.rto_max_ms, 1_000, 120_000),
        ];
        match fields.iter().find(|(_, value, low, high)| !(low..=high).contains(&value)) {
            Some((name, value, low, high)) => Err(format!("{name}: {value} is not within {low}–{high}")),
            None => Ok(()),
        }
    }

    /// Buffers of one call: how many, and how large. A joined datagram is as large as IP allows.
    pub(crate) fn receive_buffers(&self, joined: bool) -> (usize, usize) {
        match self.datagrams {
            Datagrams::Single => (1, self.datagram_max_bytes),
            _ if joined => (self.batch.min(32), 1 << 16),
            _ => (self.batch, self.datagram_max_bytes),
        }
    }

    /// Messages of one sending call.
    pub(crate) fn send_batch(&self) -> usize {
        if self.datagrams == Datagrams::Single { 1 } else { self.batch }
    }

    pub(crate) fn progress_every(&self) -> Duration {
        Duration::from_millis(self.progress_ms)
    }

    pub(crate) fn peer_timeout(&self) -> Duration {
        Duration::from_millis(self.peer_timeout_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        Settings::default().check().unwrap();
        let settings = Settings { batch: 0, ..Settings::default() };
        assert_eq!(settings.check().unwrap_err(), "batch: 0 is not within 1–1024");
        let settings = Settings { datagram_max_bytes: 65_508, ..Settings::default() };
        assert_eq!(settings.check().unwrap_err(), "datagram_max_bytes: 65508 is not within 1–65507");
    }
}
