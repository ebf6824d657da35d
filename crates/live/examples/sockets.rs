//! Datagrams a second of processor time over the loopback interface: what the bare system calls take, and
//! what the driver takes on top. One thread sends to itself, 64 bytes a datagram, as many on their way as
//! given.
//!
//! `cargo run --release -p incast-live --example sockets [measurements] [bytes] [on their way] [one mode
//! only: 0, 1, 2]`

mod common;

use common::{IP, SLICE, bare, median, rate};
use live::seal::Secret;
use live::{Datagrams, Job, Key, Member, Run, Settings, Table};
use process::{Addr, Context, Event, HostId, Payload, Process};
use std::time::{Duration, SystemTime};
use units::Time;

const PORT: u16 = 7000;
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
        let of = |figure: &dyn Fn(&[f64; 2]) -> f64| median(pairs.iter().map(figure).collect());
        let (bare, driver, ratio) = (of(&|p| p[0]), of(&|p| p[1]), of(&|p| p[1] / p[0]));
        println!("{:<12}{bare:>10.3}{driver:>10.3}{ratio:>10.2}", format!("{mode:?}"));
    }
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
        secret: Secret([0; 32]),
        start: SystemTime::now(),
        jobs: vec![job],
        signals: false,
    };
    let begun = sys::cpu::thread_time();
    let report = member.run(run, &mut |_| sys::cpu::thread_time() - begun < SLICE).unwrap();
    rate(report.counters.received_datagrams, Duration::from_nanos(report.cpu_ps / 1000))
}
