//! Proportional rate reduction: the window shrinks as data is delivered, not at once.
//!
//! Source: RFC 6937 3 with its slow start reduction bound, as Linux has it (`tcp_cwnd_reduction`): also when
//! the signal was ECE.

/// A reduction under way. All in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prr {
    /// The window before it.
    prior: u64,
    /// Delivered since it began.
    delivered: u64,
    /// Segments that the connection had sent when it began.
    sent_before: u64,
    /// Something was found lost since the window was last computed.
    pub lost: bool,
}

/// An acknowledgement, and where it leaves the connection.
pub(crate) struct Delivery {
    /// What it delivered, cumulatively or by SACK.
    pub delivered: u64,
    /// It acknowledges more than the one before.
    pub advanced: bool,
    /// Bytes in the network after it.
    pub pipe: u64,
    /// Segments that the connection has sent.
    pub sent_segments: u64,
    pub ssthresh: u64,
    pub mss: u64,
}

impl Prr {
    /// Begins with the window as it was.
    pub fn new(prior: u64, sent_segments: u64) -> Prr {
        Prr { prior, delivered: 0, sent_before: sent_segments, lost: false }
    }

    /// The window after an acknowledgement.
    pub fn window(&mut self, ack: &Delivery) -> u64 {
        self.delivered += ack.delivered;
        let out = (ack.sent_segments - self.sent_before) * ack.mss;
        let send = if ack.pipe > ack.ssthresh {
            let share = u128::from(ack.ssthresh) * u128::from(self.delivered);
            (share.div_ceil(u128::from(self.prior.max(1))) as u64).saturating_sub(out)
        } else {
            let grown = if ack.advanced && !self.lost { ack.mss } else { 0 };
            let bound = self.delivered.saturating_sub(out).max(ack.delivered) + grown;
            bound.min(ack.ssthresh - ack.pipe)
        };
        self.lost = false;
        // The first retransmission goes out in any case.
        ack.pipe + if out == 0 { send.max(ack.mss) } else { send }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twenty segments of a thousand bytes are in flight, and half of them are to remain.
    fn reduction() -> (Prr, impl Fn(u64, u64, u64, bool) -> Delivery) {
        let ack = |delivered, pipe, sent_segments, advanced| Delivery {
            delivered,
            advanced,
            pipe,
            sent_segments,
            ssthresh: 10_000,
            mss: 1000,
        };
        (Prr::new(20_000, 20), ack)
    }

    #[test]
    fn every_other_acknowledgement_sends_a_segment() {
        let (mut prr, ack) = reduction();
        // RFC 6937, the figure of section 4: one of twenty is lost, and the others come one by one.
        let (mut pipe, mut sent) = (19_000, 20);
        let mut sends = Vec::new();
        for _ in 0..16 {
            pipe -= 1000;
            let window = prr.window(&ack(1000, pipe, sent, false));
            let count = (window - pipe) / 1000;
            (pipe, sent) = (pipe + count * 1000, sent + count);
            sends.push(count);
        }
        // The first one goes out in any case.
        assert_eq!(sends[..8], [1, 0, 0, 1, 0, 1, 0, 1]);
        assert!((10_000..=12_000).contains(&pipe), "{pipe}");
    }

    #[test]
    fn after_a_burst_of_losses_no_more_is_sent_than_was_delivered() {
        let (mut prr, ack) = reduction();
        // Fifteen of twenty are lost.
        prr.lost = true;
        assert_eq!(prr.window(&ack(1000, 4000, 20, false)), 5000);
        assert_eq!(prr.window(&ack(1000, 4000, 21, false)), 5000);
        // Without new losses, and with acknowledgements that move on, it grows as in slow start.
        assert_eq!(prr.window(&ack(1000, 4000, 22, true)), 6000);
        // Never beyond what is to remain.
        assert_eq!(prr.window(&ack(9000, 9500, 24, true)), 10_000);
    }
}
