//! Which packets are ECN-capable: RFC 3168's rule for classic ECN, Linux's for DCTCP.

use crate::support::{App, Bench, Packet, Path, Verdict};
use transport::tcp::{Config, Congestion, Connection, EcnMode, Flags, Header, Transmit};
use units::{Rate, Time};

/// The kinds of packet that the rules tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Syn,
    SynAgain,
    SynAck,
    Data,
    DataAgain,
    PureAck,
    FinAlone,
}

fn kind(packet: &Packet) -> Kind {
    let (header, again) = (&packet.transmit.header, packet.transmit.is_retransmission());
    match (header.flags.contains(Flags::SYN), header.flags.contains(Flags::ACK), header.len > 0) {
        (true, false, _) if again => Kind::SynAgain,
        (true, false, _) => Kind::Syn,
        (true, true, _) => Kind::SynAck,
        (false, _, true) if again => Kind::DataAgain,
        (false, _, true) => Kind::Data,
        _ if header.flags.contains(Flags::FIN) => Kind::FinAlone,
        _ => Kind::PureAck,
    }
}

fn classic() -> Config {
    Config {
        congestion: Congestion::Reno,
        ecn: EcnMode::On,
        ecn_fallback: false,
        mss: 1000,
        ..Config::default()
    }
}

fn dctcp() -> Config {
    Config { congestion: Congestion::Dctcp, ecn: EcnMode::Off, ..classic() }
}

fn without() -> Config {
    Config { ecn: EcnMode::Off, ..classic() }
}

/// A transfer that loses its first SYN and a data segment; its packets.
fn transfer(client: &Config, server: &Config) -> Vec<Packet> {
    let mut lost = (false, false);
    // The client's FIN waits for its peer's data, and so goes alone.
    let apps = [App::sending(50_000), App { read_every: Time::MAX, ..App::sending(0) }];
    let path = Path { delay: Time::from_ms(5), rate: Rate::from_gbps(1), ..Path::default() };
    let mut bench = Bench::new(client, server, apps).path(path).rule(move |packet| {
        let drop = match kind(packet) {
            Kind::Syn => !std::mem::replace(&mut lost.0, true),
            Kind::Data => !std::mem::replace(&mut lost.1, true),
            _ => false,
        };
        if drop { Verdict::Drop } else { Verdict::Pass }
    });
    assert!(bench.run(Time::from_secs(10)));
    bench.log
}

/// The kinds of which every packet is ECN-capable, and those of which none is.
fn split(log: &[Packet]) -> (Vec<Kind>, Vec<Kind>) {
    let of = |ect: bool| {
        let mut kinds: Vec<Kind> = log.iter().filter(|p| p.transmit.ect == ect).map(kind).collect();
        kinds.sort();
        kinds.dedup();
        kinds
    };
    (of(true), of(false))
}

#[test]
fn rfc3168_only_new_data_is_ecn_capable() {
    use Kind::{Data, DataAgain, FinAlone, PureAck, Syn, SynAck, SynAgain};
    let (capable, not) = split(&transfer(&classic(), &classic()));
    assert_eq!(capable, [Data]);
    assert_eq!(not, [Syn, SynAgain, SynAck, DataAgain, PureAck, FinAlone]);
}

#[test]
fn every_packet_of_dctcp_is_ecn_capable_as_linux_has_it() {
    let (capable, not) = split(&transfer(&dctcp(), &dctcp()));
    assert_eq!(not, []);
    assert_eq!(capable.len(), 7, "{capable:?}");
}

#[test]
fn without_agreement_only_the_handshake_of_dctcp_is_ecn_capable() {
    use Kind::{Syn, SynAck, SynAgain};
    assert_eq!(split(&transfer(&without(), &without())).0, []);
    assert_eq!(split(&transfer(&dctcp(), &without())).0, [Syn, SynAgain]);
    assert_eq!(split(&transfer(&without(), &dctcp())).0, [SynAck]);
    // Classic ECN refuses a SYN that is ECN-capable itself; the other way round DCTCP agrees.
    assert_eq!(split(&transfer(&dctcp(), &classic())).0, [Syn, SynAgain]);
    assert!(split(&transfer(&classic(), &dctcp())).0.contains(&Kind::Data));
}

/// An end that is open, with ECN agreed.
fn opened(config: &Config) -> Connection {
    let mut end = Connection::server(&config.clone().into(), 0);
    let syn = Flags::SYN | Flags::ECE | Flags::CWR;
    end.handle_segment(Time::ZERO, &Header { window: 1000, flags: syn, ..Header::default() }, &[], false);
    assert!(end.poll_transmit(Time::ZERO).is_some());
    let ack = Header { seq: 1, ack: 1, window: 1000, flags: Flags::ACK, ..Header::default() };
    end.handle_segment(Time::ZERO, &ack, &[], false);
    end
}

#[test]
fn window_probes_and_resets_follow_pure_acknowledgements() {
    for (config, expected) in [(classic(), false), (dctcp(), true)] {
        let mut end = opened(&config);
        end.write(5000);
        let data = end.poll_transmit(Time::ZERO).expect("what the window allows");
        assert!(data.ect && data.header.len == 1000);
        // All is acknowledged and the window closed.
        let closed = Header { seq: 1, ack: 1001, window: 0, flags: Flags::ACK, ..Header::default() };
        end.handle_segment(Time::from_ms(1), &closed, &[], false);
        let probe = next_probe(&mut end);
        assert_eq!((probe.header.len, probe.ect), (0, expected), "{:?}", config.congestion);
        end.abort();
        let reset = end.poll_transmit(Time::from_secs(9)).expect("a reset");
        assert!(reset.header.flags.contains(Flags::RST));
        assert_eq!(reset.ect, expected);
    }
}

fn next_probe(end: &mut Connection) -> Transmit {
    for _ in 0..5 {
        if let Some(transmit) = end.poll_transmit(Time::from_ms(1)) {
            return transmit;
        }
        let at = end.poll_timer();
        assert!(at < Time::MAX);
        end.handle_timer(at);
    }
    panic!("no probe");
}

#[test]
fn rfc3168_6_1_1_1_a_repeated_syn_does_not_ask_and_then_there_is_no_ecn() {
    for (fallback, asks) in [(true, false), (false, true)] {
        for config in [classic(), dctcp()] {
            let config = Config { ecn_fallback: fallback, ..config };
            let log = transfer(&config, &config);
            let again = log.iter().find(|p| kind(p) == Kind::SynAgain).expect("the first was lost");
            let flags = again.transmit.header.flags;
            assert_eq!(flags.contains(Flags::ECE | Flags::CWR), asks);
            let capable = log.iter().any(|p| kind(p) == Kind::Data && p.transmit.ect);
            assert_eq!(capable, asks, "{config:?}");
        }
    }
}
