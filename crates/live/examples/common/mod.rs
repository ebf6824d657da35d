//! What the system calls alone can do: the limit that measurements stand beside.

use live::Datagrams;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;
use sys::epoll::Epoll;
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

/// A socket that sends on what has come, with nothing but the system calls.
pub struct Bare {
    socket: UdpSocket,
    epoll: Epoll,
    out: SendBatch,
    into: RecvBatch,
    /// A message: as many datagrams as the mode joins.
    data: Vec<u8>,
    segments: usize,
    bytes: usize,
    joined: bool,
    /// Calls that have sent something.
    sends: usize,
}

impl Bare {
    /// For datagrams of `bytes`, `window` of them on their way.
    pub fn new(mode: Datagrams, bytes: usize, window: usize) -> Bare {
        let socket = UdpSocket::bind((IP, 0).into()).unwrap();
        socket.set_buffers(4 << 20, 4 << 20).unwrap();
        let joined = mode == Datagrams::Segmented;
        if joined {
            socket.set_gro(true).unwrap();
        }
        let fit = PAYLOAD_MAX / bytes;
        let segments = if joined { sys::udp::segments_max().min(window).min(fit) } else { 1 };
        let batch = if mode == Datagrams::Single { 1 } else { 64.min(window / segments) };
        let into = RecvBatch::new(batch, if joined { 1 << 16 } else { 2048.max(bytes) });
        let (epoll, out, data) = (Epoll::new().unwrap(), SendBatch::default(), vec![7; bytes * segments]);
        Bare { socket, epoll, out, into, data, segments, bytes, joined, sends: 0 }
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.socket.local_addr().unwrap()
    }

    /// Puts `window` datagrams on their way.
    pub fn begin(&mut self, to: &[Destination], window: usize) {
        (0..window / self.segments).for_each(|_| self.send(to, 1));
    }

    /// Sends what has come on, to each of `to` a part; waits when nothing has. Says how many datagrams it
    /// was.
    pub fn turn(&mut self, to: &[Destination]) -> u64 {
        let Ok(got) = self.socket.recv(&mut self.into) else {
            let ports = [(self.socket.as_fd(), true, false)];
            self.epoll.wait_also(&ports, Some(Duration::from_millis(1))).unwrap();
            return 0;
        };
        let count = self.into.iter().map(|received| received.segments().len() as u64).sum();
        self.send(to, got);
        count
    }

    fn send(&mut self, to: &[Destination], messages: usize) {
        let segment = if self.joined { self.bytes as u16 } else { 0 };
        // What is for one receiver together, as the driver has it.
        let to = |at| &to[(self.sends + at * to.len() / messages) % to.len()];
        let messages = (0..messages).map(|at| Message { to: to(at), data: &self.data, segment });
        self.socket.send(&mut self.out, messages).unwrap();
        self.sends += 1;
    }
}

/// M datagrams a second of processor time, sent and received by the system calls alone: what has come is sent
/// again.
pub fn bare(mode: Datagrams, bytes: usize, window: usize) -> f64 {
    let mut bare = Bare::new(mode, bytes, window);
    let to = [bare.address().into()];
    bare.begin(&to, window);
    let (mut count, begun) = (0, sys::cpu::thread_time());
    while sys::cpu::thread_time() - begun < SLICE {
        count += (0..64).map(|_| bare.turn(&to)).sum::<u64>();
    }
    rate(count, sys::cpu::thread_time() - begun)
}
