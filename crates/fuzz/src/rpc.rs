//! Remote procedure calls: what a host that is client and server makes of anything that comes on its streams.

use crate::alone::{Strangers, alone};
use ::traffic::rpc::{Arrivals, Rpc, build};
use process::{Addr, HostId, Process};
use units::Time;

const PORT: u16 = 5000;
/// Bytes of a head.
const HEAD: usize = 24;

/// The process of host 0, which calls host 1 and is called by it.
fn node() -> Box<dyn Process> {
    let job = Rpc {
        clients: vec![HostId(0), HostId(1)],
        servers: vec![HostId(0), HostId(1)],
        arrivals: Arrivals::Closed { callers: 2, think: Time::from_us(1) },
        calls: 4,
        fan_out: 1,
        connections: 2,
        request: vec![(100, 1.0)],
        reply: vec![(1000, 1.0)],
        service: Time::from_us(1),
        deadline: Some(Time::from_ms(1)),
    };
    let (_, processes) = build(job, PORT).expect("a good job");
    processes.into_iter().find(|(host, _)| *host == HostId(0)).expect("host 0 has a part").1
}

/// Messages on streams: each has a byte for its stream (the first ones are streams that the host has opened),
/// and a head of 24 bytes, or what is left of one. The length before it is right, unless the byte for the
/// stream has its high bit set: then the content comes as it is. What is wrong ends the stream.
pub fn messages(bytes: &[u8]) {
    let host = HostId(0);
    let mut world = alone(host, node());
    let mut strangers = Strangers::new(Addr { host, port: PORT });
    world.step(4);
    let mut rest = bytes;
    while let [which, after @ ..] = rest {
        let (content, after) = after.split_at(HEAD.min(after.len()));
        let at = usize::from(*which % 8);
        let own = world.opened_by(0).get(at).copied().filter(|_| which & 8 == 0);
        let stream = own.or_else(|| strangers.stream(&mut world, at, 1).map(|stream| stream.0));
        if let Some(stream) = stream {
            let frame = [&[content.len() as u8][..], content].concat();
            world.arrive(stream, if which & 128 != 0 { content } else { &frame });
        }
        world.step(4);
        rest = after;
    }
    world.step(50);
}
