//! Datagrams between members, in each mode.

use crate::support::{PORT, Processes, does, live, log, simulated};
use live::{Datagrams, Report, Settings};
use process::{Addr, Event, HostId, Payload};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

const SERVER: Addr = Addr { host: HostId(0), port: PORT };

/// A client asks for `count` echoes, some at a time, and says what came back.
fn echo(count: u64, log: mpsc::Sender<Vec<u8>>) -> Processes {
    let server = does(|event, cx| match event {
        Event::Start => {
            cx.bind(PORT);
            cx.finish();
        }
        Event::Datagram { from, data, .. } => cx.send(PORT, from, data),
        _ => {}
    });
    let (mut asked, mut answered) = (0, 0);
    let client = does(move |event, cx| {
        match event {
            Event::Start => cx.bind(PORT),
            Event::Datagram { data: Payload::Data(data), .. } => {
                log.send(data.to_vec()).unwrap();
                answered += 1;
            }
            _ => {}
        }
        while asked < count && asked < answered + 100 {
            // Sizes repeat, and change now and then.
            let size = 8 + (asked / 10 % 5) * 50;
            let mut data = vec![asked as u8; size as usize];
            data[..8].copy_from_slice(&asked.to_be_bytes());
            cx.send(PORT, SERVER, data.into());
            asked += 1;
        }
        if answered == count {
            cx.finish();
        }
    });
    vec![(HostId(0), server), (HostId(1), client)]
}

fn answers(received: mpsc::Receiver<Vec<u8>>) -> Vec<Vec<u8>> {
    let by_number: BTreeMap<_, _> = received.into_iter().map(|data| (data[..8].to_vec(), data)).collect();
    by_number.into_values().collect()
}

fn run(mode: Datagrams, count: u64) -> (Vec<Report>, Vec<Vec<u8>>) {
    let (sender, receiver) = log();
    let settings = Settings { datagrams: mode, ..Settings::default() };
    (live(echo(count, sender), &settings), answers(receiver))
}

#[test]
fn an_echo_is_the_same_in_every_mode_and_in_the_simulator() {
    let (sender, receiver) = log();
    simulated(echo(1000, sender));
    let simulated = answers(receiver);
    assert_eq!(simulated.len(), 1000);
    for mode in [Datagrams::Single, Datagrams::Batched, Datagrams::Segmented] {
        let (reports, got) = run(mode, 1000);
        assert_eq!(got, simulated, "{mode:?}");
        for report in &reports {
            let c = &report.counters;
            assert_eq!((c.sent_datagrams, c.received_datagrams), (1000, 1000), "{mode:?}");
            let row = report.datagram_rows[0];
            assert_eq!((row.sent_packets, row.received_packets), (1000, 1000));
            assert_eq!(row.sent_bytes, c.sent_bytes + 28 * 1000);
            match report.datagrams {
                Datagrams::Single => assert!(c.send_calls == 1000 && c.receive_calls >= 1000),
                // How many leave together is a matter of time; those that were sent at once do.
                Datagrams::Batched | Datagrams::Segmented => assert!(c.send_calls < 1000, "{c:?}"),
            }
            if report.datagrams != mode {
                eprintln!("skipped in part: this kernel can't segment, {:?} was used", report.datagrams);
            }
        }
    }
}

#[test]
fn what_is_sent_to_nobody_is_counted() {
    let process = does(|event, cx| {
        if event == Event::Start {
            cx.bind(PORT);
            cx.send(PORT, Addr { host: HostId(7), port: PORT }, Payload::Zeros(10));
            cx.send(PORT, Addr { host: HostId(0), port: 9 }, Payload::Zeros(10));
            cx.send(9, SERVER, Payload::Zeros(10));
            cx.send(PORT, SERVER, Payload::Zeros(65_508));
            cx.send(PORT, SERVER, Payload::Zeros(0));
        } else if let Event::Datagram { data, .. } = event {
            assert!(data.is_empty());
            cx.finish();
        }
    });
    let counters = live(vec![(HostId(0), process)], &Settings::default())[0].counters;
    assert_eq!((counters.unroutable_datagrams, counters.oversized_datagrams), (3, 1));
    assert_eq!((counters.sent_datagrams, counters.received_datagrams), (1, 1));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a receiver that is late")]
fn a_flood_is_bounded_and_every_datagram_accounted_for() {
    const COUNT: u64 = 200_000;
    for mode in [Datagrams::Batched, Datagrams::Segmented] {
        let settings = Settings {
            datagrams: mode,
            receive_buffer_bytes: 100_000,
            send_queue_bytes: 100_000,
            ..Settings::default()
        };
        let mut flooded = false;
        let sink = does(move |event, cx| match event {
            Event::Start => cx.bind(PORT),
            Event::Datagram { data, from, .. } if data.len() == 1 => {
                cx.send(PORT, from, data);
                cx.finish();
            }
            // A receiver that stands still while the flood comes: the kernel's buffer has to overflow.
            Event::Datagram { .. } if !flooded => {
                flooded = true;
                std::thread::sleep(std::time::Duration::from_millis(200));
            }
            _ => {}
        });
        let asked = Arc::new(AtomicU64::new(0));
        let asking = Arc::clone(&asked);
        let source = does(move |event, cx| match event {
            Event::Start => {
                cx.bind(PORT);
                for _ in 0..COUNT {
                    cx.send(PORT, SERVER, Payload::Zeros(1000));
                }
                cx.set_timer(0, units::Time::from_ms(100));
            }
            // What follows the flood tells how much of it the kernel dropped; it may be dropped too.
            Event::Timer { .. } => {
                asking.fetch_add(1, Ordering::Relaxed);
                cx.send(PORT, SERVER, Payload::Zeros(1));
                cx.set_timer(0, units::Time::from_ms(100));
            }
            Event::Datagram { .. } => {
                cx.cancel_timer(0);
                cx.finish();
            }
            _ => {}
        });
        let reports = live(vec![(HostId(0), sink), (HostId(1), source)], &settings);
        let (sink, source) = (reports[0].counters, reports[1].counters);
        let asked = asked.load(Ordering::Relaxed);
        assert_eq!(source.sent_datagrams + source.queue_drops + source.send_errors, COUNT + asked);
        // The kernel counts datagrams that it has joined as one.
        let joined = if mode == Datagrams::Segmented { 64 } else { 1 };
        let lost = source.sent_datagrams - sink.received_datagrams;
        // One answer ends the run, whatever else was asked.
        let lost_least = sink.kernel_drops;
        let lost_most = joined * sink.kernel_drops + asked - 1;
        assert!((lost_least..=lost_most).contains(&lost), "{mode:?} {lost} {sink:?}");
        assert!(sink.kernel_drops > 0, "the kernel's buffer was too small for it");
    }
}
