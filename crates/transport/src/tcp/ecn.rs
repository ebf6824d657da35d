//! ECN: negotiation, and what each end echoes.
//!
//! Source: RFC 3168 6.1 (negotiation, ECE and CWR), RFC 8257 3.2 (DCTCP's receiver), Linux's `tcp_ecn`.

use crate::tcp::{EcnMode, Flags};

/// ECN state of one end.
#[derive(Clone, Debug)]
pub(crate) struct Ecn {
    mode: EcnMode,
    /// The congestion control needs ECN: it asks and agrees whatever the mode, and all its segments are
    /// ECN-capable, as Linux has it.
    needed: bool,
    /// Both ends agreed.
    pub on: bool,
    /// What acknowledgements echo now: RFC 3168's latch, or DCTCP.CE.
    pub echo: bool,
    /// The next new data segment carries CWR.
    pub send_cwr: bool,
}

impl Ecn {
    pub fn new(mode: EcnMode, needed: bool) -> Ecn {
        Ecn { mode, needed, on: false, echo: false, send_cwr: false }
    }

    /// Flags of our SYN.
    pub fn syn_flags(&self) -> Flags {
        Flags::NONE.with(Flags::ECE | Flags::CWR, self.needed || self.mode == EcnMode::On)
    }

    /// The peer's SYN arrived.
    pub fn handle_syn(&mut self, flags: Flags) {
        let asked = flags.contains(Flags::ECE | Flags::CWR);
        self.on = asked && (self.needed || self.mode != EcnMode::Off);
    }

    /// Flags of our SYN-ACK.
    pub fn syn_ack_flags(&self) -> Flags {
        Flags::NONE.with(Flags::ECE, self.on)
    }

    /// The peer's SYN-ACK arrived.
    pub fn handle_syn_ack(&mut self, flags: Flags) {
        let asked = self.syn_flags() != Flags::NONE;
        self.on = asked && flags.contains(Flags::ECE) && !flags.contains(Flags::CWR);
    }

    /// Whether a segment that is neither new data nor a SYN goes out as ECN-capable.
    #[inline]
    pub fn control_ect(&self) -> bool {
        self.on && self.needed
    }

    /// Whether the SYN goes out as ECN-capable.
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

    /// Whether ECN is on at both ends, or at neither.
    fn negotiate(client: (EcnMode, bool), server: (EcnMode, bool)) -> bool {
        let (mut a, mut b) = (Ecn::new(client.0, client.1), Ecn::new(server.0, server.1));
        b.handle_syn(a.syn_flags());
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
        assert!(negotiate((Off, true), (Passive, false)));
    }

    #[test]
    fn a_broken_peer_that_mirrors_both_flags_gets_no_ecn() {
        let mut client = Ecn::new(EcnMode::On, false);
        client.handle_syn_ack(Flags::ECE | Flags::CWR);
        assert!(!client.on);
    }

    #[test]
    fn classic_echo_lasts_until_cwr_and_dctcp_follows_each_segment() {
        let mut classic = Ecn::new(EcnMode::On, false);
        classic.receive(Flags::ACK, true);
        classic.receive(Flags::ACK, false);
        assert!(classic.echo);
        classic.receive(Flags::ACK | Flags::CWR, false);
        assert!(!classic.echo);
        let mut dctcp = Ecn::new(EcnMode::On, true);
        assert!(dctcp.receive(Flags::ACK, true));
        assert!(!dctcp.receive(Flags::ACK, true));
        assert!(dctcp.receive(Flags::ACK, false));
        assert!(!dctcp.echo);
    }
}
