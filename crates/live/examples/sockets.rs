//! Datagrams a second of processor time over the loopback interface: what the bare system calls take, and what the
//! driver takes on top. One thread sends to itself, 64 bytes a datagram, as many on their way as given.
//!
//! `cargo run --release -p incast-live --example sockets [measurements] [bytes] [on their way] [one mode only: 0, 1, 2]`

use live::{Datagrams, Job, Key, Member, Run, Settings, Table};
use process::{Addr, Context, Event, HostId, Payload, Process};
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, SystemTime};
use sys::udp::{Destination, Message, RecvBatch, SEGMENTS_MAX, SendBatch, UdpSocket};
use units::Time;

const IP: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const PORT: u16 = 7000;
/// Processor time of one measurement.
const SLICE: Duration = Duration::from_millis(100);
const MODES: [Datagrams; 3] = [Datagrams::Single, Datagrams::Batched, Datagrams::Segmented];

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().expect("a number"));
    let slices = arguments.next().unwrap_or(11) as usize;
    let bytes = arguments.next().unwrap_or(64) as usize;
    let window = arguments.next().unwrap_or(1024) as usize;
    let only = arguments.next();
    println!(
        "{bytes} bytes, {window} on their way; M datagrams a CPU second, sent and received: medians of {slices}"
    );
    println!("{:<12}{:>10}{:>10}{:>10}", "", "bare", "driver", "ratio");
    for (_, mode) in MODES.into_iter().enumerate().filter(|(i, _)| only.is_none_or(|only| only == *i as u64))
    {
        // In turns, so that both meet the same weather.
        let pairs: Vec<[f64; 2]> =
            (0..slices).map(|_| [bare(mode, bytes, window), driver(mode, bytes, window)]).collect();
        let median = |figure: &dyn Fn(&[f64; 2]) -> f64| {
            let mut figures: Vec<f64> = pairs.iter().map(figure).collect();
            figures.sort_by(f64::total_cmp);
            figures[figures.len() / 2]
        };
        let (bare, driver, ratio) = (median(&|p| p[0]), median(&|p| p[1]), median(&|p| p[1] / p[0]));
        println!("{:<12}{bare:>10.3}{driver:>10.3}{ratio:>10.2}", format!("{mode:?}"));
    }
}

fn rate(datagrams: u64, cpu: Duration) -> f64 {
    datagrams as f64 / cpu.as_secs_f64() / 1e6
}

/// The system calls alone: what has come is sent again.
fn bare(mode: Datagrams, bytes: usize, window: usize) -> f64 {
    let socket = UdpSocket::bind((IP, 0).into()).unwrap();
    socket.set_buffers(4 << 20, 4 << 20).unwrap();
    let joined = mode == Datagrams::Segmented;
    if joined {
        socket.set_gro(true).unwrap();
    }
    let segments = if joined { SEGMENTS_MAX.min(window) } else { 1 };
    let batch = if mode == Datagrams::Single { 1 } else { 64.min(window / segments) };
    let to = Destination::from(socket.local_addr().unwrap());
    let data = vec![7; bytes * segments];
    let message = Message { to: &to, data: &data, segment: if joined { bytes as u16 } else { 0 } };
    let (mut out, mut into) =
        (SendBatch::default(), RecvBatch::new(batch, if joined { 1 << 16 } else { 2048 }));
    for _ in 0..window / segments {
        socket.send(&mut out, std::iter::once(message)).unwrap();
    }
    let mut count = 0;
    let begun = sys::cpu::thread_time();
    while sys::cpu::thread_time() - begun < SLICE {
        for _ in 0..64 {
            let got = socket.recv(&mut into).unwrap();
            count += into.iter().map(|received| received.segments().len() as u64).sum::<u64>();
            socket.send(&mut out, (0..got).map(|_| message)).unwrap();
        }
    }
    rate(count, sys::cpu::thread_time() - begun)
}

/// Sends back what comes.
struct Reflect {
    bytes: usize,
    window: usize,
}

impl Process for Reflect {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        let me = Addr { host: cx.host(), port: PORT };
        match event {
            Event::Start => {
                cx.bind(PORT);
                for _ in 0..self.window {
                    cx.send(PORT, me, Payload::from(vec![7; self.bytes]));
                }
            }
            Event::Datagram { from, data, .. } => cx.send(PORT, from, data),
            _ => {}
        }
    }
}

/// The same through the driver, with a process that does nothing else.
#[expect(clippy::disallowed_methods, reason = "a run begins at a time of the calendar")]
fn driver(mode: Datagrams, bytes: usize, window: usize) -> f64 {
    let settings =
        Settings { datagrams: mode, progress_ms: 10, datagram_max_bytes: 2048, ..Settings::default() };
    let member = Member::bind(HostId(0), IP, &[PORT], settings).unwrap();
    let job = Job {
        index: 0,
        name: "reflect".into(),
        start: Time::ZERO,
        background: false,
        process: Box::new(Reflect { bytes, window }),
    };
    let run = Run {
        table: Table::new([member.address().clone()]).unwrap(),
        name: "host0".into(),
        seed: 1,
        key: Key([0; 16]),
        start: SystemTime::now(),
        jobs: vec![job],
        signals: false,
    };
    let begun = sys::cpu::thread_time();
    let report = member.run(run, &mut |_| sys::cpu::thread_time() - begun < SLICE).unwrap();
    rate(report.counters.received_datagrams, Duration::from_nanos(report.cpu_ps / 1000))
}
