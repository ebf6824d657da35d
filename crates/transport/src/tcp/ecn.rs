//! ECN: negotiation, which packets are ECN-capable, and what each end echoes.
//!
//! Source: RFC 3168 6.1 (negotiation, ECE and CWR), RFC 8257 3.2 (DCTCP's receiver), and Linux where it goes
//! further. Its rules by kind of packet (functions of `net/ipv4/tcp_output.c` and `tcp_ecn.h`, if not said
//! otherwise):
//!
//! | packet | classic | DCTCP | where |
//! |---|---|---|---|
//! | SYN, repeated or not | not | ECT(0) | RFC 3168 6.1.1; `tcp_ecn_send_syn` |
//! | SYN-ACK | not | ECT(0), even when ECN was not asked for | `tcp_v4_send_synack`: the listener's field |
//! | new data, also as a probe | ECT(0) | ECT(0) | `tcp_ecn_send` |
//! | retransmission | not | ECT(0) | RFC 3168 6.1.5; `tcp_ecn_send` |
//! | pure acknowledgement, FIN alone | not | ECT(0) | RFC 3168 6.1.4; `tcp_ecn_send` |
//! | window probe without data | not | ECT(0) | RFC 3168 6.1.6; as a pure acknowledgement |
//! | reset | not | ECT(0) | as a pure acknowledgement |
//!
//! From the third row on this holds where both ends agreed; without that nothing is ECN-capable, and DCTCP
//! reduces as Reno does (`dctcp_init`). A host without DCTCP does not agree to ECN when the SYN that asks for
//! it is ECN-capable itself (`tcp_ecn_create_request`): a DCTCP host has ECN with DCTCP hosts only.

use crate::tcp::config::EcnMode;
use crate::tcp::header::Flags;

/// ECN state of one end.
#[derive(Clone, Debug)]
pub(crate) struct Ecn {
    mode: EcnMode,
    /// The congestion control needs ECN: it asks and agrees whatever the mode, and all its segments are
    /// ECN-capable.
    needed: bool,
    /// Repeated SYNs don't ask for ECN.
    fallback: bool,
    /// Both ends agreed.
    pub on: bool,
    /// What acknowledgements echo now: RFC 3168's latch, or DCTCP.CE.
    pub echo: bool,
    /// The next new data segment carries CWR.
    pub send_cwr: bool,
}

impl Ecn {
    pub fn new(mode: EcnMode, needed: bool, fallback: bool) -> Ecn {
        Ecn { mode, needed, fallback, on: false, echo: false, send_cwr: false }
    }

    /// Flags of our SYN; `again` when an earlier one was lost (RFC 3168 6.1.1.1).
    pub fn syn_flags(&self, again: bool) -> Flags {
        Flags::NONE.with(Flags::ECE | Flags::CWR, self.asks() && !(again && self.fallback))
    }

    fn asks(&self) -> bool {
        self.needed || self.mode == EcnMode::On
    }

    /// The peer's SYN arrived; `ect` when it is ECN-capable itself.
    pub fn handle_syn(&mut self, flags: Flags, ect: bool) {
        let asked = flags.contains(Flags::ECE | Flags::CWR);
        self.on = asked && (self.needed || (self.mode != EcnMode::Off && !ect));
    }

    /// Flags of our SYN-ACK.
    pub fn syn_ack_flags(&self) -> Flags {
        Flags::NONE.with(Flags::ECE, self.on)
    }

    /// The peer's SYN-ACK arrived. It may answer the first SYN, so that one that asked is enough.
    pub fn handle_syn_ack(&mut self, flags: Flags) {
        self.on = self.asks() && flags.contains(Flags::ECE) && !flags.contains(Flags::CWR);
    }

    /// Whether a segment that is neither new data nor a SYN goes out as ECN-capable.
    #[inline]
    pub fn control_ect(&self) -> bool {
        self.on && self.needed
    }

    /// Whether a SYN or SYN-ACK goes out as ECN-capable.
    pub fn syn_ect(&self) -> bool {
        self.needed
    }

    /// A data segment arrived. Returns whether DCTCP's state changed, so that what came before must be
    /// acknowledged with the old one.
    #[inline]
    pub fn receive(&mut self, flags: Flags, ce: bool) -> bool {
        if self.needed {
            let changed = self.echo != ce;
            self.echo = ce;
            return changed;
        }
        if flags.contains(Flags::CWR) {
            self.echo = false;
        }
        self.echo |= ce;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether ECN is on at both ends, or at neither; `true` for DCTCP.
    fn negotiate(client: (EcnMode, bool), server: (EcnMode, bool)) -> bool {
        let (mut a, mut b) = (Ecn::new(client.0, client.1, true), Ecn::new(server.0, server.1, true));
        b.handle_syn(a.syn_flags(false), a.syn_ect());
        a.handle_syn_ack(b.syn_ack_flags());
        assert_eq!(a.on, b.on);
        a.on
    }

    #[test]
    fn negotiation_table() {
        use EcnMode::{Off, On, Passive};
        for (client, server, expected) in [
            (Off, Off, false),
            (Off, On, false),
            (Off, Passive, false),
            (Passive, On, false),
            (Passive, Passive, false),
            (On, Off, false),
            (On, Passive, true),
            (On, On, true),
        ] {
            assert_eq!(negotiate((client, false), (server, false)), expected, "{client:?} {server:?}");
        }
        assert!(negotiate((Off, true), (Off, true)), "DCTCP needs ECN");
        assert!(negotiate((On, false), (Off, true)), "DCTCP agrees");
        assert!(!negotiate((Off, true), (On, false)), "an ECN-capable SYN is for DCTCP");
        assert!(!negotiate((Off, true), (Passive, false)));
    }

    #[test]
    fn a_repeated_syn_asks_only_without_the_fallback() {
        let asks = |fallback, again| Ecn::new(EcnMode::On, false, fallback).syn_flags(again) != Flags::NONE;
        assert!(asks(true, false) && asks(false, false) && asks(false, true));
        assert!(!asks(true, true));
    }

    #[test]
    fn a_broken_peer_that_mirrors_both_flags_gets_no_ecn() {
        let mut client = Ecn::new(EcnMode::On, false, true);
        client.handle_syn_ack(Flags::ECE | Flags::CWR);
        assert!(!client.on);
    }

    #[test]
    fn classic_echo_lasts_until_cwr_and_dctcp_follows_each_segment() {
        let mut classic = Ecn::new(EcnMode::On, false, true);
        classic.receive(Flags::ACK, true);
        classic.receive(Flags::ACK, false);
        assert!(classic.echo);
        classic.receive(Flags::ACK | Flags::CWR, false);
        assert!(!classic.echo);
        let mut dctcp = Ecn::new(EcnMode::On, true, true);
        assert!(dctcp.receive(Flags::ACK, true));
        assert!(!dctcp.receive(Flags::ACK, true));
        assert!(dctcp.receive(Flags::ACK, false));
        assert!(!dctcp.echo);
    }
}
