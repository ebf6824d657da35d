//! What can happen to a process.

use crate::Payload;
use std::fmt;

/// A host of the cluster, by its index in the topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u32);

/// A host and a port on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Addr {
    /// The host.
    pub host: HostId,
    /// The UDP or TCP port.
    pub port: u16,
}

impl fmt::Display for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host.0, self.port)
    }
}

/// One end of a byte stream (TCP), unique on its host for the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

/// A task on the job's timeline, unique in the run and never 0: a flow whose group it is belongs to the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u64);

impl TaskId {
    /// The task of this number on a host, from 1. So hosts name their tasks without asking each other.
    pub fn on(host: HostId, number: u32) -> TaskId {
        TaskId((u64::from(host.0) << u32::BITS) | u64::from(number))
    }
}

/// Why a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// Both sides had finished and everything was delivered.
    Finished,
    /// Nobody listened on the port, or the listener's host refused.
    Refused,
    /// The peer aborted, or its host crashed and came back without the connection.
    Reset,
    /// Retransmissions went unanswered for too long.
    TimedOut,
}

/// What a process is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The run begins, or the host of this process was restarted after a crash.
    Start,
    /// A datagram came in on a local port that this process has bound.
    Datagram {
        /// The sender.
        from: Addr,
        /// The local port.
        port: u16,
        /// Its content.
        data: Payload,
    },
    /// A peer opened a stream to a port that this process listens on.
    Accepted {
        /// The new stream.
        stream: StreamId,
        /// The end that opened it.
        from: Addr,
        /// The local port.
        port: u16,
    },
    /// A stream that this process opened is established.
    Opened {
        /// The stream.
        stream: StreamId,
    },
    /// Data or the end of the stream can be read. Delivered once; again only after a
    /// [`Context::read`](crate::Context::read) has emptied the buffer and more has come.
    Readable {
        /// The stream.
        stream: StreamId,
    },
    /// A stream whose last [`Context::write`](crate::Context::write) was cut short takes data again.
    Writable {
        /// The stream.
        stream: StreamId,
    },
    /// The stream is gone; its id is not used again.
    Closed {
        /// The stream.
        stream: StreamId,
        /// Why.
        reason: CloseReason,
    },
    /// A timer that this process set has expired.
    Timer {
        /// The token given to [`Context::set_timer`](crate::Context::set_timer).
        token: u64,
    },
    /// A computation has had its time on a core.
    Computed {
        /// The token given to [`Context::compute`](crate::Context::compute).
        token: u64,
    },
    /// A disk transfer is complete.
    DiskDone {
        /// The token given to [`Context::disk_read`](crate::Context::disk_read) or
        /// [`Context::disk_write`](crate::Context::disk_write).
        token: u64,
    },
    /// The driver has found that a host is gone.
    PeerLost {
        /// The host.
        host: HostId,
    },
}
