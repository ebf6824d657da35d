//! Segments out: new data first on the path, then what recovery, the handshake and timers ask for.
//!
//! Source: RFC 9293 3.8, RFC 1122 4.2.3.4 (silly window, without Nagle), RFC 5681 4.1 (idle restart).

use super::header::Transmit;
use super::recovery::Resend;
use super::scoreboard::{self, Range};
use super::*;

impl Connection {
    /// The next segment to send now, if any.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Transmit> {
        if self.state != State::Open || self.urgent != 0 || self.phase >= Phase::Recovery {
            if let Some(transmit) = self.transmit_unusual(now) {
                return Some(transmit);
            }
        }
        if let Some(len) = self.new_data() {
            return Some(self.transmit_data(now, len));
        }
        if self.rcv.ack_now {
            return Some(self.transmit_ack(now));
        }
        if self.board.is_empty() && self.written > self.board.nxt {
            self.persist(now);
        }
        None
    }

    /// A pure acknowledgement that is due now, if any: it may pass a NIC that is full of data.
    #[inline]
    pub fn poll_ack(&mut self, now: Time) -> Option<Transmit> {
        if self.urgent & urgent::EARLIER_ACK != 0 {
            return Some(self.transmit_earlier_ack(now));
        }
        if self.rcv.ack_now { Some(self.transmit_ack(now)) } else { None }
    }

    /// Whether [`Connection::poll_transmit`] would return a segment.
    #[inline]
    pub fn wants_to_send(&self, _now: Time) -> bool {
        self.rcv.ack_now
            || self.urgent != 0
            || self.new_data().is_some()
            || (self.phase >= Phase::Recovery && self.next_resend().is_some())
    }

    /// The SACK blocks of the header that `poll_transmit` or `poll_ack` has just returned.
    #[inline]
    pub fn sack_blocks(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.block_count)]
    }

    /// Payload of the next segment of new data that may go out; zero for a FIN alone.
    #[inline]
    pub(super) fn new_data(&self) -> Option<u32> {
        if self.state != State::Open {
            return None;
        }
        let nxt = self.board.nxt;
        let unsent = self.written.saturating_sub(nxt);
        if unsent == 0 {
            return if self.closing && !self.fin_sent { Some(0) } else { None };
        }
        let len = unsent.min(u64::from(self.mss));
        if self.pipe() + len > self.control.window.cwnd {
            return None;
        }
        if nxt + len <= self.edge {
            return Some(len as u32);
        }
        // The peer's window cuts the segment: worth sending from half of the largest window.
        let room = self.edge.saturating_sub(nxt);
        if room > 0 && 2 * room >= self.max_window { Some(room as u32) } else { None }
    }

    #[inline]
    fn transmit_data(&mut self, now: Time, len: u32) -> Transmit {
        if self.board.is_empty() {
            self.restart_if_idle(now);
        }
        let start = self.board.nxt;
        let end = start + u64::from(len);
        let last = end == self.written;
        let fin = last && self.closing;
        let flags = Flags::ACK.with(Flags::PSH, last && len > 0).with(Flags::FIN, fin);
        self.fin_sent |= fin;
        self.board.push(now, len + u32::from(fin), scoreboard::FIN * u8::from(fin));
        let mut transmit = self.segment(now, start, flags, len);
        transmit.ect = self.ecn.on && (len > 0 || self.ecn.control_ect());
        if self.ecn.send_cwr && self.ecn.on && len > 0 {
            transmit.header.flags = transmit.header.flags | Flags::CWR;
            self.ecn.send_cwr = false;
        }
        self.last_sent = now;
        self.validate_window();
        self.arm_after_send(now);
        transmit
    }

    /// Linux's `tcp_cwnd_validate`: keeps the strongest sign within a window that cwnd limits the sender.
    #[inline]
    fn validate_window(&mut self) {
        let pipe = self.pipe();
        let limited = pipe + u64::from(self.mss) > self.control.window.cwnd;
        if limited || self.board.una >= self.usage_end || (!self.cwnd_limited && pipe > self.max_pipe) {
            self.cwnd_limited = limited;
            self.max_pipe = pipe;
            self.usage_end = self.board.nxt;
        }
    }

    fn restart_if_idle(&mut self, now: Time) {
        if now.saturating_sub(self.last_sent) > self.rtt.rto() && self.board.nxt > 1 {
            self.control.restart_after_idle(self.config.initial_window);
        }
    }

    #[inline]
    fn transmit_ack(&mut self, now: Time) -> Transmit {
        let mut transmit = self.segment(now, self.board.nxt, Flags::ACK, 0);
        if self.sack && self.rcv.has_blocks() {
            self.attach_blocks(&mut transmit);
        }
        self.rcv.acknowledge();
        transmit
    }

    #[cold]
    fn attach_blocks(&mut self, transmit: &mut Transmit) {
        let mut ranges = [Range::default(); BLOCKS_MAX];
        let most = if self.timestamps { BLOCKS_MAX - 1 } else { BLOCKS_MAX };
        let count = self.rcv.blocks(&mut ranges[..most]);
        for (block, range) in self.blocks.iter_mut().zip(&ranges[..count]) {
            let wire = |offset: u64| self.irs.wrapping_add(offset as u32);
            *block = SackBlock { start: wire(range.start), end: wire(range.end) };
        }
        self.block_count = count as u8;
        transmit.header.sack_count = count as u8;
        self.counters.sent_bytes += if count > 0 { 4 + 8 * count as u64 } else { 0 };
    }

    /// A segment with the fields that all have. A data segment acknowledges too, but where blocks are
    /// to be reported it leaves that to a pure acknowledgement, for it may be full.
    #[inline]
    fn segment(&mut self, now: Time, start: u64, flags: Flags, len: u32) -> Transmit {
        let window = self.rcv.advertise(u64::from(self.mss)).min(u64::from(u32::MAX)) as u32;
        let flags = flags.with(Flags::ECE, self.ecn.on && self.ecn.echo);
        let mut header = Header {
            seq: self.isn.wrapping_add(start as u32),
            ack: self.irs.wrapping_add(self.rcv.next as u32),
            window,
            len: len as u16,
            flags,
            ..Header::default()
        };
        if self.timestamps {
            header.flags = header.flags | Flags::TIMESTAMPS;
            header.ts_val = now.as_us() as u32;
            header.ts_ecr = self.ts_recent;
        }
        if !self.rcv.has_blocks() {
            self.rcv.acknowledge();
        }
        self.block_count = 0;
        self.counters.sent_segments += 1;
        self.counters.sent_bytes += u64::from(self.header_bytes + len);
        Transmit { header, ect: self.ecn.control_ect(), retransmission: false }
    }

    /// Everything but new data and plain acknowledgements.
    #[cold]
    fn transmit_unusual(&mut self, now: Time) -> Option<Transmit> {
        if self.urgent & urgent::RST != 0 {
            self.urgent &= !urgent::RST;
            return Some(self.segment(now, self.board.nxt, Flags::RST | Flags::ACK, 0));
        }
        if self.urgent & urgent::SYN != 0 {
            self.urgent &= !urgent::SYN;
            return Some(self.transmit_syn(now));
        }
        if self.state != State::Open {
            return None;
        }
        if self.urgent & urgent::EARLIER_ACK != 0 {
            return Some(self.transmit_earlier_ack(now));
        }
        if self.phase >= Phase::Recovery
            && let Some(resend) = self.next_resend()
        {
            self.rescued |= resend.rescue;
            return Some(self.transmit_again(now, resend));
        }
        self.urgent &= !urgent::FIRST_RESEND;
        if self.urgent & urgent::TAIL_LOSS_PROBE != 0 {
            self.urgent &= !urgent::TAIL_LOSS_PROBE;
            return self.transmit_tail_loss_probe(now);
        }
        if self.urgent & urgent::WINDOW_PROBE != 0 {
            self.urgent &= !urgent::WINDOW_PROBE;
            return self.transmit_window_probe(now);
        }
        None
    }

    fn transmit_syn(&mut self, now: Time) -> Transmit {
        let (flags, ack) = if self.state == State::SynSent {
            (Flags::SYN | self.ecn.syn_flags(), 0)
        } else {
            (Flags::SYN | Flags::ACK | self.ecn.syn_ack_flags(), self.irs.wrapping_add(1))
        };
        let header = Header {
            seq: self.isn,
            ack,
            window: self.rcv.sizing.buffer().min(u64::from(u16::MAX)) as u32,
            ts_val: if self.timestamps { now.as_us() as u32 } else { 0 },
            ts_ecr: self.ts_recent,
            len: 0,
            flags: flags.with(Flags::SACK_PERMITTED, self.sack).with(Flags::TIMESTAMPS, self.timestamps),
            sack_count: 0,
        };
        self.block_count = 0;
        self.last_sent = now;
        self.retransmit_at = now.saturating_add(self.rtt.rto());
        self.counters.sent_segments += 1;
        self.counters.sent_bytes += u64::from(header.bytes());
        self.counters.retransmits += u64::from(self.attempts > 0);
        Transmit { header, ect: self.ecn.syn_ect() && (self.state == State::SynSent || self.ecn.on), retransmission: self.attempts > 0 }
    }

    #[cold]
    fn transmit_earlier_ack(&mut self, now: Time) -> Transmit {
        self.urgent &= !urgent::EARLIER_ACK;
        let (next, echo) = self.earlier_ack;
        let due = self.rcv.ack_now;
        let mut transmit = self.segment(now, self.board.nxt, Flags::ACK, 0);
        let bits = transmit.header.flags.bits() & !Flags::ECE.bits();
        transmit.header.flags = Flags::from_bits(bits).with(Flags::ECE, echo);
        transmit.header.ack = self.irs.wrapping_add(next as u32);
        transmit.header.window = transmit.header.window.saturating_add((self.rcv.next - next) as u32);
        self.rcv.ack_now = due;
        transmit
    }

    fn transmit_again(&mut self, now: Time, resend: Resend) -> Transmit {
        self.urgent &= !urgent::FIRST_RESEND;
        let segment = self.board.resend(now, resend.index);
        if !resend.rescue {
            self.high_rxt = self.high_rxt.max(segment.end());
        }
        self.rack.note_resent(segment.start, now);
        self.counters.retransmits += 1;
        if self.retransmit_at == Time::MAX {
            self.retransmit_at = now.saturating_add(self.rtt.rto());
        }
        self.last_sent = now;
        let fin = segment.is(scoreboard::FIN);
        let mut transmit =
            self.segment(now, segment.start, Flags::ACK.with(Flags::FIN, fin), segment.len - u32::from(fin));
        transmit.retransmission = true;
        transmit
    }

    /// RFC 8985 7.3: new data when there is some, else the last segment again.
    fn transmit_tail_loss_probe(&mut self, now: Time) -> Option<Transmit> {
        let unsent = self.written.saturating_sub(self.board.nxt).min(u64::from(self.mss));
        let fits = unsent > 0 && self.board.nxt + unsent <= self.edge;
        self.tlp_is_retransmission = !fits;
        let transmit = if fits {
            self.transmit_data(now, unsent as u32)
        } else {
            let index = self.board.last_unsacked()?;
            self.transmit_again(now, Resend { index, rescue: true })
        };
        self.tlp_end = self.board.nxt;
        self.permit_probes();
        self.counters.tail_loss_probes += 1;
        self.probe_at = Time::MAX;
        self.retransmit_at = now.saturating_add(self.rtt.rto());
        Some(transmit)
    }

    /// A probe of a closed window: what fits, or else a segment that the peer must answer (RFC 9293 3.8.6.1).
    fn transmit_window_probe(&mut self, now: Time) -> Option<Transmit> {
        if !self.board.is_empty() || self.written <= self.board.nxt {
            return None;
        }
        let room = self.edge.saturating_sub(self.board.nxt);
        let len = (self.written - self.board.nxt).min(room).min(u64::from(self.mss));
        if len > 0 {
            return Some(self.transmit_data(now, len as u32));
        }
        Some(self.segment(now, self.board.una - 1, Flags::ACK, 0))
    }
}
