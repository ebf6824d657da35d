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
        if !self.is_plain()
            && let Some(transmit) = self.transmit_unusual(now)
        {
            return Some(transmit);
        }
        if self.urgent & urgent::PACED == 0
            && let Some(transmit) = self.poll_full_segment(now)
        {
            return Some(transmit);
        }
        if self.has_data() { Some(self.transmit_data(now)) } else { self.poll_ack(now) }
    }

    /// Whether nothing can be due but new data and an acknowledgement: the usual case, in which a driver in a
    /// hurry asks for [full segments](Connection::poll_full_segment) and [plain
    /// acknowledgements](Connection::poll_plain_ack) first.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.urgent == 0 && self.phase < Phase::Recovery
    }

    /// Whether new data may go out.
    #[inline]
    pub fn has_data(&self) -> bool {
        self.board.nxt < self.send_limit
    }

    /// New data that fills a segment and that more will follow, if it may go out. Nothing unusual may be due.
    #[inline(always)]
    pub fn poll_full_segment(&mut self, now: Time) -> Option<Transmit> {
        let start = self.board.nxt;
        let more = start + u64::from(self.mss) < self.written.min(self.edge);
        if !self.has_data() || !more || self.board.is_empty() {
            return None;
        }
        let flags = Flags::ACK.with(Flags::CWR, std::mem::take(&mut self.ecn.send_cwr));
        Some(self.emit(now, flags, self.mss, false, self.ecn.on))
    }

    /// Whether an acknowledgement is due.
    #[inline]
    pub fn owes_ack(&self) -> bool {
        self.rcv.ack_now
    }

    /// An acknowledgement that is due, if it has nothing to say of gaps. Nothing unusual may be due.
    #[inline(always)]
    pub fn poll_plain_ack(&mut self, now: Time) -> Option<Transmit> {
        if !self.rcv.ack_now || self.rcv.has_blocks() {
            return None;
        }
        self.rcv.acknowledge();
        Some(self.segment(now, self.board.nxt, Flags::ACK, 0, 0, self.ecn.control_ect()))
    }

    /// A pure acknowledgement that is due now, if any: it may pass a NIC that is full of data.
    #[inline]
    pub fn poll_ack(&mut self, now: Time) -> Option<Transmit> {
        if self.urgent & urgent::EARLIER_ACK != 0 {
            return Some(self.transmit_earlier_ack(now));
        }
        if self.rcv.ack_now { Some(self.transmit_ack(now)) } else { None }
    }

    /// Whether [`Connection::poll_transmit`] must be called: it returns a segment, or has a timer to set.
    #[inline]
    pub fn wants_to_send(&self) -> bool {
        self.has_data()
            || self.rcv.ack_now
            || self.urgent != 0
            || (self.phase >= Phase::Recovery && self.next_resend().is_some())
    }

    /// The SACK blocks of the header that `poll_transmit` or `poll_ack` has just returned.
    #[inline]
    pub fn sack_blocks(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.block_count)]
    }

    /// Works out up to where new data may go out now. To be called when anything that it depends on changes,
    /// except that new data is sent.
    #[inline(always)]
    pub(super) fn update_limit(&mut self) {
        if self.state == State::Open {
            self.update_open_limit();
        } else {
            self.send_limit = 0;
        }
    }

    /// The same for a connection that is known to be open.
    #[inline(always)]
    pub(super) fn update_open_limit(&mut self) {
        let nxt = self.board.nxt;
        let room = self.control.window.cwnd.saturating_sub(self.pipe());
        let allowed = (nxt + room).min(self.edge);
        self.send_limit = if self.written <= allowed {
            // All of it, and the FIN too.
            self.written + u64::from(self.closing && !self.fin_sent)
        } else {
            self.partial_limit(nxt, nxt + room)
        };
        if self.board.is_empty() {
            self.look_at_closed_window();
        }
    }

    /// Nothing is in flight: when nothing may be sent either, the peer's window must be probed.
    #[inline(never)]
    fn look_at_closed_window(&mut self) {
        let nxt = self.board.nxt;
        if self.send_limit <= nxt && self.written > nxt {
            self.urgent |= urgent::PERSIST;
        }
    }

    /// Not all may go out: full segments. What the peer's window leaves over goes out only when it is at
    /// least half of the largest window that it has offered (RFC 9293 3.8.6.2.1; without the conditions of
    /// Nagle).
    #[inline(always)]
    fn partial_limit(&self, nxt: u64, window_end: u64) -> u64 {
        if self.edge < window_end && self.edge_rest_goes(nxt) {
            return self.edge;
        }
        let full = window_end.min(self.edge).saturating_sub(u64::from(self.mss) - 1);
        // A FIN alone needs no window.
        if full <= nxt && nxt == self.written && self.closing && !self.fin_sent { nxt + 1 } else { full }
    }

    /// Whether less than a segment goes out that the peer's window leaves over after `nxt`.
    #[inline(never)]
    fn edge_rest_goes(&self, nxt: u64) -> bool {
        let rest = self.edge.saturating_sub(nxt) % u64::from(self.mss);
        rest > 0 && 2 * rest >= self.max_window
    }

    /// New data, while [it may go out](Connection::has_data).
    fn transmit_data(&mut self, now: Time) -> Transmit {
        if self.board.is_empty() {
            self.restart_if_idle(now);
        }
        let start = self.board.nxt;
        let room = self.edge.saturating_sub(start);
        self.transmit_last(now, (self.written - start).min(u64::from(self.mss)).min(room) as u32)
    }

    /// New data that may be the last, or a FIN alone.
    fn transmit_last(&mut self, now: Time, len: u32) -> Transmit {
        let last = self.board.nxt + u64::from(len) == self.written;
        let fin = last && self.closing;
        let cwr = self.ecn.send_cwr && len > 0;
        let flags = Flags::ACK.with(Flags::PSH, last && len > 0).with(Flags::FIN, fin).with(Flags::CWR, cwr);
        self.ecn.send_cwr &= !cwr;
        self.fin_sent |= fin;
        let ect = if len > 0 { self.ecn.on } else { self.ecn.control_ect() };
        let in_flight = self.board.pipe;
        let transmit = self.emit(now, flags, len, fin, ect);
        if self.urgent & urgent::PACED != 0 {
            self.note_sent(now, self.board.nxt, u64::from(transmit.header.bytes()), in_flight);
        }
        transmit
    }

    /// Sends new data. It acknowledges too, but where blocks are to be reported that is left to a pure
    /// acknowledgement, for the segment may be full.
    #[inline(always)]
    fn emit(&mut self, now: Time, flags: Flags, len: u32, fin: bool, ect: bool) -> Transmit {
        let start = self.board.nxt;
        self.board.push(now, len + u32::from(fin), scoreboard::FIN * u8::from(fin));
        self.last_sent = now;
        self.validate_window();
        self.arm_after_send(now);
        self.rcv.answer(now, self.config.delayed_ack);
        if !self.rcv.has_blocks() {
            self.rcv.acknowledge();
        }
        self.segment(now, start, flags, len, 0, ect)
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

    #[cold]
    fn restart_if_idle(&mut self, now: Time) {
        if now.saturating_sub(self.last_sent) > self.rtt.rto() && self.board.nxt > 1 {
            self.control.restart_after_idle(self.config.initial_window);
            self.update_limit();
        }
    }

    fn transmit_ack(&mut self, now: Time) -> Transmit {
        let blocks = if self.rcv.has_blocks() && self.sack { self.fill_blocks() } else { 0 };
        self.rcv.acknowledge();
        self.segment(now, self.board.nxt, Flags::ACK, 0, blocks, self.ecn.control_ect())
    }

    #[cold]
    fn fill_blocks(&mut self) -> u8 {
        let mut ranges = [Range::default(); BLOCKS_MAX];
        let most = if self.timestamps { BLOCKS_MAX - 1 } else { BLOCKS_MAX };
        let count = self.rcv.blocks(&mut ranges[..most]);
        for (block, range) in self.blocks.iter_mut().zip(&ranges[..count]) {
            let wire = |offset: u64| self.irs.wrapping_add(offset as u32);
            *block = SackBlock { start: wire(range.start), end: wire(range.end) };
        }
        count as u8
    }

    /// A segment other than a SYN.
    #[inline(always)]
    fn segment(&mut self, now: Time, start: u64, flags: Flags, len: u32, blocks: u8, ect: bool) -> Transmit {
        let options = if blocks == 0 { 0 } else { 4 + 8 * u32::from(blocks) };
        let bytes = self.header_bytes + len + options;
        self.block_count = blocks;
        if len > 0 {
            self.counters.sent_segments += 1;
            self.counters.sent_bytes += u64::from(bytes);
        }
        let window = self.rcv.advertise();
        let (ts_val, ts_ecr) = if self.timestamps { (now.as_us() as u32, self.ts_recent) } else { (0, 0) };
        let header = Header {
            seq: self.isn.wrapping_add(start as u32),
            ack: self.irs.wrapping_add(self.rcv.next as u32),
            window,
            ts_val,
            ts_ecr,
            len: len as u16,
            flags: flags.with(Flags::ECE, self.ecn.echo).with(Flags::TIMESTAMPS, self.timestamps),
            notes: Notes::sack(blocks),
        };
        Transmit { header, bytes: bytes as u16, ect }
    }

    /// Everything but new data and plain acknowledgements.
    #[cold]
    fn transmit_unusual(&mut self, now: Time) -> Option<Transmit> {
        if self.urgent & urgent::RST != 0 {
            self.urgent &= !urgent::RST;
            let (flags, ect) = (Flags::RST | Flags::ACK, self.ecn.control_ect());
            return Some(self.segment(now, self.board.nxt, flags, 0, 0, ect));
        }
        if self.urgent & urgent::SYN != 0 {
            self.urgent &= !urgent::SYN;
            return Some(self.transmit_syn(now));
        }
        if self.state != State::Open {
            return None;
        }
        if self.urgent & urgent::PACED != 0 {
            self.set_pacing_timer();
        }
        if self.urgent & urgent::PERSIST != 0 {
            self.urgent &= !urgent::PERSIST;
            self.persist(now);
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
            (Flags::SYN | self.ecn.syn_flags(self.attempts > 0), 0)
        } else {
            (Flags::SYN | Flags::ACK | self.ecn.syn_ack_flags(), self.irs.wrapping_add(1))
        };
        let ect = self.ecn.syn_ect();
        let header = Header {
            seq: self.isn,
            ack,
            window: self.rcv.sizing.buffer().min(u64::from(u16::MAX)) as u32,
            ts_val: if self.timestamps { now.as_us() as u32 } else { 0 },
            ts_ecr: self.ts_recent,
            len: 0,
            flags: flags.with(Flags::SACK_PERMITTED, self.sack).with(Flags::TIMESTAMPS, self.timestamps),
            notes: Notes::NONE.with(Notes::RETRANSMISSION, self.attempts > 0).with(Notes::ECT, ect),
        };
        self.block_count = 0;
        self.last_sent = now;
        self.retransmit_at = now.saturating_add(self.rtt.rto());
        self.counters.retransmits += u64::from(self.attempts > 0);
        Transmit::new(header, ect)
    }

    #[cold]
    fn transmit_earlier_ack(&mut self, now: Time) -> Transmit {
        self.urgent &= !urgent::EARLIER_ACK;
        let (next, echo) = self.earlier_ack;
        let mut transmit = self.segment(now, self.board.nxt, Flags::ACK, 0, 0, self.ecn.control_ect());
        let header = &mut transmit.header;
        let bits = header.flags.bits() & !Flags::ECE.bits();
        header.flags = Flags::from_bits(bits).with(Flags::ECE, echo);
        header.ack = self.irs.wrapping_add(next as u32);
        header.window = header.window.saturating_add((self.rcv.next - next) as u32);
        transmit
    }

    fn transmit_again(&mut self, now: Time, resend: Resend) -> Transmit {
        self.urgent &= !urgent::FIRST_RESEND;
        let in_flight = self.board.pipe;
        let segment = self.board.resend(now, resend.index);
        if !resend.rescue {
            self.high_rxt = self.high_rxt.max(segment.end());
        }
        if let Some(rack) = &mut self.rack {
            rack.note_resent(segment.start, now);
        }
        self.counters.retransmits += 1;
        if self.retransmit_at == Time::MAX {
            self.retransmit_at = now.saturating_add(self.rtt.rto());
        }
        self.last_sent = now;
        let fin = segment.is(scoreboard::FIN);
        let flags = Flags::ACK.with(Flags::FIN, fin);
        let (len, ect) = (segment.len - u32::from(fin), self.ecn.control_ect());
        self.counters.retransmitted_bytes += u64::from(len);
        let mut transmit = self.segment(now, segment.start, flags, len, 0, ect);
        transmit.header.notes = Notes::RETRANSMISSION;
        if self.urgent & urgent::PACED != 0 {
            self.note_sent(now, segment.end(), u64::from(transmit.header.bytes()), in_flight);
        }
        self.update_limit();
        transmit
    }

    /// RFC 8985 7.3: new data when there is some, else the last segment again.
    #[cold]
    fn transmit_tail_loss_probe(&mut self, now: Time) -> Option<Transmit> {
        let unsent = self.written.saturating_sub(self.board.nxt).min(u64::from(self.mss));
        let fits = unsent > 0 && self.board.nxt + unsent <= self.edge;
        self.tlp_is_retransmission = !fits;
        let transmit = if fits {
            self.transmit_last(now, unsent as u32)
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
    #[cold]
    fn transmit_window_probe(&mut self, now: Time) -> Option<Transmit> {
        if !self.board.is_empty() || self.written <= self.board.nxt {
            return None;
        }
        let room = self.edge.saturating_sub(self.board.nxt);
        let len = (self.written - self.board.nxt).min(room).min(u64::from(self.mss));
        if len > 0 {
            return Some(self.transmit_last(now, len as u32));
        }
        Some(self.segment(now, self.board.una - 1, Flags::ACK, 0, 0, self.ecn.control_ect()))
    }
}
