//! A packet capture at one port, as Wireshark reads it: pcapng with one interface, Ethernet frames with
//! the headers that a real host would have sent, and the reason of a drop as the packet's comment.
//!
//! Payload is not kept (it would be zeros); each packet still says its true length. Times are those of the
//! run in whole nanoseconds, so a capture begins in 1970.

mod frame;
mod packet;
mod pcapng;

pub use packet::{Direction, Ecn, Endpoint, Packet, SynOptions, Tcp, Transport};

use crate::error::{Error, Kept};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use units::Time;

/// Bytes that wait before they are written to the file.
const BUFFER: usize = 1 << 20;

/// A capture that is being written.
#[derive(Debug)]
pub struct Capture {
    path: PathBuf,
    file: File,
    /// Whole blocks that are not in the file yet, and the packets among them.
    buffer: Vec<u8>,
    buffered_packets: u64,
    /// Length of the file and packets in it.
    file_bytes: u64,
    file_packets: u64,
    /// Blocks that wait for earlier ones, by time and order of arrival.
    waiting: BTreeMap<(Time, u64), Vec<u8>>,
    pushed: u64,
    /// Everything before it is in the buffer or the file.
    flushed: Time,
    failed: bool,
}

impl Capture {
    /// A capture in the file `path` of the port called `port`.
    pub(crate) fn create(path: &Path, port: &str) -> Result<Capture, Error> {
        let file = File::create(path).map_err(|source| Error::io(path, Kept::Nothing, source))?;
        Ok(Capture {
            path: path.to_path_buf(),
            file,
            buffer: pcapng::head(port),
            buffered_packets: 0,
            file_bytes: 0,
            file_packets: 0,
            waiting: BTreeMap::new(),
            pushed: 0,
            flushed: Time::ZERO,
            failed: false,
        })
    }

    /// Takes a packet. Packets may come out of order, but not from before the last [`Capture::flush_until`].
    ///
    /// # Panics
    /// In debug builds, when the packet is from before the last flush.
    pub fn push(&mut self, packet: &Packet<'_>) {
        debug_assert!(
            packet.time >= self.flushed,
            "a packet of {} after all up to {}",
            packet.time,
            self.flushed
        );
        if !self.failed {
            self.waiting.insert((packet.time, self.pushed), pcapng::packet(packet));
            self.pushed += 1;
        }
    }

    /// Writes, in order of time, all packets from before `time`. No packet from before it may follow.
    ///
    /// # Errors
    /// When the file can't be written. That is told once; all further packets are ignored and the file
    /// stays readable up to here.
    pub fn flush_until(&mut self, time: Time) -> Result<(), Error> {
        self.flushed = self.flushed.max(time);
        while let Some(first) = self.waiting.first_entry()
            && first.key().0 < time
        {
            self.buffer.extend_from_slice(&first.remove());
            self.buffered_packets += 1;
            if self.buffer.len() >= BUFFER {
                self.write_buffer()?;
            }
        }
        Ok(())
    }

    /// Writes all packets and syncs the file.
    ///
    /// # Errors
    /// As [`Capture::flush_until`].
    pub fn finish(mut self) -> Result<(), Error> {
        self.flush_until(Time::MAX)?;
        self.write_buffer()?;
        if self.failed { Ok(()) } else { self.file.sync_all().map_err(|source| self.error(source)) }
    }

    fn write_buffer(&mut self) -> Result<(), Error> {
        if self.failed {
            return Ok(());
        }
        self.file.write_all(&self.buffer).map_err(|source| self.fail(source))?;
        self.file_bytes += self.buffer.len() as u64;
        self.file_packets += self.buffered_packets;
        self.buffer.clear();
        self.buffered_packets = 0;
        Ok(())
    }

    /// Cuts half a block off, so that the file ends with a whole one.
    fn fail(&mut self, source: io::Error) -> Error {
        self.failed = true;
        self.waiting.clear();
        self.buffer = Vec::new();
        // If it fails too, readers still read everything before the half block, and say so.
        let _ = self.file.set_len(self.file_bytes);
        self.error(source)
    }

    fn error(&self, source: io::Error) -> Error {
        Error::io(&self.path, Kept::Packets { packets: self.file_packets }, source)
    }
}
