//! The timers of a connection: retransmission (or persist), probe (tail loss or reordering), delayed ACK.
//!
//! Source: RFC 6298 2.3, 5 (granularity of the clock), RFC 8985 7 (TLP), RFC 9293 3.8.6.1 (persist), RFC 1122
//! 4.2.3.5 (giving up).

use super::handshake::SYN_ATTEMPTS_MAX;
use super::*;
use crate::cc::Signal;

/// Timeouts in a row before giving up, as Linux's `tcp_retries2`; they take at least so long (RFC 1122's R2).
const ATTEMPTS_MAX: u32 = 15;
const GIVING_UP: Time = Time::from_secs(100);

impl Connection {
    /// When [`Connection::handle_timer`] must be called next; [`Time::MAX`] for never.
    #[inline]
    pub fn poll_timer(&self) -> Time {
        self.retransmit_at.min(self.probe_at).min(self.rcv.ack_deadline)
    }

    /// Time has passed. It may be called early; then nothing happens.
    pub fn handle_timer(&mut self, now: Time) {
        if self.held {
            self.release_held(now);
        }
        if self.rcv.ack_deadline <= now {
            self.rcv.ack_deadline = Time::MAX;
            self.rcv.ack_now = true;
        }
        if self.probe_at <= now {
            self.probe_at = Time::MAX;
            if self.probe_is_tlp {
                self.urgent |= urgent::TAIL_LOSS_PROBE;
            } else {
                self.reordering_expired(now);
            }
        }
        if self.retransmit_at <= now && !self.waits_for_tick(now) {
            self.retransmission_expired(now);
        }
        self.update_limit();
    }

    fn reordering_expired(&mut self, now: Time) {
        if self.detect_losses(now, true, false) && self.phase < Phase::Recovery {
            self.enter_recovery();
        }
    }

    /// A clock of ticks: a timer that was set to a moment between two of them goes off later. The handler is
    /// called at the tick again, where no timer is set but by this.
    fn waits_for_tick(&mut self, now: Time) -> bool {
        let (tick, phase) = (self.config.clock_tick.as_ps(), self.config.tick_phase.as_ps());
        if tick == 0 || (now.as_ps() + tick - phase).is_multiple_of(tick) {
            return false;
        }
        let more = self.rtt.rto_by_ticks(self.config.clock_tick).saturating_sub(self.rtt.rto());
        let due = self.retransmit_at.saturating_add(more).max(now).as_ps();
        self.retransmit_at = Time::from_ps((due + tick - phase).next_multiple_of(tick) + phase - tick);
        true
    }

    fn retransmission_expired(&mut self, now: Time) {
        self.attempts += 1;
        let opening = matches!(self.state, State::SynSent | State::SynReceived);
        let gives_up = if opening {
            self.attempts > SYN_ATTEMPTS_MAX
        } else {
            self.attempts > ATTEMPTS_MAX && self.rtt.spent(self.attempts) >= GIVING_UP
        };
        if gives_up {
            self.shut(Some(CloseReason::TimedOut));
            return;
        }
        self.rtt.back_off();
        self.retransmit_at = now.saturating_add(self.rtt.rto());
        self.probe_at = Time::MAX;
        if opening {
            self.counters.timeouts += 1;
            self.urgent |= urgent::SYN;
        } else if self.board.is_empty() {
            self.urgent |= urgent::WINDOW_PROBE;
        } else {
            self.enter_loss();
        }
    }

    /// The peer's window is closed and nothing is in flight: probe it from time to time.
    pub(super) fn persist(&mut self, now: Time) {
        let blocked =
            self.board.is_empty() && self.written > self.board.nxt && self.send_limit <= self.board.nxt;
        if blocked && self.retransmit_at == Time::MAX {
            self.retransmit_at = now + self.rtt.rto();
        }
    }

    /// New data was acknowledged (RFC 6298 5.2, 5.3; RFC 8985 7.2).
    #[inline(always)]
    pub(super) fn rearm(&mut self, now: Time) {
        if self.board.is_empty() {
            self.retransmit_at = Time::MAX;
            self.probe_at = Time::MAX;
            return;
        }
        self.retransmit_at = now + self.rtt.rto();
        self.arm_tail_loss_probe(now);
    }

    /// Tail loss probes are for connections where nothing is missing (RFC 8985 7.2).
    pub(super) fn permit_probes(&mut self) {
        let wanted = self.config.tail_loss_probe && self.sack && self.phase <= Phase::Reduced;
        self.probes = wanted && self.tlp_end == 0 && self.board.is_clean();
        if !self.probes && self.probe_is_tlp {
            self.probe_at = Time::MAX;
        }
    }

    /// New data was sent (RFC 6298 5.1; RFC 8985 7.2).
    #[inline]
    pub(super) fn arm_after_send(&mut self, now: Time) {
        if self.retransmit_at == Time::MAX || self.board.len() == 1 {
            self.retransmit_at = now + self.rtt.rto();
        }
        self.arm_tail_loss_probe(now);
    }

    #[inline]
    fn arm_tail_loss_probe(&mut self, now: Time) {
        if !self.probes {
            return;
        }
        let mut at = now.saturating_add(self.rtt.two_srtt()).saturating_add(self.config.probe_slack);
        if self.board.len() == 1 && self.rtt.has_sample() {
            at = at.saturating_add(self.config.max_ack_delay.unwrap_or(self.config.delayed_ack));
        }
        // No later than the retransmission timeout, which then does the work.
        self.probe_at = if at < self.retransmit_at { at } else { Time::MAX };
        self.probe_is_tlp = true;
    }

    /// An acknowledgement while a probe is out (RFC 8985 7.4.2).
    #[cold]
    pub(super) fn end_tail_loss_probe(&mut self, ack: u64, dsack: bool, duplicate: bool) {
        if ack < self.tlp_end {
            return;
        }
        if !self.tlp_is_retransmission || dsack {
            self.tlp_end = 0;
        } else if ack > self.tlp_end {
            // The probe repaired a loss, for no repeat was reported.
            self.tlp_end = 0;
            if self.phase == Phase::Open {
                self.phase = Phase::Reduced;
                self.recover = self.board.nxt;
                let flight = self.board.flight().min(self.control.window.cwnd);
                self.control.reduce(Signal::Loss, flight);
            }
        } else if duplicate {
            self.tlp_end = 0;
        }
    }
}
