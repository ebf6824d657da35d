//! Strangers: whatever they send is counted and dropped.

use crate::support::{LIMIT, PORT, does};
use bytes::BytesMut;
use live::hello::{self, Hello};
use live::seal::{HANDSHAKE, Seal, Secret};
use live::{Counters, Handle, Job, Key, Member, Run, Settings, Table};
use process::{Addr, Event, HostId};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use socket2::{Domain, Socket, Type};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::mpsc;
use std::time::SystemTime;
use units::Time;
use units::testing::cases;

const KEY: Key = Key(*b"the key of a job");
const SECRET: Secret = Secret(*b"the secret of a job, a long one.");

/// Stops a member when it is dropped: a test that fails must not wait for it for ever.
struct Stop(Handle);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Runs a member that takes datagrams and streams; `stranger` gets its UDP and TCP address and a socket whose
/// address is in the table.
fn with_member(
    settings: Settings,
    stranger: impl FnOnce(SocketAddr, SocketAddr, &Socket),
) -> (Counters, Vec<u64>) {
    let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let member = Member::bind(HostId(0), ip, &[PORT], settings).unwrap();
    let address = member.address().clone();
    let (udp, tcp) = (SocketAddr::new(ip, address.udp[&PORT]), SocketAddr::new(ip, address.tcp[&PORT]));
    let friend = Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap();
    friend.bind(&SocketAddr::new(ip, 0).into()).unwrap();
    let port = friend.local_addr().unwrap().as_socket().unwrap().port();
    let friend_address =
        live::HostAddress { host: 1, ip, udp: BTreeMap::from([(PORT, port)]), tcp: BTreeMap::new() };
    let table = Table::new([address, friend_address]).unwrap();
    let (log, heard) = mpsc::channel();
    let (ready, is_ready) = mpsc::channel();
    let process = does(move |event, cx| match event {
        Event::Start => {
            cx.bind(PORT);
            cx.listen(PORT);
            ready.send(()).unwrap();
        }
        Event::Datagram { from, data, .. } => {
            assert_eq!(from.host, HostId(1));
            log.send(data.len()).unwrap();
        }
        Event::Accepted { from, .. } => assert_eq!(from.host, HostId(1)),
        Event::Readable { stream } => {
            let read = cx.read(stream, u64::MAX);
            log.send(read.len()).unwrap();
            if read.end {
                cx.close(stream);
            }
        }
        _ => {}
    });
    let job = Job { index: 0, name: "job".into(), start: Time::ZERO, background: false, process };
    let stop = Stop(member.handle());
    let run = Run {
        table,
        name: "host0".into(),
        seed: 1,
        key: KEY,
        secret: SECRET,
        #[expect(clippy::disallowed_methods, reason = "a run begins at a time of the calendar")]
        start: SystemTime::now(),
        jobs: vec![job],
        signals: false,
    };
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| member.run(run, &mut |_| true).unwrap());
        is_ready.recv_timeout(LIMIT).unwrap();
        stranger(udp, tcp, &friend);
        // Datagrams keep their order on the loopback interface: when the last one is heard, all were.
        friend.send_to(&[0; 5], &udp.into()).unwrap();
        let mut lengths = Vec::new();
        while lengths.last() != Some(&5) {
            lengths.push(heard.recv_timeout(LIMIT).unwrap());
        }
        drop(stop);
        let report = thread.join().unwrap();
        (report.counters, lengths)
    })
}

#[test]
fn what_strangers_send_is_counted_and_ignored() {
    let (counters, heard) = with_member(Settings::default(), |udp, _, friend| {
        let stranger = Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap();
        for length in [0, 1, 64, 60_000] {
            stranger.send_to(&vec![7; length], &udp.into()).unwrap();
        }
        friend.send_to(&[1; 99], &udp.into()).unwrap();
    });
    assert_eq!((counters.foreign_datagrams, counters.received_datagrams), (4, 2));
    assert_eq!(heard, [99, 5]);
}

#[test]
fn what_is_longer_than_allowed_is_counted_and_dropped() {
    for datagrams in [live::Datagrams::Single, live::Datagrams::Batched, live::Datagrams::Segmented] {
        let settings = Settings { datagram_max_bytes: 100, datagrams, ..Settings::default() };
        let (counters, heard) = with_member(settings, |udp, _, friend| {
            for length in [100, 101, 9000] {
                friend.send_to(&vec![7; length], &udp.into()).unwrap();
            }
        });
        assert_eq!((counters.truncated_datagrams, counters.received_datagrams), (2, 2), "{datagrams:?}");
        assert_eq!(heard, [100, 5]);
    }
}

#[test]
fn any_bytes_from_anybody_are_taken_apart_or_dropped() {
    let mut runner = TestRunner::new(Config::with_cases(cases(20)));
    let datagram = (any::<bool>(), prop::collection::vec(any::<u8>(), 0..300));
    let cases = prop::collection::vec(datagram, 0..50);
    runner
        .run(&cases, |datagrams| {
            let stranger = Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap();
            let (counters, heard) = with_member(Settings::default(), |udp, _, friend| {
                for (known, data) in &datagrams {
                    let socket = if *known { friend } else { &stranger };
                    socket.send_to(data, &udp.into()).unwrap();
                }
            });
            let known = datagrams.iter().filter(|(known, _)| *known);
            let mut expected: Vec<u64> = known.map(|(_, data)| data.len() as u64).collect();
            expected.push(5);
            // The first of length 5 ends the wait.
            prop_assert_eq!(&expected[..heard.len().min(expected.len())], &heard[..]);
            if heard.len() == expected.len() {
                prop_assert_eq!(counters.foreign_datagrams, (datagrams.len() + 1 - expected.len()) as u64);
            }
            Ok(())
        })
        .unwrap();
}

/// A connection to `to`; what the member answers to `bytes`.
fn connect(to: SocketAddr, bytes: &[u8]) -> std::io::Result<usize> {
    let mut socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.connect(&to.into())?;
    socket.write_all(bytes)?;
    // A member that has refused it already has closed it: then the answer says so.
    let _ = socket.shutdown(std::net::Shutdown::Write);
    socket.set_read_timeout(Some(LIMIT))?;
    socket.read(&mut [0; 10])
}

fn greeting(key: &[u8; 16], host: u32) -> Vec<u8> {
    greeting_to(key, host, Addr { host: HostId(0), port: PORT })
}

fn greeting_to(key: &[u8; 16], host: u32, to: Addr) -> Vec<u8> {
    hello::encode(&Key(*key), Hello { host: HostId(host), life: 1, number: 1 }, to).to_vec()
}

#[test]
fn a_stream_without_the_key_gets_nowhere() {
    let (counters, _) = with_member(Settings::default(), |_, tcp, _| {
        let whole = greeting(&KEY.0, 1);
        let wrong = [
            greeting(b"another job's ke", 1),
            greeting(&KEY.0, 2),
            greeting_to(&KEY.0, 1, Addr { host: HostId(1), port: PORT }),
            whole[..hello::LENGTH - 1].to_vec(),
            vec![],
            vec![0; 1000],
        ];
        for bytes in wrong {
            let error = connect(tcp, &bytes).unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
        }
        assert_eq!(connect(tcp, &whole).unwrap(), 0, "a member's stream ends in good order");
        let error = connect(tcp, &whole).expect_err("a greeting that was overheard is worth nothing");
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    });
    assert_eq!(counters.foreign_streams, 7);
}

#[test]
fn a_member_is_heard_however_its_greeting_comes() {
    let (_, heard) = with_member(Settings::default(), |_, tcp, _| {
        let mut socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.set_tcp_nodelay(true).unwrap();
        socket.connect(&tcp.into()).unwrap();
        for byte in greeting(&KEY.0, 1).into_iter().chain(*b"abc") {
            socket.write_all(&[byte]).unwrap();
        }
        socket.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(socket.read(&mut [0; 10]).unwrap(), 0);
    });
    assert_eq!(heard.iter().sum::<u64>(), 3 + 5);
}

#[test]
fn strangers_who_say_nothing_keep_no_member_out() {
    let (counters, heard) = with_member(Settings::default(), |_, tcp, _| {
        // More than may wait to say whose they are; each has its first byte.
        let strangers: Vec<Socket> = (0..300)
            .map(|_| {
                let mut socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
                socket.connect(&tcp.into()).unwrap();
                socket.write_all(b"i").unwrap();
                socket
            })
            .collect();
        let mut whole = greeting(&KEY.0, 1);
        whole.extend(b"abc");
        assert_eq!(connect(tcp, &whole).unwrap(), 0, "a member's stream ends in good order");
        drop(strangers);
    });
    assert!(counters.foreign_streams >= 300 - 256, "{}", counters.foreign_streams);
    assert_eq!(heard.iter().sum::<u64>(), 3 + 5);
}

/// A member's stream that is sealed with `secret`, after which `say` says what is written; how the answer
/// ended, and what it held.
fn sealed(
    to: SocketAddr,
    secret: &Secret,
    number: u64,
    say: impl FnOnce(&mut Seal, &mut BytesMut),
) -> (std::io::Result<usize>, BytesMut) {
    let hello = Hello { host: HostId(1), life: 1, number };
    let hello = hello::encode(&KEY, hello, Addr { host: HostId(0), port: PORT });
    let mut seal = Seal::opener(secret, &hello);
    let mut socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.connect(&to.into()).unwrap();
    socket.set_read_timeout(Some(LIMIT)).unwrap();
    socket.write_all(&[&hello[..], &seal.say().unwrap()].concat()).unwrap();
    let mut answer = [0; HANDSHAKE];
    if let Err(error) = socket.read_exact(&mut answer) {
        return (Err(error), BytesMut::new());
    }
    seal.hear(&answer).unwrap();
    let mut out = BytesMut::new();
    say(&mut seal, &mut out);
    socket.write_all(&out).unwrap();
    let _ = socket.shutdown(std::net::Shutdown::Write);
    let mut rest = Vec::new();
    (socket.read_to_end(&mut rest), rest[..].into())
}

#[test]
fn a_sealed_stream_takes_what_its_opener_has_sent_and_nothing_else() {
    let settings = Settings { sealed: true, ..Settings::default() };
    let (counters, heard) = with_member(settings, |_, tcp, _| {
        let reset = |(answer, _): (std::io::Result<usize>, BytesMut)| {
            assert_eq!(answer.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
        };
        reset(sealed(tcp, &Secret([0; 32]), 1, |_, _| panic!("the member has another secret")));
        reset(sealed(tcp, &SECRET, 2, |seal, out| {
            seal.seal(b"changed on the way", out);
            out[5] ^= 1;
        }));
        // Cut off: nobody has said that this is all.
        reset(sealed(tcp, &SECRET, 3, |seal, out| seal.seal(b"abc", out)));
        reset(sealed(tcp, &SECRET, 4, |seal, out| {
            seal.seal_end(out);
            seal.seal(b"more", out);
        }));
        reset(sealed(tcp, &SECRET, 5, |_, out| out.extend_from_slice(&[0xff; 100_000])));
        let (answer, mut rest) = sealed(tcp, &SECRET, 6, |seal, out| {
            seal.seal(b"abcd", out);
            seal.seal_end(out);
        });
        assert_eq!(answer.unwrap(), 2 + 16, "its end, sealed too");
        assert!(rest.len() == 18 && rest.split_to(2)[..] == [0, 16]);
    });
    assert_eq!((counters.foreign_streams, counters.damaged_streams), (1, 3));
    // What came before the cut is the opener's, and may have been heard.
    assert!([4 + 5, 3 + 4 + 5].contains(&heard.iter().sum::<u64>()), "{heard:?}");
}
