//! What comes to the ports of a member, up to the bound of a turn, and to whom it is handed.

use super::Driver;
use crate::report::Counters;
use process::Train;
use std::io;
use std::time::Duration;
use sys::udp::Received;

/// Calls that read a port in a turn, however many datagrams they bring.
const RECEIVE_CALLS: u64 = 4;

/// A member with an earlier timer does not pause.
const PAUSE_MAX: Duration = Duration::from_micros(200);

impl Driver {
    /// Pauses if much has come since the driver waited last, so that more comes at once; says whether it has.
    pub(super) fn gather(&mut self, timeout: Duration) -> bool {
        let came = self.counters.received_bytes - self.gathered;
        self.gathered = self.counters.received_bytes;
        let pauses = gathers(self.settings.gather_bytes as u64, came, timeout);
        if pauses {
            sys::sleep::sleep_ns(1);
            self.now.set(None);
        }
        pauses
    }

    /// Takes what has come to a port, up to the bound of a turn.
    pub(super) fn receive(&mut self, index: usize) -> io::Result<()> {
        if !self.reads(&self.datagrams.ports[index]) {
            return Ok(());
        }
        let mut batch = self.datagrams.received.take().expect("it is put back");
        let until = self.counters.received_datagrams + self.settings.turn_events as u64;
        let calls = self.counters.receive_calls + RECEIVE_CALLS;
        let more =
            |counters: &Counters| counters.received_datagrams < until || counters.receive_calls < calls;
        while self.datagrams.ports[index].readable && more(&self.counters) {
            match self.datagrams.ports[index].socket.recv(&mut batch) {
                Ok(filled) => {
                    self.counters.receive_calls += 1;
                    // A call that brings less than it could has found the socket empty.
                    self.datagrams.ports[index].readable = filled == batch.capacity();
                    for received in batch.iter() {
                        self.on_received(index, &received);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.datagrams.ports[index].readable = false,
            }
        }
        self.datagrams.received = Some(batch);
        Ok(())
    }

    /// What came in one buffer: one datagram, or several of one sender.
    fn on_received(&mut self, index: usize, received: &Received<'_>) {
        let port = &mut self.datagrams.ports[index];
        let (number, owner) = (port.port, port.owner);
        if let Some(total) = received.overflows {
            port.overflowed(total, &mut self.counters);
        }
        let count = received.segments().len() as u64;
        let too_long = received.segment as u64 > self.datagrams.datagram_max();
        let Some(from) = received.from.and_then(|address| self.table.source(address)) else {
            self.counters.foreign_datagrams += count;
            return;
        };
        if received.truncated || too_long {
            self.counters.truncated_datagrams += count;
            return;
        }
        let Some(process) = owner else {
            self.counters.unbound_datagrams += count;
            return;
        };
        let job = self.slots[process as usize].job;
        let length = received.data.len() as u64;
        self.counters.received_datagrams += count;
        self.counters.received_bytes += length;
        self.datagrams.came(job, from.host.0, count, length);
        let train = Train { from, port: number, data: received.data, segment: received.segment };
        self.dispatch_train(process, &train, count);
    }
}

/// Whether to pause when `came` bytes have come and `timeout` is left, as network cards moderate their
/// interrupts: never for a lone datagram.
fn gathers(least: u64, came: u64, timeout: Duration) -> bool {
    least > 0 && came >= least && timeout > PAUSE_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_much_is_gathered_and_no_timer_is_late_for_it() {
        let later = Duration::from_millis(1);
        assert!(gathers(1000, 1000, later));
        assert!(!gathers(1000, 999, later));
        assert!(!gathers(1000, 1000, PAUSE_MAX), "a timer is due");
        assert!(!gathers(0, 1 << 20, later), "unless it is asked for");
    }
}
