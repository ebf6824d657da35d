//! Segments of an open connection: data in, acknowledgements in.
//!
//! The paths of a segment in order and of a clean acknowledgement come first; all else is apart.
//! Source: RFC 9293 3.10.7.4, RFC 5681, RFC 3168 6.1.2, RFC 7323 4.3 (timestamp to echo).

use super::prr::Delivery;
use super::scoreboard::{RESENT_EVER, Range};
use super::*;
use crate::cc::{Ack, Signal};

/// Flags that take a segment off the plain path, and ACK, which must be there.
const PLAIN: u8 = Flags::SYN.bits() | Flags::RST.bits() | Flags::FIN.bits() | Flags::ACK.bits();

/// How long ago a timestamp was given, in microseconds.
pub(super) fn since(now: Time, stamp: u32) -> u32 {
    (now.as_us() as u32).wrapping_sub(stamp)
}

impl Connection {
    /// A segment arrived; `ce` tells whether the network marked it.
    #[inline(always)]
    pub fn handle_segment(&mut self, now: Time, header: &Header, sacks: &[SackBlock], ce: bool) {
        if self.state == State::Open && header.flags.bits() & PLAIN == Flags::ACK.bits() {
            self.handle_open(now, header, sacks, ce);
        } else {
            self.handle_unusual(now, header, sacks, ce);
        }
    }

    #[inline(always)]
    pub(super) fn handle_open(&mut self, now: Time, header: &Header, sacks: &[SackBlock], ce: bool) {
        let next = self.rcv.next;
        let len = u64::from(header.len);
        let in_order = header.seq == self.irs.wrapping_add(next as u32) && !header.flags.contains(Flags::FIN);
        let acceptable = if in_order && len == 0 {
            true
        } else if in_order && self.rcv.takes_next(len) {
            self.receive_next(now, header, len, ce);
            true
        } else {
            self.receive_slow(now, header, ce)
        };
        if acceptable {
            self.handle_ack(now, header, sacks);
        }
    }

    /// The offset of a sequence number near the next one expected.
    pub(super) fn receive_offset(&self, seq: u32) -> Option<u64> {
        let next = self.rcv.next;
        let distance = seq.wrapping_sub(self.irs.wrapping_add(next as u32)) as i32;
        next.checked_add_signed(i64::from(distance))
    }

    /// Takes the next payload in order.
    #[inline(always)]
    fn receive_next(&mut self, now: Time, header: &Header, len: u64, ce: bool) {
        self.note_marks(header, ce);
        if header.flags.contains(Flags::TIMESTAMPS) && self.rcv.next <= self.rcv.acked {
            self.ts_recent = header.ts_val;
        }
        if !self.rcv.drained && self.rcv.readable() == 0 {
            self.events.push(Event::Readable);
        }
        if self.config.quick_acks > 0 && now > self.rcv.advanced_at.saturating_add(self.rtt.rto()) {
            self.rcv.hurry();
        }
        self.rcv.advance(now, len, self.config.delayed_ack);
        if now >= self.rcv.sizing.round_end {
            self.time_round_trip(now, header);
            self.right_size(now);
        }
    }

    /// Takes a segment that is not simply the next one. Returns whether it is acceptable.
    #[cold]
    fn receive_slow(&mut self, now: Time, header: &Header, ce: bool) -> bool {
        let (len, fin) = (u64::from(header.len), header.flags.contains(Flags::FIN));
        let start = self.receive_offset(header.seq);
        let Some(start) = start.filter(|&start| self.rcv.acceptable(start, len + u64::from(fin))) else {
            self.rcv.refuse(start, len);
            return false;
        };
        if len == 0 && !fin {
            return true;
        }
        self.note_marks(header, ce);
        if header.flags.contains(Flags::TIMESTAMPS) && start <= self.rcv.acked {
            self.ts_recent = header.ts_val;
        }
        let had_nothing = self.rcv.readable() == 0 && !self.rcv.ended;
        self.rcv.reassemble(now, start, len, fin);
        if had_nothing && (self.rcv.ended || self.rcv.readable() > 0) {
            self.events.push(Event::Readable);
        }
        if now >= self.rcv.sizing.round_end {
            self.time_round_trip(now, header);
            self.right_size(now);
        }
        self.finish_if_done();
        true
    }

    #[inline]
    fn note_marks(&mut self, header: &Header, ce: bool) {
        self.counters.ce_received += u64::from(ce);
        if self.ecn.on && self.ecn.receive(header.flags, ce) {
            self.acknowledge_earlier(ce);
        }
    }

    /// DCTCP's state changed: what came before is acknowledged with the old state (RFC 8257 3.2).
    #[cold]
    fn acknowledge_earlier(&mut self, ce: bool) {
        if self.rcv.next > self.rcv.acked {
            self.earlier_ack = (self.rcv.next, !ce);
            self.urgent |= urgent::EARLIER_ACK;
        }
        self.rcv.ack_now = true;
    }

    /// What has come is acknowledged by an empty segment, even when data could say so.
    #[cold]
    pub(super) fn acknowledge_apart(&mut self) {
        self.earlier_ack = (self.rcv.next, false);
        self.urgent |= urgent::EARLIER_ACK;
    }

    /// An end that only receives learns of queues on the way from the timestamps that come back with data
    /// (RFC 7323 4.1). Without timestamps it has what the handshake took.
    #[cold]
    fn time_round_trip(&mut self, now: Time, header: &Header) {
        self.rcv.sizing.start(if self.rtt.has_sample() {
            self.rtt.srtt()
        } else {
            self.config.rto_initial.drawn()
        });
        if header.flags.contains(Flags::TIMESTAMPS) && self.timestamps {
            self.rcv.sizing.sample(since(now, header.ts_ecr));
        }
    }

    /// A round trip of the receive buffer's sizing is over.
    #[cold]
    pub(super) fn right_size(&mut self, now: Time) {
        self.rcv.sizing.adjust(now, self.rcv.read, u64::from(self.mss));
    }

    /// Takes the acknowledgement field.
    #[inline(always)]
    fn handle_ack(&mut self, now: Time, header: &Header, sacks: &[SackBlock]) {
        // Nothing new: the usual case for an end that only receives.
        let heard = (header.ack, header.window);
        if heard == self.heard && self.board.is_empty() && sacks.is_empty() {
            self.attempts = 0;
            return;
        }
        self.heard = heard;
        let una = self.board.una;
        let distance = header.ack.wrapping_sub(self.isn.wrapping_add(una as u32)) as i32;
        if distance < 0 {
            return;
        }
        let ack = una + distance as u64;
        if ack > self.board.nxt {
            self.rcv.ack_now = true;
            return;
        }
        let edge = ack + u64::from(header.window);
        let opened = edge > self.edge;
        if opened {
            self.edge = edge;
            self.max_window = self.max_window.max(u64::from(header.window));
        }
        let clean =
            self.phase <= Phase::Reduced && sacks.is_empty() && self.board.is_clean() && self.dupacks == 0;
        if ack > una && clean {
            self.handle_clean_ack(now, header, ack);
        } else if ack > una || !self.board.is_empty() || self.tlp_end != 0 {
            let duplicate = ack == una && header.len == 0 && !opened;
            self.handle_ack_slow(now, header, ack, sacks, duplicate);
        } else {
            self.attempts = 0;
            if opened {
                // While nothing was in flight.
                self.retransmit_at = Time::MAX;
                self.update_limit();
            }
        }
    }

    /// New data is acknowledged and nothing is missing.
    #[inline(always)]
    fn handle_clean_ack(&mut self, now: Time, header: &Header, ack: u64) {
        let advanced = ack - self.board.una;
        let (sent, flags) = self.board.acknowledge_clean(ack);
        let rtt = self.sample_rtt(now, header, sent, flags);
        if let Some(rack) = &mut self.rack {
            rack.deliver_clean(sent, ack, now - sent);
        }
        if self.tlp_end != 0 {
            self.end_tail_loss_probe(ack, false, false);
            self.permit_probes();
        }
        self.react(now, header, advanced, advanced, rtt);
        if self.state == State::Closed {
            return; // That was the last.
        }
        self.rearm(now);
        self.update_open_limit();
    }

    /// A round-trip sample, unless the segment was sent twice (Karn) and there are no timestamps.
    #[inline(always)]
    pub(super) fn sample_rtt(&mut self, now: Time, header: &Header, sent: Time, flags: u8) -> Time {
        let rtt = if flags & RESENT_EVER == 0 {
            now.saturating_sub(sent)
        } else if header.flags.contains(Flags::TIMESTAMPS) && self.timestamps {
            Time::from_us(u64::from(since(now, header.ts_ecr)))
        } else {
            return Time::ZERO;
        };
        self.rtt.sample(rtt);
        rtt
    }

    /// Congestion control, and what the application waits for, after new data was acknowledged.
    #[inline(always)]
    pub(super) fn react(&mut self, now: Time, header: &Header, advanced: u64, delivered: u64, rtt: Time) {
        self.attempts = 0;
        let ece = self.ecn.on && header.flags.contains(Flags::ECE);
        let (una, nxt) = (self.board.una, self.board.nxt);
        let (srtt, in_flight) = (self.rtt.srtt(), self.board.pipe);
        // Made where it is asked for: most acknowledgements need a part of it only.
        let ack = || Ack { now, delivered, una, nxt, rtt, srtt, in_flight };
        self.control.observe(ack, advanced, ece, self.phase);
        self.counters.ece_acks += u64::from(ece);
        // Above it, for the segment with CWR is the first after it.
        if self.phase == Phase::Reduced && una > self.recover {
            self.phase = Phase::Open;
            self.end_reduction();
        }
        let grows = match self.phase {
            Phase::Open if ece => {
                self.reduce_for_ecn();
                false
            }
            Phase::Open => advanced > 0 && self.is_cwnd_limited(),
            Phase::Loss => advanced > 0,
            Phase::Reduced | Phase::Recovery => false,
        };
        if grows {
            self.control.grow(ack);
        }
        if self.prr.is_some() && delivered > 0 {
            self.reduce_in_proportion(advanced > 0, delivered);
        }
        if self.write_blocked || (self.fin_sent && una == nxt) {
            self.release(una);
        }
    }

    /// Linux's `tcp_is_cwnd_limited`: in slow start the window may be twice what was used.
    #[inline]
    fn is_cwnd_limited(&self) -> bool {
        let window = &self.control.window;
        self.cwnd_limited || (window.cwnd < window.ssthresh && window.cwnd < 2 * self.max_pipe)
    }

    /// The sender's reaction to ECE, once a window (RFC 3168 6.1.2).
    #[cold]
    fn reduce_for_ecn(&mut self) {
        self.phase = Phase::Reduced;
        self.recover = self.board.nxt;
        self.reduce(Signal::Ecn);
        self.ecn.send_cwr = true;
    }

    #[cold]
    fn reduce_in_proportion(&mut self, advanced: bool, delivered: u64) {
        let window = &self.control.window;
        let delivery = Delivery {
            delivered,
            advanced,
            pipe: self.board.pipe,
            sent_segments: self.counters.sent_segments,
            ssthresh: window.ssthresh,
            mss: window.mss,
        };
        if let Some(prr) = &mut self.prr {
            self.control.window.cwnd = prr.window(&delivery);
        }
    }

    /// Room in the send buffer, or the FIN acknowledged.
    pub(super) fn release(&mut self, una: u64) {
        let free = self.config.send_buffer.saturating_sub(self.written.saturating_sub(una));
        if self.write_blocked && 3 * free >= self.config.send_buffer {
            self.write_blocked = false;
            self.events.push(Event::Writable);
        }
        self.finish_if_done();
    }

    /// The blocks that make sense, as offsets, and whether the first reports a duplicate (RFC 2883 4).
    pub(super) fn sorted_out(
        &self,
        ack: u64,
        sacks: &[SackBlock],
        out: &mut [Range; BLOCKS_MAX],
    ) -> (usize, bool) {
        let (una, nxt) = (self.board.una, self.board.nxt);
        let base = self.isn.wrapping_add(una as u32);
        let (mut count, mut dsack) = (0, false);
        for (index, block) in sacks.iter().take(BLOCKS_MAX).enumerate() {
            let start = i64::from(block.start.wrapping_sub(base) as i32);
            let end = i64::from(block.end.wrapping_sub(base) as i32);
            if end <= start {
                continue;
            }
            if index == 0 {
                let inside_second = sacks.get(1).is_some_and(|second| {
                    let second_start = i64::from(second.start.wrapping_sub(base) as i32);
                    let second_end = i64::from(second.end.wrapping_sub(base) as i32);
                    second_start <= start && end <= second_end
                });
                dsack = una.checked_add_signed(end).is_none_or(|end| end <= ack) || inside_second;
                if dsack {
                    continue;
                }
            }
            let (Some(start), Some(end)) = (una.checked_add_signed(start), una.checked_add_signed(end))
            else {
                continue;
            };
            if start >= ack && end <= nxt {
                out[count] = Range { start, end };
                count += 1;
            }
        }
        (count, dsack)
    }
}
