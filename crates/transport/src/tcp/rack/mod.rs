//! RACK: time-based loss detection, and the state of tail loss probes.
//!
//! It judges segments by when they were sent; the scoreboard holds them. Segments sent once lie in
//! the ring in the order of time, retransmissions in a queue of their own, so nothing is scanned twice.
//! Source: RFC 8985 (6.2 RACK, 7 TLP).

use crate::tcp::rto::RttEstimator;
use crate::tcp::scoreboard::{Delivered, LOST, RESENT, RESENT_EVER, SACKED, Scoreboard};
use std::collections::VecDeque;
use units::Time;

/// SACKED segments from which on reordering is not waited for (RFC 8985 6.2, step 4).
const DUP_THRESH: u32 = 3;
/// How many recoveries a widened reordering window lasts without a DSACK.
const REO_WND_PERSIST: u32 = 16;

/// RACK's variables, named as in RFC 8985 5.2.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rack {
    xmit_ts: Time,
    end_seq: u64,
    rtt: Time,
    /// Highest offset acknowledged or SACKED.
    fack: u64,
    reordering_seen: bool,
    /// Minus one: how much the reordering window is widened.
    reo_wnd_widened: u32,
    reo_wnd_persist: u32,
    /// Zero for none.
    dsack_round: u64,
    /// Retransmissions in the order of time: start and when.
    resent: VecDeque<(u64, Time)>,
}

impl Rack {
    /// Steps 2 and 3 for one delivered segment. `echo` is the time that the peer echoed, or zero.
    #[inline]
    pub fn deliver(&mut self, now: Time, segment: Delivered, min_rtt: Time, echo: Time) {
        if segment.resent {
            // It may be the first transmission that is acknowledged.
            if echo != Time::ZERO && echo < truncate_us(segment.sent)
                || now.saturating_sub(segment.sent) < min_rtt
            {
                return;
            }
        } else if segment.end < self.fack {
            self.reordering_seen = true;
        }
        self.fack = self.fack.max(segment.end);
        if (segment.sent, segment.end) > (self.xmit_ts, self.end_seq) {
            self.xmit_ts = segment.sent;
            self.end_seq = segment.end;
            self.rtt = now.saturating_sub(segment.sent);
        }
    }

    /// Steps 2 and 3 when segments were acknowledged in order, the newest of them up to `end`.
    #[inline]
    pub fn deliver_clean(&mut self, sent: Time, end: u64, rtt: Time) {
        self.fack = end;
        self.xmit_ts = sent;
        self.end_seq = end;
        self.rtt = rtt;
    }

    /// A segment was sent again.
    pub fn note_resent(&mut self, start: u64, now: Time) {
        self.resent.push_back((start, now));
    }

    /// Step 4, the part that adapts the window: on a DSACK, and at the end of each recovery.
    pub fn adapt(&mut self, board: &Scoreboard, dsack: bool, recovery_ended: bool) {
        if self.dsack_round != 0 && board.una >= self.dsack_round {
            self.dsack_round = 0;
        }
        if dsack && self.dsack_round == 0 {
            self.dsack_round = board.nxt;
            self.reo_wnd_widened += 1;
            self.reo_wnd_persist = REO_WND_PERSIST;
        } else if recovery_ended {
            self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
            if self.reo_wnd_persist == 0 {
                self.reo_wnd_widened = 0;
            }
        }
    }

    /// Step 4: the reordering window.
    pub fn reordering_window(&self, rtt: &RttEstimator, in_recovery: bool, sacked_segments: u32) -> Time {
        if !self.reordering_seen && (in_recovery || sacked_segments >= DUP_THRESH) {
            return Time::ZERO;
        }
        if !rtt.has_sample() {
            return Time::ZERO;
        }
        rtt.min_rtt().mul_div(u64::from(self.reo_wnd_widened) + 1, 4).min(rtt.srtt())
    }

    /// Step 5: marks what is lost. Returns whether anything was, and how long until the next segment
    /// may be ([`Time::MAX`] for never).
    pub fn detect(&mut self, board: &mut Scoreboard, now: Time, window: Time) -> (bool, Time) {
        let (lost_first, wait_first) = self.detect_first_sent(board, now, window);
        let (lost_again, wait_again) = self.detect_resent(board, now, window);
        (lost_first || lost_again, wait_first.min(wait_again))
    }

    fn detect_first_sent(&self, board: &mut Scoreboard, now: Time, window: Time) -> (bool, Time) {
        let mut found = false;
        let mut index = board.index_of(board.judged.max(board.una));
        while let Some(&segment) = board.get(index) {
            if segment.flags & (SACKED | LOST | RESENT_EVER) == 0 {
                match self.verdict(segment.sent, segment.end(), now, window) {
                    Verdict::Lost => {
                        board.change(index, LOST, 0);
                        found = true;
                    }
                    Verdict::Wait(wait) => return (found, wait),
                    Verdict::InFlight => break,
                }
            }
            board.judged = segment.end();
            index += 1;
        }
        (found, Time::MAX)
    }

    fn detect_resent(&mut self, board: &mut Scoreboard, now: Time, window: Time) -> (bool, Time) {
        let mut found = false;
        while let Some(&(start, sent)) = self.resent.front() {
            let index = board.index_of(start);
            if let Some(&segment) = board.get(index)
                && start >= board.una
                && segment.sent == sent
                && segment.flags & (SACKED | RESENT) == RESENT
            {
                match self.verdict(sent, segment.end(), now, window) {
                    Verdict::Lost => {
                        board.change(index, LOST, RESENT);
                        found = true;
                    }
                    Verdict::Wait(wait) => return (found, wait),
                    Verdict::InFlight => break,
                }
            }
            self.resent.pop_front();
        }
        (found, Time::MAX)
    }

    fn verdict(&self, sent: Time, end: u64, now: Time, window: Time) -> Verdict {
        if (sent, end) >= (self.xmit_ts, self.end_seq) {
            return Verdict::InFlight;
        }
        let due = sent.saturating_add(self.rtt).saturating_add(window);
        if due <= now { Verdict::Lost } else { Verdict::Wait(due - now) }
    }

    /// Moves its times.
    pub fn shift(&mut self, by: Time) {
        self.xmit_ts += by;
        self.resent.iter_mut().for_each(|(_, sent)| *sent += by);
    }

    /// A timeout: all retransmissions are lost as well.
    pub fn forget_resent(&mut self) {
        self.resent.clear();
    }
}

enum Verdict {
    Lost,
    Wait(Time),
    InFlight,
}

/// A time as its timestamp shows it.
fn truncate_us(time: Time) -> Time {
    Time::from_us(time.as_us())
}

#[cfg(test)]
mod tests;
