//! DCTCP's sender: the share of marked bytes decides how far the window shrinks.
//!
//! It grows as Reno does; the receiver's part is in `tcp::ecn`.
//! Source: RFC 8257 3.3 (estimation and reaction), 3.4 (loss), 4.2 (alpha starts at one).

use super::input::{Signal, Window};
use super::reno::Reno;

/// Alpha of one, in fixed point.
const ONE: u64 = 1 << 20;

/// DCTCP's variables, named as in RFC 8257 3.3.
#[derive(Clone, Debug)]
pub(crate) struct Dctcp {
    pub reno: Reno,
    alpha: u64,
    /// The estimation gain g is 2^-shift.
    shift: u32,
    window_end: u64,
    bytes_acked: u64,
    bytes_marked: u64,
}

impl Dctcp {
    pub fn new(shift: u32) -> Dctcp {
        Dctcp {
            reno: Reno::default(),
            alpha: ONE,
            shift: shift.min(20),
            window_end: 0,
            bytes_acked: 0,
            bytes_marked: 0,
        }
    }

    /// Counts acknowledged and marked bytes and, once a window, updates alpha.
    #[inline]
    pub fn observe(&mut self, advanced: u64, ece: bool, una: u64, nxt: u64) {
        self.bytes_acked += advanced;
        if ece {
            self.bytes_marked += advanced;
        }
        if una > self.window_end {
            self.end_window(nxt);
        }
    }

    /// alpha = (1 - g) alpha + g M.
    #[cold]
    fn end_window(&mut self, nxt: u64) {
        let marked = ((self.bytes_marked << 20) / self.bytes_acked.max(1)).min(ONE);
        // Rounded up on the way down, so that alpha reaches zero.
        self.alpha -= (self.alpha + (1 << self.shift) - 1) >> self.shift;
        self.alpha = (self.alpha + (marked >> self.shift)).min(ONE);
        self.window_end = nxt;
        self.bytes_acked = 0;
        self.bytes_marked = 0;
    }

    /// cwnd (1 - alpha / 2) after marks; half after loss.
    pub fn reduce(&mut self, window: &Window, signal: Signal, flight: u64) -> u64 {
        match signal {
            Signal::Ecn => window.cwnd - ((window.cwnd * self.alpha) >> 21),
            Signal::Loss | Signal::Timeout => flight / 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(dctcp: &mut Dctcp, marked: u64, total: u64, una: u64) {
        dctcp.window_end = una - 1;
        dctcp.observe(marked, true, una - 1, una);
        dctcp.observe(total - marked, false, una, una);
    }

    #[test]
    fn alpha_starts_at_one_and_decays_by_a_sixteenth() {
        let mut d = Dctcp::new(4);
        assert_eq!(d.alpha, ONE);
        window(&mut d, 0, 100_000, 1000);
        assert_eq!(d.alpha, ONE / 16 * 15);
    }

    #[test]
    fn alpha_moves_a_sixteenth_of_the_way_to_the_marked_share() {
        let mut d = Dctcp::new(4);
        d.alpha = ONE / 2;
        window(&mut d, 50_000, 50_000, 1000);
        // 15/16 * 0.5 + 1/16 * 1.
        assert_eq!(d.alpha, ONE / 32 * 17);
    }

    #[test]
    fn alpha_reaches_zero_without_marks_and_one_with_all_marked() {
        let mut d = Dctcp::new(4);
        for i in 1..400 {
            window(&mut d, 0, 1000, 10 * i);
        }
        assert_eq!(d.alpha, 0);
        for i in 400..800 {
            window(&mut d, 1000, 1000, 10 * i);
        }
        assert!(d.alpha > ONE * 99 / 100, "{}", d.alpha);
    }

    #[test]
    fn the_window_shrinks_by_half_of_alpha_and_by_half_after_loss() {
        let mut d = Dctcp::new(4);
        let w = Window { cwnd: 100_000, ssthresh: u64::MAX, mss: 1000 };
        assert_eq!(d.reduce(&w, Signal::Ecn, 90_000), 50_000);
        d.alpha = ONE / 4;
        assert_eq!(d.reduce(&w, Signal::Ecn, 90_000), 87_500);
        assert_eq!(d.reduce(&w, Signal::Loss, 90_000), 45_000);
    }
}
