//! Congestion control: how the window grows and how far it shrinks.
//!
//! Loss detection and retransmission are not here: the connection says what happened (`on_ack`, `reduce`,
//! `on_timeout`) and reads `cwnd` and `ssthresh`. A control with a model of the path (BBR) is told of each
//! segment too, see [`Control::model`]. Source: RFC 5681 for what is common to all.

mod bbr;
mod cubic;
mod dctcp;
mod filter;
mod htcp;
mod hystart;
mod input;
mod pacer;
mod rate;
mod reno;

pub use input::Congestion;
pub(crate) use input::{Ack, Phase, Settings, Signal, Window};

use bbr::Bbr;
use cubic::Cubic;
use dctcp::Dctcp;
use htcp::Htcp;
use hystart::HyStart;
use reno::Reno;
use units::Time;

/// The closed set of algorithms; those with much state lie elsewhere, so that a connection stays small.
#[derive(Clone, Debug)]
enum Algorithm {
    Reno(Reno),
    Cubic(Cubic),
    Dctcp(Dctcp),
    Htcp(Box<Htcp>),
    Bbr(Box<Bbr>),
}

/// Window, algorithm and slow start of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    pub window: Window,
    algorithm: Algorithm,
    hystart: Option<Box<HyStart>>,
}

impl Control {
    /// `draw` differs between connections: what is left to chance depends on it.
    pub fn new(settings: Settings, draw: u32) -> Control {
        let mss = u64::from(settings.mss);
        let window =
            Window { cwnd: mss * u64::from(settings.initial_window.max(1)), ssthresh: u64::MAX, mss };
        let algorithm = match settings.congestion {
            Congestion::Reno => Algorithm::Reno(Reno::default()),
            Congestion::Cubic => Algorithm::Cubic(Cubic::new(settings.cubic_linux_growth)),
            Congestion::Dctcp => Algorithm::Dctcp(Dctcp::new(settings.dctcp_shift)),
            Congestion::Bbr => Algorithm::Bbr(Box::new(Bbr::new(window.cwnd, draw))),
            Congestion::Htcp => Algorithm::Htcp(Box::new(Htcp::new(settings.htcp_rtt_scaling))),
        };
        let hystart = (settings.hystart && settings.congestion == Congestion::Cubic)
            .then(|| Box::new(HyStart::new(settings.ack_train)));
        Control { window, algorithm, hystart }
    }

    /// Whether segments must be ECN-capable whatever the host's ECN mode is.
    pub fn needs_ecn(&self) -> bool {
        matches!(self.algorithm, Algorithm::Dctcp(_))
    }

    /// Whether a loss shrinks the window even when ECE has just done so.
    pub fn loss_counts_beside_ecn(&self) -> bool {
        self.needs_ecn()
    }

    /// Takes note of an acknowledgement before any reaction to it: by how many bytes it moved, whether
    /// it carried ECE, and what the sender is doing about congestion.
    #[inline(always)]
    pub fn observe(&mut self, ack: impl Fn() -> Ack, advanced: u64, ece: bool, phase: Phase) {
        match &mut self.algorithm {
            Algorithm::Dctcp(dctcp) => dctcp.observe(advanced, ece, ack().una, ack().nxt),
            Algorithm::Reno(_) | Algorithm::Cubic(_) => {}
            _ => self.measure(&ack(), phase),
        }
    }

    /// The same for those that measure the path; apart, so that the others don't pay for it.
    #[inline(never)]
    fn measure(&mut self, ack: &Ack, phase: Phase) {
        match &mut self.algorithm {
            Algorithm::Htcp(htcp) => htcp.observe(&self.window, ack, phase == Phase::Open),
            Algorithm::Bbr(bbr) => bbr.observe(&mut self.window, ack, phase),
            _ => {}
        }
    }

    /// The model of the path, when the algorithm has one: it is told what is sent, and paces.
    pub fn model(&mut self) -> Option<&mut Bbr> {
        match &mut self.algorithm {
            Algorithm::Bbr(bbr) => Some(bbr),
            _ => None,
        }
    }

    /// Grows the window: called outside of recovery and only while the window limits the sender.
    #[inline(always)]
    pub fn grow(&mut self, ack: impl Fn() -> Ack) {
        let avoids = self.window.cwnd >= self.window.ssthresh;
        match &mut self.algorithm {
            Algorithm::Reno(reno) if avoids => reno.avoid(&mut self.window, ack().delivered),
            Algorithm::Dctcp(dctcp) if avoids => dctcp.reno.avoid(&mut self.window, ack().delivered),
            _ => self.grow_otherwise(&ack(), avoids),
        }
    }

    /// The same in slow start, or by the model of an algorithm; apart, so that the others don't pay for it.
    #[inline(never)]
    fn grow_otherwise(&mut self, ack: &Ack, avoids: bool) {
        match &mut self.algorithm {
            Algorithm::Cubic(cubic) if avoids => cubic.avoid(&mut self.window, ack.delivered, ack),
            Algorithm::Htcp(htcp) if avoids => htcp.avoid(&mut self.window, ack.delivered, ack.now),
            Algorithm::Bbr(_) => {}
            _ => self.grow_from_slow_start(ack),
        }
    }

    /// Slow start, and congestion avoidance with what one acknowledgement leaves over.
    fn grow_from_slow_start(&mut self, ack: &Ack) {
        let left = self.slow_start(ack);
        if left > 0 {
            self.grow(|| Ack { delivered: left, ..*ack });
        }
    }

    /// Adds what was delivered (RFC 5681 eq. 2, counting bytes; without RFC 3465's limit, as Linux does)
    /// up to `ssthresh`; returns what is left over.
    #[inline]
    fn slow_start(&mut self, ack: &Ack) -> u64 {
        if let Some(hystart) = &mut self.hystart {
            return hystart.slow_start(&mut self.window, ack);
        }
        let window = &mut self.window;
        let grown = ack.delivered.min(window.ssthresh - window.cwnd);
        window.cwnd += grown;
        ack.delivered - grown
    }

    /// Sets `ssthresh` (and for ECN the window too) after a signal; `flight` is the data in flight,
    /// at most the window.
    pub fn reduce(&mut self, signal: Signal, flight: u64) {
        let window = &mut self.window;
        let ssthresh = match &mut self.algorithm {
            Algorithm::Bbr(bbr) if signal == Signal::Timeout => return bbr.time_out(window),
            // Recovery it sees by itself, and marks it ignores.
            Algorithm::Bbr(_) => return,
            Algorithm::Reno(_) => flight / 2,
            Algorithm::Cubic(cubic) => cubic.reduce(window, signal, flight),
            Algorithm::Dctcp(dctcp) => dctcp.reduce(window, signal, flight),
            Algorithm::Htcp(htcp) => htcp.reduce(window, signal, flight),
        };
        window.ssthresh = ssthresh.max(2 * window.mss);
        window.cwnd = match signal {
            Signal::Timeout => window.mss,
            Signal::Loss | Signal::Ecn => window.ssthresh,
        };
        self.end_round_counting();
    }

    /// The sender was idle for longer than a timeout (RFC 5681 4.1).
    pub fn restart_after_idle(&mut self, initial_window: u32) {
        let window = &mut self.window;
        if let Algorithm::Bbr(_) = self.algorithm {
            return;
        }
        window.cwnd = window.cwnd.min(u64::from(initial_window.max(1)) * window.mss);
        if let Algorithm::Cubic(cubic) = &mut self.algorithm {
            cubic.restart();
        }
    }

    /// Moves all its times: a stretch is passed over in which it would have done the same again and again.
    pub fn shift(&mut self, by: Time) {
        match &mut self.algorithm {
            Algorithm::Reno(_) | Algorithm::Dctcp(_) => {}
            Algorithm::Cubic(cubic) => cubic.shift(by),
            Algorithm::Htcp(htcp) => htcp.shift(by),
            Algorithm::Bbr(bbr) => bbr.shift(by),
        }
        if let Some(hystart) = &mut self.hystart {
            hystart.shift(by);
        }
    }

    /// HyStart++ is for the first slow start only (RFC 9406 4.3).
    fn end_round_counting(&mut self) {
        self.hystart = None;
    }
}

#[cfg(test)]
mod tests;
