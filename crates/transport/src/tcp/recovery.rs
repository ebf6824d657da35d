//! Loss recovery: what acknowledgements with gaps mean, and when recovery begins and ends.
//!
//! With SACK by RFC 6675, or by RACK (RFC 8985) when it is on; without by RFC 6582 (NewReno), where each
//! duplicate stands for a segment that left the network and only the first partial acknowledgement restarts
//! the retransmission timer (section 3.2, step 3; section 4 calls it the Impatient variant).

use super::scoreboard::{LOST, RESENT, Range, SACKED};
use super::*;
use crate::cc::Signal;

/// A segment to send again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resend {
    /// In the scoreboard.
    pub index: usize,
    /// By NextSeg's rule 4.
    pub rescue: bool,
}

impl Connection {
    /// An acknowledgement that repeats, carries SACK, or comes while something is missing.
    #[cold]
    pub(super) fn handle_ack_slow(
        &mut self,
        now: Time,
        header: &Header,
        ack: u64,
        sacks: &[SackBlock],
        duplicate: bool,
    ) {
        let mut ranges = [Range::default(); BLOCKS_MAX];
        let (count, dsack) = if self.sack { self.sorted_out(ack, sacks, &mut ranges) } else { (0, false) };
        let advanced = ack - self.board.una;
        let echo = self.echoed(header);
        let (rack, min_rtt) = (&mut self.rack, self.rtt.min_rtt());
        let mut deliver = |segment, echo| {
            if let Some(rack) = rack {
                rack.deliver(now, segment, min_rtt, echo);
            }
        };
        let acked = self.board.acknowledge(ack, |segment| deliver(segment, echo));
        let model = &mut self.control.model();
        let sacked = self.board.sack(&ranges[..count], |segment| {
            // The echo is of the last segment in order (RFC 7323 4.3), and says nothing of this one.
            deliver(segment, Time::ZERO);
            if let Some(model) = model {
                model.rate.sack(segment.end);
            }
        });
        let mut rtt = Time::ZERO;
        if acked.newest_sent != Time::ZERO || acked.delivered > 0 {
            rtt = self.sample_rtt(now, header, acked.newest_sent, acked.newest_flags);
        }
        if !self.sack {
            self.count_duplicates(advanced, duplicate);
        }
        if self.tlp_end != 0 {
            self.end_tail_loss_probe(ack, dsack, duplicate && sacks.is_empty());
        }
        let ended = self.phase >= Phase::Recovery && ack >= self.recover;
        if let Some(rack) = &mut self.rack {
            rack.adapt(&self.board, dsack, ended);
        }
        if ended {
            self.end_recovery();
        }
        // Also when a recovery has ended before all that it has found lost was sent again: then that was sent
        // after it had begun.
        let lost = self.detect_losses(now, sacked > 0, advanced > 0) || self.board.to_resend > 0;
        if lost && self.phase < Phase::Recovery {
            self.enter_recovery();
        }
        if advanced > 0 || sacked > 0 {
            self.react(now, header, advanced, acked.delivered + sacked, rtt);
        }
        self.set_pipe_bias();
        self.permit_probes();
        if advanced > 0 && !(self.partial_seen && self.phase == Phase::Recovery) {
            self.rearm(now);
            self.partial_seen = !self.sack && self.phase == Phase::Recovery;
        }
        debug_assert!(
            self.phase >= Phase::Recovery || self.board.to_resend == 0,
            "what is lost is sent again"
        );
        self.update_limit();
    }

    /// The time that the peer echoed, to the microsecond; zero without timestamps.
    fn echoed(&self, header: &Header) -> Time {
        let stamped = self.timestamps && header.flags.contains(Flags::TIMESTAMPS);
        if stamped { Time::from_us(u64::from(header.ts_ecr)) } else { Time::ZERO }
    }

    /// NewReno's count of segments that left the network.
    fn count_duplicates(&mut self, advanced: u64, duplicate: bool) {
        if duplicate {
            self.dupacks += 1;
        } else if advanced > 0 {
            // A partial acknowledgement covers the retransmission and what the duplicates stood for.
            let covered = (advanced / u64::from(self.mss)).saturating_sub(1) as u32;
            self.dupacks = match self.phase {
                Phase::Recovery => self.dupacks.saturating_sub(covered),
                _ => 0,
            };
        }
    }

    /// Marks what is lost now. Returns whether anything was.
    pub(super) fn detect_losses(&mut self, now: Time, sacked: bool, advanced: bool) -> bool {
        let pipe = self.board.pipe;
        let lost = self.mark_losses(now, sacked, advanced);
        self.prr.iter_mut().for_each(|prr| prr.lost |= lost);
        if let Some(model) = self.control.model() {
            model.lose(pipe - self.board.pipe);
        }
        lost
    }

    fn mark_losses(&mut self, now: Time, sacked: bool, advanced: bool) -> bool {
        if !self.sack {
            return self.detect_by_duplicates(advanced);
        }
        if !sacked && !advanced {
            return false;
        }
        let Some(rack) = &mut self.rack else {
            // What was SACKED before has been judged.
            return sacked && {
                let end = self.board.lost_below(self.mss, self.config.dup_thresh());
                self.board.mark_lost_below(end)
            };
        };
        let in_recovery = self.phase >= Phase::Recovery;
        let window = rack.reordering_window(&self.rtt, in_recovery, self.board.sacked_segments);
        let (lost, wait) = rack.detect(&mut self.board, now, window);
        if wait != Time::MAX {
            self.probe_at = now.saturating_add(wait);
            self.probe_is_tlp = false;
        } else if !self.probe_is_tlp {
            self.probe_at = Time::MAX;
        }
        lost
    }

    /// RFC 6582: the third duplicate, and each partial acknowledgement in recovery, means that the
    /// first segment is lost.
    fn detect_by_duplicates(&mut self, advanced: bool) -> bool {
        let lost = match self.phase {
            Phase::Open | Phase::Reduced => {
                self.dupacks >= self.config.dup_thresh() && self.board.una > self.timeout_guard
            }
            Phase::Recovery => advanced,
            Phase::Loss => false,
        };
        let first_in_flight =
            self.board.first().is_some_and(|first| first.flags & (SACKED | LOST | RESENT) == 0);
        if lost && first_in_flight {
            self.board.change(0, LOST, 0);
            if self.phase == Phase::Recovery {
                self.urgent |= urgent::FIRST_RESEND;
            }
        }
        lost && first_in_flight
    }

    pub(super) fn enter_recovery(&mut self) {
        // Once a window (RFC 3168 6.1.2), but DCTCP halves for loss whatever the marks did.
        if self.phase != Phase::Reduced || self.control.loss_counts_beside_ecn() {
            self.reduce(Signal::Loss);
        }
        self.phase = Phase::Recovery;
        self.recover = self.board.nxt;
        self.high_rxt = self.board.una;
        self.rescued = false;
        self.partial_seen = false;
        self.ecn.send_cwr = self.ecn.on;
        self.counters.fast_recoveries += 1;
        self.urgent |= urgent::FIRST_RESEND;
        self.urgent &= !urgent::TAIL_LOSS_PROBE;
        self.tlp_end = 0;
        self.permit_probes();
    }

    /// Shrinks the window for loss or ECE: at once, or as data is delivered.
    pub(super) fn reduce(&mut self, signal: Signal) {
        let prior = self.control.window.cwnd;
        self.control.reduce(signal, self.board.flight().min(prior));
        if self.config.prr && self.sack && self.control.model().is_none() {
            self.prr = Some(Box::new(Prr::new(prior, self.counters.sent_segments)));
        }
    }

    /// A reduction as data is delivered has come to its end.
    pub(super) fn end_reduction(&mut self) {
        if self.prr.take().is_some() {
            self.control.window.cwnd = self.control.window.ssthresh;
        }
    }

    fn end_recovery(&mut self) {
        self.end_reduction();
        if !self.sack && self.phase == Phase::Recovery {
            // RFC 6582 3.2 step 3, the choice that avoids a burst.
            let mss = u64::from(self.mss);
            let window = &mut self.control.window;
            window.cwnd = window.ssthresh.min(self.board.flight().max(mss) + mss);
        }
        self.phase = Phase::Open;
        self.dupacks = 0;
        self.urgent &= !urgent::FIRST_RESEND;
    }

    /// The retransmission timer expired (RFC 6298 5.4 to 5.6, RFC 5681 eq. 4, RFC 6675 5.1).
    pub(super) fn enter_loss(&mut self) {
        self.counters.timeouts += 1;
        if self.attempts == 1 {
            let flight = self.board.flight().min(self.control.window.cwnd);
            self.control.reduce(Signal::Timeout, flight);
            self.ecn.send_cwr = self.ecn.on;
        } else {
            self.control.window.cwnd = u64::from(self.mss);
        }
        self.prr = None;
        self.board.mark_all_lost();
        if let Some(rack) = &mut self.rack {
            rack.forget_resent();
        }
        self.phase = Phase::Loss;
        self.recover = self.board.nxt;
        self.timeout_guard = self.board.nxt;
        self.high_rxt = self.board.nxt;
        self.rescued = true;
        self.dupacks = 0;
        self.tlp_end = 0;
        self.urgent &= !urgent::TAIL_LOSS_PROBE;
        self.urgent |= urgent::FIRST_RESEND;
        self.set_pipe_bias();
        self.permit_probes();
    }

    /// How the pipe that the window is compared with differs from the scoreboard's.
    fn set_pipe_bias(&mut self) {
        let pipe = self.board.pipe as i64;
        self.pipe_bias = if self.phase < Phase::Recovery && !self.config.limited_transmit {
            self.board.flight() as i64 - pipe
        } else {
            -(i64::from(self.dupacks) * i64::from(self.mss)).min(pipe)
        };
        if self.held {
            self.pipe_bias += pacing::HOLD;
        }
    }

    /// Bytes thought to be in the network.
    #[inline]
    pub(super) fn pipe(&self) -> u64 {
        self.board.pipe.wrapping_add_signed(self.pipe_bias)
    }

    /// NextSeg (RFC 6675 4) without rule 2, which is new data.
    pub(super) fn next_resend(&self) -> Option<Resend> {
        let first = self.urgent & urgent::FIRST_RESEND != 0;
        let room = self.control.window.cwnd.saturating_sub(self.pipe());
        if !first && room < u64::from(self.mss) {
            return None;
        }
        if let Some(lost) = self.board.next_lost() {
            return Some(Resend { index: lost, rescue: false });
        }
        if self.rack.is_some()
            || !self.sack
            || self.phase != Phase::Recovery
            || self.board.nxt < self.send_limit
        {
            return None;
        }
        // Rule 3, then rule 4: the one rescue retransmission of a recovery.
        match self.board.next_unsacked(self.high_rxt.max(self.board.una)) {
            Some(index) => Some(Resend { index, rescue: false }),
            None if self.rescued => None,
            None => self.board.last_unsacked().map(|index| Resend { index, rescue: true }),
        }
    }
}
