//! What the system calls alone can do: the limit that measurements stand beside.

use live::Datagrams;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;
use sys::udp::{Destination, Message, PAYLOAD_MAX, RecvBatch, SendBatch, UdpSocket};

/// The loopback interface.
pub const IP: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Processor time of one measurement.
pub const SLICE: Duration = Duration::from_millis(100);

/// Millions a second of processor time.
pub fn rate(count: u64, cpu: Duration) -> f64 {
    count as f64 / cpu.as_secs_f64() / 1e6
}

/// The middle one.
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// M datagrams a second of processor time, sent and received by the system calls alone: what has come is sent again.
pub fn bare(mode: Datagrams, bytes: usize, window: usize) -> f64 {
    let socket = UdpSocket::bind((IP, 0).into()).unwrap();
    socket.set_buffers(4 << 20, 4 << 20).unwrap();
    let joined = mode == Datagrams::Segmented;
    if joined {
        socket.set_gro(true).unwrap();
    }
    let fit = PAYLOAD_MAX / bytes;
    let segments = if joined { sys::udp::segments_max().min(window).min(fit) } else { 1 };
    let batch = if mode == Datagrams::Single { 1 } else { 64.min(window / segments) };
    let to = Destination::from(socket.local_addr().unwrap());
    let data = vec![7; bytes * segments];
    let message = Message { to: &to, data: &data, segment: if joined { bytes as u16 } else { 0 } };
    let (mut out, mut into) =
        (SendBatch::default(), RecvBatch::new(batch, if joined { 1 << 16 } else { 2048.max(bytes) }));
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
