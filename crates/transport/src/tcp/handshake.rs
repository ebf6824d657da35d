//! Opening, resetting and the answers of a closed connection: every segment that is not plain.
//!
//! Source: RFC 9293 3.5 and 3.10.7, RFC 5961 3 (reset within the window), RFC 3168 6.1.1.

use super::input::since;
use super::*;

/// SYNs in a row before giving up, as Linux's `tcp_syn_retries`.
pub(super) const SYN_ATTEMPTS_MAX: u32 = 6;

impl Connection {
    /// A segment with SYN or RST, without ACK, or for a connection that is not open.
    #[cold]
    pub(super) fn handle_unusual(&mut self, now: Time, header: &Header, sacks: &[SackBlock], ce: bool) {
        let flags = header.flags;
        match self.state {
            State::Listen if flags.contains(Flags::SYN) && !flags.intersects(Flags::RST | Flags::ACK) => {
                self.accept(header);
            }
            State::Listen => {}
            State::SynSent => self.handle_in_syn_sent(now, header),
            State::SynReceived => self.handle_in_syn_received(now, header, sacks, ce),
            State::Open if flags.contains(Flags::RST) => self.handle_reset(header),
            // A SYN here is a repeat: tell the peer where we are (RFC 5961 4).
            State::Open if flags.contains(Flags::SYN) => self.rcv.ack_now = true,
            State::Open if flags.contains(Flags::ACK) => self.handle_open(now, header, sacks, ce),
            State::Open => {}
            State::Closed => self.handle_closed(header),
        }
    }

    fn accept(&mut self, header: &Header) {
        self.state = State::SynReceived;
        self.learn_from_syn(header);
        self.ecn.handle_syn(header.flags, header.notes.contains(Notes::ECT));
        self.urgent |= urgent::SYN;
    }

    /// Takes over the peer's sequence number, window and options.
    fn learn_from_syn(&mut self, header: &Header) {
        self.irs = header.seq;
        self.rcv.next = 1;
        self.rcv.acked = 1;
        self.edge = 1 + u64::from(header.window);
        self.max_window = u64::from(header.window);
        self.sack &= header.flags.contains(Flags::SACK_PERMITTED);
        self.timestamps &= header.flags.contains(Flags::TIMESTAMPS);
        self.ts_recent = header.ts_val;
        let stamped = Flags::NONE.with(Flags::TIMESTAMPS, self.timestamps);
        self.header_bytes = Header { flags: stamped, ..Header::default() }.bytes();
    }

    fn handle_in_syn_sent(&mut self, now: Time, header: &Header) {
        let flags = header.flags;
        let acks_syn = flags.contains(Flags::ACK) && header.ack == self.isn.wrapping_add(1);
        if flags.contains(Flags::RST) {
            if acks_syn {
                self.shut(Some(CloseReason::Refused));
            }
        } else if acks_syn && flags.contains(Flags::SYN) {
            self.learn_from_syn(header);
            self.ecn.handle_syn_ack(flags);
            self.establish(now, header);
            if self.rcv.is_quick() {
                self.acknowledge_apart();
            } else {
                self.rcv.ack_now = true;
            }
        }
    }

    fn handle_in_syn_received(&mut self, now: Time, header: &Header, sacks: &[SackBlock], ce: bool) {
        let flags = header.flags;
        if flags.contains(Flags::RST) {
            if self.receive_offset(header.seq) == Some(self.rcv.next) {
                self.shut(Some(CloseReason::Reset));
            }
        } else if flags.contains(Flags::SYN) {
            if header.seq == self.irs {
                // Our SYN-ACK was lost.
                self.urgent |= urgent::SYN;
            }
        } else if flags.contains(Flags::ACK) && header.ack == self.isn.wrapping_add(1) {
            self.edge = 1 + u64::from(header.window);
            self.establish(now, header);
            self.handle_open(now, header, sacks, ce);
        }
    }

    fn establish(&mut self, now: Time, header: &Header) {
        self.state = State::Open;
        self.urgent &= !urgent::SYN;
        self.retransmit_at = Time::MAX;
        if self.attempts == 0 {
            self.rtt.sample(now.saturating_sub(self.last_sent));
        } else {
            if self.timestamps && header.flags.contains(Flags::TIMESTAMPS) {
                // The echo says which SYN was answered (RFC 7323 4.1).
                self.rtt.sample(Time::from_us(u64::from(since(now, header.ts_ecr))));
            } else {
                // Karn: no sample. RFC 6298 5.7: a long timeout.
                self.rtt.restart_after_lost_syn();
            }
            // RFC 6928 2: the initial window stays unless more than one SYN or SYN-ACK was repeated, as
            // Linux's `tcp_init_transfer` has it; then one segment (RFC 5681 3.1).
            if self.attempts > 1 {
                self.control.restart_after_idle(1);
            }
        }
        self.attempts = 0;
        if let Some(model) = self.control.model() {
            // What comes first was waited for.
            model.rate.limit_by_application(0);
            self.urgent |= urgent::PACED;
        }
        self.permit_probes();
        self.update_limit();
        self.events.push(Event::Opened);
    }

    fn handle_reset(&mut self, header: &Header) {
        let Some(offset) = self.receive_offset(header.seq) else { return };
        if offset == self.rcv.next {
            self.shut(Some(CloseReason::Reset));
        } else if self.rcv.acceptable(offset, 0) {
            self.rcv.ack_now = true;
        }
    }

    /// After the end: a repeated FIN is acknowledged again, anything else reset.
    fn handle_closed(&mut self, header: &Header) {
        let finished = self.rcv.ended && self.fin_sent;
        if header.flags.contains(Flags::RST) {
            return;
        }
        if finished {
            self.rcv.ack_now |= header.sequence_length() > 0;
        } else if header.flags.contains(Flags::ACK) {
            // RFC 9293 3.5.2: the reset's number is the one that the peer waits for. Behind data that were
            // lost, it would challenge any other, and be reset again, for ever.
            let nxt = self.board.nxt;
            let distance = header.ack.wrapping_sub(self.isn.wrapping_add(nxt as u32)) as i32;
            self.board.nxt = nxt.saturating_add_signed(i64::from(distance)).max(self.board.una);
            self.urgent |= urgent::RST;
        }
    }

    /// Both FINs are acknowledged.
    pub(super) fn finish_if_done(&mut self) {
        if self.fin_sent && self.board.is_empty() && self.rcv.ended && self.state == State::Open {
            self.shut(Some(CloseReason::Finished));
        }
    }
}
