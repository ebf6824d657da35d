//! Long paths: a broadcast is compared with one TCP connection that brings the same bytes.

use super::support::{MIB, config, drive, run_far, star};
use process::{Addr, Context, Event, HostId, Payload, Process};
use sim::Pause;
use units::Time;

const PORT: u16 = 80;

/// Answers a request with so many bytes, as a web server does.
struct Server(u64);

impl Process for Server {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        match event {
            Event::Start => cx.listen(PORT),
            Event::Readable { stream } | Event::Writable { stream } => {
                cx.read(stream, 1);
                self.0 -= cx.write(stream, Payload::Zeros(self.0));
                if self.0 == 0 {
                    cx.close(stream);
                    cx.finish();
                }
            }
            _ => {}
        }
    }
}

/// Asks, and reads to the end.
struct Client;

impl Process for Client {
    fn handle(&mut self, event: Event, cx: &mut dyn Context) {
        match event {
            Event::Start => {
                let stream = cx.open(Addr { host: HostId(0), port: PORT }, 0);
                cx.write(stream, Payload::Zeros(1));
            }
            Event::Readable { stream } => loop {
                let data = cx.read(stream, 1 << 20);
                if data.end {
                    cx.close(stream);
                    return cx.finish();
                }
                if data.data.is_empty() {
                    return;
                }
            },
            _ => {}
        }
    }
}

#[test]
fn a_long_path_costs_little_more_than_one_connection() {
    for (mbps, mib, least) in [(10, 8, 0.95), (30, 24, 0.95), (100, 64, 0.95)] {
        let topology = star(&[(mbps, mbps), (mbps, mbps)]);
        // 100 ms there and back.
        let delay = Time::from_ms(25);
        let bytes = mib * MIB;
        let one = drive(
            &topology,
            delay,
            vec![(HostId(0), Box::new(Server(bytes))), (HostId(1), Box::new(Client))],
            Vec::new(),
            Time::from_secs(1000),
        );
        assert_eq!(one.pause, Pause::Finished);
        let one = one.end.unwrap().as_secs_f64();
        let size = crate::transfer::good_size(bytes, 1, units::Rate::from_bps(mbps * 1_000_000));
        let far = run_far(&config(topology, bytes, size), delay);
        let ours = far.completed(1);
        // It has to find the coordinator and be planned for first, which are two more round trips, and to ask
        // for the hash of all.
        assert!(one / ours > least, "{mbps} Mb/s: {ours} s, one connection {one} s");
    }
}
