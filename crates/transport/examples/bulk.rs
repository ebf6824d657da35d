//! A clean transfer between two connections, to count instructions a segment under callgrind:
//! `valgrind --tool=callgrind target/release/examples/bulk <megabytes> <reno|cubic|dctcp> <ack-every>`.
//! The difference of two sizes, divided by the difference in segments, leaves start-up out.

use std::collections::VecDeque;
use std::sync::Arc;
use transport::tcp::{Config, Congestion, Connection, Event, Header, Transmit};
use units::{Rate, Time};

/// One direction: packets in order, each with the time of its arrival.
struct Link {
    packets: VecDeque<(Time, Header, bool)>,
    free_at: Time,
}

const DELAY: Time = Time::from_us(10);

impl Link {
    fn send(&mut self, now: Time, transmit: &Transmit, mark_above: Time) {
        let start = self.free_at.max(now);
        let ce = transmit.ect && start - now > mark_above;
        self.free_at = start + Rate::from_gbps(10).serializer().time_for(transmit.header.bytes());
        self.packets.push_back((self.free_at + DELAY, transmit.header, ce));
    }
    fn next(&self) -> Time {
        self.packets.front().map_or(Time::MAX, |packet| packet.0)
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let megabytes: u64 = arguments.next().map_or(100, |text| text.parse().expect("megabytes"));
    let congestion = match arguments.next().as_deref() {
        None | Some("cubic") => Congestion::Cubic,
        Some("reno") => Congestion::Reno,
        Some("dctcp") => Congestion::Dctcp,
        Some(other) => panic!("{other} is not reno, cubic or dctcp"),
    };
    let ack_every = arguments.next().map_or(1, |text| text.parse().expect("segments"));
    let config = Arc::new(Config {
        congestion,
        ack_every,
        send_buffer: u64::MAX,
        receive_buffer_max: 1 << 20,
        ..Config::default()
    });
    let mut ends = [Connection::client(&config, 1), Connection::server(&config, 2)];
    let mut links = [0, 1].map(|_| Link { packets: VecDeque::with_capacity(4096), free_at: Time::ZERO });
    ends[0].write(megabytes * 1_000_000);
    ends[1].drain();
    run(&mut ends, &mut links);
    println!("{:?}\n{:?}", ends[0].stats(), ends[1].stats());
}

fn run(ends: &mut [Connection; 2], links: &mut [Link; 2]) {
    let mut now = Time::ZERO;
    pump(&mut ends[0], &mut links[0], now, true);
    while !ends[0].is_closed() {
        let times = [links[1].next(), links[0].next(), ends[0].poll_timer(), ends[1].poll_timer()];
        now = *times.iter().min().expect("four");
        if times[0] == now {
            let (_, header, _) = links[1].packets.pop_front().expect("it has a time");
            sender_takes_ack(&mut ends[0], now, &header);
            pump(&mut ends[0], &mut links[0], now, true);
        } else if times[1] == now {
            let (_, header, ce) = links[0].packets.pop_front().expect("it has a time");
            receiver_takes_data(&mut ends[1], now, &header, ce);
            pump(&mut ends[1], &mut links[1], now, false);
        } else {
            for side in 0..2 {
                ends[side].handle_timer(now);
                pump(&mut ends[side], &mut links[side], now, side == 0);
            }
        }
    }
}

fn pump(end: &mut Connection, link: &mut Link, now: Time, sends: bool) {
    while let Some(event) = end.poll_event() {
        // The sender has written all when it is open; the receiver hears of the end of the stream only.
        if event == Event::Readable || (event == Event::Opened && sends) {
            end.close();
        }
    }
    while let Some(transmit) = if sends { sender_transmits(end, now) } else { receiver_transmits(end, now) } {
        link.send(now, &transmit, Time::from_us(80));
    }
}

// Functions of their own, so that callgrind tells them apart.

#[inline(never)]
fn sender_takes_ack(end: &mut Connection, now: Time, header: &Header) {
    end.handle_segment(now, header, &[], false);
}

#[inline(never)]
fn receiver_takes_data(end: &mut Connection, now: Time, header: &Header, ce: bool) {
    end.handle_segment(now, header, &[], ce);
}

#[inline(never)]
fn sender_transmits(end: &mut Connection, now: Time) -> Option<Transmit> {
    end.poll_transmit(now)
}

#[inline(never)]
fn receiver_transmits(end: &mut Connection, now: Time) -> Option<Transmit> {
    end.poll_transmit(now)
}
