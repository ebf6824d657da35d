//! Streams: every byte once and in order, bounded buffers, ends of all kinds.

use crate::support::{PORT, Processes, does, live, log, simulated};
use live::{Outcome, Settings};
use process::{Addr, CloseReason, Event, HostId, Payload};
use std::sync::mpsc;
use units::Time;

const SERVER: Addr = Addr { host: HostId(0), port: PORT };

/// What a process was told of a stream, without its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Opened,
    Accepted,
    Readable,
    Writable,
    Closed(CloseReason),
}

fn told(event: &Event) -> Option<Told> {
    match event {
        Event::Opened { .. } => Some(Told::Opened),
        Event::Accepted { .. } => Some(Told::Accepted),
        Event::Readable { .. } => Some(Told::Readable),
        Event::Writable { .. } => Some(Told::Writable),
        Event::Closed { reason, .. } => Some(Told::Closed(*reason)),
        _ => None,
    }
}

/// A client writes `bytes` of a pattern, the server reads `piece` at a time and checks every byte.
fn transfer(bytes: usize, piece: u64, log: mpsc::Sender<(u32, Told)>) -> Processes {
    let pattern = |i: usize| (i / 7) as u8;
    let log_of = move |log: &mpsc::Sender<(u32, Told)>, host, event: &Event| {
        told(event).into_iter().for_each(|told| log.send((host, told)).unwrap());
    };
    let (mut got, server_log) = (0, log.clone());
    let server = does(move |event, cx| {
        log_of(&server_log, 0, &event);
        match event {
            Event::Start => cx.listen(PORT),
            Event::Readable { stream } => loop {
                let read = cx.read(stream, piece);
                assert!(read.len() <= piece);
                for part in &read.data {
                    let Payload::Data(part) = part else { continue };
                    assert!(part.iter().enumerate().all(|(i, byte)| *byte == pattern(got + i)));
                    got += part.len();
                }
                if read.end {
                    assert_eq!(got, bytes);
                    return cx.close(stream);
                }
                if read.is_empty() {
                    return;
                }
            },
            Event::Closed { .. } => cx.finish(),
            _ => {}
        }
    });
    let mut rest = Payload::from((0..bytes).map(pattern).collect::<Vec<u8>>());
    let client = does(move |event, cx| {
        log_of(&log, 1, &event);
        let stream = match event {
            Event::Start => cx.open(SERVER, 7),
            Event::Writable { stream } => stream,
            Event::Readable { stream } => {
                assert!(cx.read(stream, 1).end);
                return;
            }
            Event::Closed { .. } => return cx.finish(),
            _ => return,
        };
        let taken = cx.write(stream, rest.clone());
        rest.split_to(taken);
        if rest.is_empty() {
            cx.close(stream);
        }
    });
    vec![(HostId(0), server), (HostId(1), client)]
}

fn of(host: u32, events: &[(u32, Told)]) -> Vec<Told> {
    let mut own: Vec<Told> = events.iter().filter(|(h, _)| *h == host).map(|(_, told)| *told).collect();
    // How often there is something to read or room to write is a matter of time.
    own.dedup();
    own.retain(|told| *told != Told::Writable);
    own.dedup();
    own
}

#[test]
fn bytes_and_events_are_those_of_the_simulator() {
    let cases = [(0, 10), (1, 1), (3_000_000, 1000), (8_000_000, u64::MAX)];
    for ((bytes, piece), sealed) in cases.into_iter().flat_map(|case| [(case, false), (case, true)]) {
        let (sender, receiver) = log();
        simulated(transfer(bytes, piece, sender));
        let expected: Vec<_> = receiver.into_iter().collect();
        let (sender, receiver) = log();
        let settings = Settings { stream_buffer_bytes: 50_000, sealed, ..Settings::default() };
        let reports = live(transfer(bytes, piece, sender), &settings);
        let got: Vec<_> = receiver.into_iter().collect();
        for host in [0, 1] {
            assert_eq!(of(host, &got), of(host, &expected), "host {host}, {bytes} bytes, sealed: {sealed}");
        }
        let row = &reports[1].flows[0];
        assert_eq!((row.bytes, row.group, row.outcome), (bytes as u64, 7, Outcome::Finished));
        assert_eq!(reports[1].counters.stream_sent_bytes, bytes as u64);
        assert_eq!(reports[0].counters.stream_received_bytes, bytes as u64);
    }
}

#[test]
fn who_does_not_read_holds_the_writer_up() {
    let (sender, receiver) = log();
    let writer = does(move |event, cx| {
        let stream = match event {
            Event::Start => cx.open(SERVER, 0),
            Event::Writable { stream } => stream,
            Event::Timer { .. } => return cx.finish(),
            _ => return,
        };
        let taken = cx.write(stream, Payload::Zeros(1 << 40));
        sender.send(taken).unwrap();
        cx.set_timer(0, Time::from_ms(300));
    });
    let idle = does(|event, cx| {
        if event == Event::Start {
            cx.listen(PORT);
            cx.finish();
        }
    });
    let settings = Settings { stream_buffer_bytes: 100_000, ..Settings::default() };
    let reports = live(vec![(HostId(0), idle), (HostId(1), writer)], &settings);
    let taken: u64 = receiver.into_iter().sum();
    let [reader, writer] = [reports[0].counters, reports[1].counters];
    // What isn't in the kernel's buffers is within the bounds of both sides.
    assert!(taken <= writer.stream_sent_bytes + 100_000, "{taken} {writer:?}");
    assert!(reader.stream_received_bytes <= 100_000, "{reader:?}");
    assert!(taken < 64 << 20, "the kernel's buffers are bounded too");
    // Reset, if the reader's host was gone first.
    assert_ne!(reports[1].flows[0].outcome, Outcome::Finished);
}

/// Host 1 opens a stream to host 0 and finishes when it is closed; says why it was.
fn caller(log: mpsc::Sender<CloseReason>) -> Box<dyn process::Process> {
    does(move |event, cx| match event {
        Event::Start => {
            let stream = cx.open(SERVER, 0);
            cx.write(stream, Payload::Zeros(10));
        }
        Event::Closed { reason, .. } => {
            log.send(reason).unwrap();
            cx.finish();
        }
        _ => {}
    })
}

#[test]
fn a_port_nobody_listens_on_refuses() {
    let (sender, receiver) = log();
    let deaf = does(|_, cx| cx.finish());
    let reports = live(vec![(HostId(0), deaf), (HostId(1), caller(sender))], &Settings::default());
    assert_eq!(receiver.recv(), Ok(CloseReason::Refused));
    assert_eq!(reports[1].flows[0].outcome, Outcome::Refused);
}

#[test]
fn an_abort_is_a_reset_at_the_other_end() {
    let (sender, receiver) = log();
    let server = does(|event, cx| match event {
        Event::Start => cx.listen(PORT),
        Event::Readable { stream } => {
            cx.abort(stream);
            cx.finish();
        }
        Event::Closed { .. } => panic!("who aborts is not told"),
        _ => {}
    });
    let reports = live(vec![(HostId(0), server), (HostId(1), caller(sender))], &Settings::default());
    assert_eq!(receiver.recv(), Ok(CloseReason::Reset));
    assert_eq!(reports[1].flows[0].outcome, Outcome::Reset);
}

#[test]
fn one_stream_too_many_is_refused() {
    let (sender, receiver) = log();
    let mut left = 5;
    let client = does(move |event, cx| match event {
        Event::Start => (0..5).for_each(|group| {
            let stream = cx.open(SERVER, group);
            cx.close(stream);
        }),
        Event::Readable { stream } => assert!(cx.read(stream, 1).end),
        Event::Closed { reason, .. } => {
            sender.send(reason).unwrap();
            left -= 1;
            if left == 0 {
                cx.finish();
            }
        }
        _ => {}
    });
    let server = does(|event, cx| match event {
        Event::Start => {
            cx.listen(PORT);
            cx.finish();
        }
        Event::Readable { stream } => {
            assert!(cx.read(stream, 1).end);
            cx.close(stream);
        }
        _ => {}
    });
    let settings = Settings { streams: 3, ..Settings::default() };
    let reports = live(vec![(HostId(0), server), (HostId(1), client)], &settings);
    let reasons: Vec<_> = receiver.into_iter().collect();
    let count = |reason| reasons.iter().filter(|r| **r == reason).count();
    assert_eq!((count(CloseReason::Refused), count(CloseReason::Finished)), (2, 3));
    assert_eq!(reports[1].counters.refused_streams, 2);
    assert_eq!(reports[1].flows.len(), 5);
}

#[test]
fn the_end_that_sends_is_sampled() {
    let writer = does(|event, cx| match event {
        Event::Start => {
            let stream = cx.open(SERVER, 0);
            cx.write(stream, Payload::Zeros(100_000));
            cx.set_timer(0, Time::from_ms(300));
        }
        Event::Timer { .. } => cx.finish(),
        _ => {}
    });
    let reader = does(|event, cx| match event {
        Event::Start => {
            cx.listen(PORT);
            cx.finish();
        }
        Event::Accepted { stream, .. } => cx.drain(stream),
        _ => {}
    });
    let settings = Settings { sample_ns: 10_000_000, ..Settings::default() };
    let reports = live(vec![(HostId(0), reader), (HostId(1), writer)], &settings);
    assert_eq!(reports[0].flow_samples, []);
    let samples = &reports[1].flow_samples;
    assert!((2..=40).contains(&samples.len()), "{samples:?}");
    assert!(samples.is_sorted_by_key(|sample| (sample.time_ps, sample.acked_bytes)), "{samples:?}");
    assert!(samples.iter().all(|sample| (sample.opener, sample.number) == (1, 1)), "{samples:?}");
    assert!(samples.iter().all(|sample| sample.cwnd_bytes > 0), "{samples:?}");
    let last = samples.last().unwrap();
    assert_eq!((last.acked_bytes, last.in_flight_bytes), (100_000, 0), "{last:?}");
}
