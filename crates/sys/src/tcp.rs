//! What the kernel has of a TCP connection: content (recv(2)) into memory that nobody has written before, and
//! what it has measured (tcp(7), `TCP_INFO`; the layout is that of `struct tcp_info` in the kernel's
//! `linux/tcp.h`, which only ever grows at its end).

use bytes::BytesMut;
use socket2::Socket;
use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// Error of a connection that is being made (connect(2)).
pub const IN_PROGRESS: i32 = libc::EINPROGRESS;
/// For calls that send: an error instead of a signal when the other end is gone (send(2)).
pub const NO_SIGNAL: i32 = libc::MSG_NOSIGNAL;

/// `TCP_RTO_MAX_MS` of the kernel's `linux/tcp.h`: the C library does not have it yet.
const RTO_MAX_MS: libc::c_int = 44;

/// Bounds the time between two tries to send the same segment, a SYN too, for connections on which an outage
/// shall cost little more than itself: a try that comes too early leaves the next one to twice that time
/// (RFC 6298, section 5.5), two minutes at most. The kernel allows one second and more, Linux 6.15 and later;
/// an older one ignores it.
pub fn cap_rto(socket: impl AsFd, most: Duration) {
    let most = most.as_millis() as libc::c_int;
    // SAFETY: the descriptor is open while borrowed, and the kernel reads the four bytes of the number.
    unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            RTO_MAX_MS,
            (&raw const most).cast(),
            size_of_val(&most) as libc::socklen_t,
        );
    }
}

/// Appends what has come, at most `most` bytes and no more than `into` has room for. Says how many; zero is
/// the end.
///
/// # Errors
/// What the kernel says.
pub fn receive(socket: &Socket, into: &mut BytesMut, most: usize) -> io::Result<usize> {
    let room = into.spare_capacity_mut();
    let part = most.min(room.len());
    let count = socket.recv(&mut room[..part])?;
    // SAFETY: the kernel has written the first `count` bytes of the spare capacity, and no more than there
    // is.
    unsafe { into.set_len(into.len() + count) };
    Ok(count)
}

/// Figures of a connection; zero what the kernel is too old to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// Least round-trip time.
    pub min_rtt: Duration,
    /// Segments with data sent, retransmissions included.
    pub sent_segments: u64,
    /// Content of these in bytes.
    pub sent_bytes: u64,
    /// Segments with data received.
    pub received_segments: u64,
    /// Content received in bytes.
    pub received_bytes: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Retransmission timeouts, those of SYNs included; since Linux 6.7.
    pub timeouts: u64,
    /// Segments that arrived marked with congestion experienced, as the peer told.
    pub delivered_ce: u64,
    /// Congestion window in bytes: its segments, each as long as one that is sent now.
    pub cwnd_bytes: u64,
    /// Data sent and not known to have left the network, in bytes, whole segments.
    pub in_flight_bytes: u64,
    /// Content acknowledged in bytes; the SYN counts as one, and so does the FIN.
    pub acked_bytes: u64,
}

/// The kernel's structure, as far as it is used here.
#[repr(C)]
#[derive(Clone, Copy)]
struct Raw {
    bytes: [u8; 8],
    words: [u32; 24],
    pacing_rate: u64,
    max_pacing_rate: u64,
    bytes_acked: u64,
    bytes_received: u64,
    segs_out: u32,
    segs_in: u32,
    notsent_bytes: u32,
    min_rtt: u32,
    data_segs_in: u32,
    data_segs_out: u32,
    delivery_rate: u64,
    busy_time: u64,
    rwnd_limited: u64,
    sndbuf_limited: u64,
    delivered: u32,
    delivered_ce: u32,
    bytes_sent: u64,
    bytes_retrans: u64,
    dsack_dups: u32,
    reord_seen: u32,
    rcv_ooopack: u32,
    snd_wnd: u32,
    rcv_wnd: u32,
    rehash: u32,
    total_rto: u16,
    total_rto_recoveries: u16,
    total_rto_time: u32,
}

/// Among [`Raw::words`]: `tcpi_snd_mss`, in bytes.
const SND_MSS: usize = 2;
/// Segments sent and not acknowledged (`tcpi_unacked`); of these those that have come (`tcpi_sacked`), that
/// are held to be lost (`tcpi_lost`), and that were sent again (`tcpi_retrans`).
const UNACKED: usize = 4;
const SACKED: usize = 5;
const LOST: usize = 6;
const RETRANS: usize = 7;
/// `tcpi_rtt`, in microseconds.
const RTT: usize = 15;
/// `tcpi_snd_cwnd`, in segments.
const SND_CWND: usize = 18;
/// `tcpi_total_retrans`.
const TOTAL_RETRANS: usize = 23;

/// Asks for the figures of a connected TCP socket.
///
/// # Errors
/// When it isn't a TCP socket.
pub fn info(socket: impl AsFd) -> io::Result<Info> {
    let mut raw = MaybeUninit::<Raw>::zeroed();
    let mut length = size_of::<Raw>() as libc::socklen_t;
    // SAFETY: the descriptor is open while borrowed, and the kernel writes at most `length` bytes.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            raw.as_mut_ptr().cast(),
            &mut length,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: integers only, for which every pattern of bits is a value; the memory was zeroed.
    let raw = unsafe { raw.assume_init() };
    let word = |index: usize| u64::from(raw.words[index]);
    let gone = word(SACKED) + word(LOST);
    Ok(Info {
        srtt: Duration::from_micros(raw.words[RTT].into()),
        // The kernel says "none yet" with all ones.
        min_rtt: Duration::from_micros(if raw.min_rtt == u32::MAX { 0 } else { raw.min_rtt.into() }),
        sent_segments: raw.data_segs_out.into(),
        sent_bytes: raw.bytes_sent,
        received_segments: raw.data_segs_in.into(),
        received_bytes: raw.bytes_received,
        retransmits: raw.words[TOTAL_RETRANS].into(),
        timeouts: raw.total_rto.into(),
        delivered_ce: raw.delivered_ce.into(),
        cwnd_bytes: word(SND_CWND) * word(SND_MSS),
        in_flight_bytes: (word(UNACKED) + word(RETRANS)).saturating_sub(gone) * word(SND_MSS),
        acked_bytes: raw.bytes_acked,
    })
}

#[cfg(test)]
#[expect(clippy::disallowed_types, reason = "sockets are what is tested")]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};

    #[test]
    fn the_kernel_counts_what_was_sent() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut a = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut b, _) = listener.accept().unwrap();
        a.write_all(&[0; 5000]).unwrap();
        b.read_exact(&mut [0; 5000]).unwrap();
        b.write_all(&[0]).unwrap();
        a.read_exact(&mut [0]).unwrap();
        let info = info(&a).unwrap();
        assert!(info.cwnd_bytes >= 536 && info.in_flight_bytes == 0, "{info:?}");
        assert!(info.srtt > Duration::ZERO && info.srtt < Duration::from_secs(60), "{info:?}");
        assert!(
            info.sent_segments >= 1
                && info.received_segments == 1
                && info.retransmits == 0
                && info.delivered_ce == 0,
            "{info:?}"
        );
        if info.sent_bytes == 0 {
            eprintln!("skipped in part: a kernel before 4.19 does not count bytes sent");
        } else {
            assert_eq!(info.sent_bytes, 5000);
            assert!(info.min_rtt > Duration::ZERO && info.min_rtt <= Duration::from_secs(60));
        }
    }

    #[test]
    fn another_kind_of_socket_is_refused() {
        assert!(info(UdpSocket::bind("127.0.0.1:0").unwrap()).is_err());
    }
}
