//! Pacing: a segment goes out no earlier than its rate allows.
//!
//! Only connections whose congestion control has a rate pay for it: [`urgent::PACED`] takes them off the
//! short ways. While one must wait, its pipe counts as full, so that neither new nor repeated data goes out;
//! the driver asks for a segment after each event, which is when the deadline is put before the others.
//! Source: draft-cardwell-iccrg-bbr-congestion-control-00 4.2.2 (the rate); each segment has its own time, as
//! from a timer for each.

use super::*;

/// What a connection that must wait has in its pipe besides.
pub(super) const HOLD: i64 = 1 << 60;

impl Connection {
    /// Data up to `end` was sent, `in_flight` being what was on its way before: the congestion control takes
    /// note, and the next segment waits.
    #[inline(never)]
    pub(super) fn note_sent(&mut self, now: Time, end: u64, len: u64, in_flight: u64) {
        let srtt = self.rtt.srtt();
        let Some(bbr) = self.control.model() else { return };
        bbr.send(now, end, in_flight, srtt);
        bbr.pacer.next = bbr.pacer.next.max(now) + bbr.gap(len);
        if bbr.pacer.next > now && !self.held {
            bbr.pacer.probe_at = self.probe_at;
            bbr.pacer.shown = self.probe_at;
            self.held = true;
            self.pipe_bias += HOLD;
            self.update_limit();
        }
        self.set_pacing_timer();
    }

    /// While held: the deadline stands in for a later probe timer, which anything may have set meanwhile.
    pub(super) fn set_pacing_timer(&mut self) {
        if !self.held {
            return;
        }
        let Some(bbr) = self.control.model() else { return };
        let pacer = &mut bbr.pacer;
        if self.probe_at != pacer.shown {
            pacer.probe_at = self.probe_at;
        }
        pacer.shown = pacer.next.min(pacer.probe_at);
        self.probe_at = pacer.shown;
    }

    /// Time has passed: the next segment may go out, and the probe timer is its own again.
    pub(super) fn release_held(&mut self, now: Time) {
        self.set_pacing_timer();
        let Some(bbr) = self.control.model() else { return };
        if bbr.pacer.next <= now {
            self.probe_at = bbr.pacer.probe_at;
            self.end_hold();
        } else if bbr.pacer.probe_at <= now {
            self.probe_at = bbr.pacer.probe_at;
        }
    }

    pub(super) fn end_hold(&mut self) {
        if self.held {
            self.held = false;
            self.pipe_bias -= HOLD;
        }
    }

    /// The application writes: when all was sent before, with room in the window, it is the application that
    /// limits the rate (draft-cheng-iccrg-delivery-rate-estimation-00 3.4).
    #[cold]
    pub(super) fn note_application(&mut self) {
        let unsent = self.written.saturating_sub(self.board.nxt);
        let limited = unsent < u64::from(self.mss)
            && self.board.pipe < self.control.window.cwnd
            && self.board.to_resend == 0;
        let in_flight = self.board.pipe;
        if let Some(bbr) = self.control.model().filter(|_| limited) {
            bbr.rate.limit_by_application(in_flight);
        }
    }

    /// Bytes thought to be in the network, whether held or not.
    pub(super) fn in_flight(&self) -> u64 {
        let held = if self.held { HOLD } else { 0 };
        self.pipe().wrapping_add_signed(-held)
    }
}
