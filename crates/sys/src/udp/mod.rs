//! UDP sockets that take and give many datagrams a system call. Pages: udp(7), ip(7), socket(7).
//!
//! Sending is in `send.rs`, receiving in `recv.rs`. Sockets don't block, and don't fragment: a datagram that
//! does not fit the path is an error, as in the simulator.

mod recv;
mod send;

pub use recv::{Received, RecvBatch};
pub use send::{Message, SendBatch};

use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// Segments that a kernel takes as one message at most (`UDP_MAX_SEGMENTS`): see [`segments_max`].
pub const SEGMENTS_MAX: usize = 128;
/// The same of kernels before 6.9.
const SEGMENTS_OLD: usize = 64;
/// Largest content of a datagram over IPv4, and of all segments of one call together: 65,535 without the
/// headers of IP and UDP.
pub const PAYLOAD_MAX: usize = 65_507;

/// Error of a datagram that is longer than its path carries (`EMSGSIZE`).
pub const TOO_LONG: i32 = libc::EMSGSIZE;

/// A UDP socket.
#[derive(Debug)]
pub struct UdpSocket(Socket);

/// A destination in the kernel's form, made once and used often.
#[derive(Clone, Debug)]
pub struct Destination(SockAddr);

impl From<SocketAddr> for Destination {
    fn from(address: SocketAddr) -> Destination {
        Destination(address.into())
    }
}

impl UdpSocket {
    /// A socket on `address`; port 0 lets the kernel choose.
    ///
    /// # Errors
    /// When the address is not this machine's, or taken.
    pub fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        socket.set_nonblocking(true)?;
        let (level, option) = match address {
            SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER),
            SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER),
        };
        set_option(&socket, level, option, libc::IP_PMTUDISC_DO)?;
        // The kernel tells with each datagram how many it had no room for.
        set_option(&socket, libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1)?;
        socket.bind(&address.into())?;
        Ok(UdpSocket(socket))
    }

    /// Where it is bound.
    ///
    /// # Errors
    /// None for a socket that is open.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()?.as_socket().ok_or_else(|| io::ErrorKind::Unsupported.into())
    }

    /// Asks for buffers of so many bytes of kernel memory; the kernel gives what its limits allow
    /// (`net.core.rmem_max`, `wmem_max`). Returns what it gave, to receive and to send.
    ///
    /// # Errors
    /// None for a socket that is open.
    pub fn set_buffers(&self, receive: usize, send: usize) -> io::Result<(usize, usize)> {
        self.0.set_recv_buffer_size(receive)?;
        self.0.set_send_buffer_size(send)?;
        Ok((self.0.recv_buffer_size()?, self.0.send_buffer_size()?))
    }

    /// Lets the kernel hand over several datagrams of one sender as one ([`Received::segments`]).
    ///
    /// # Errors
    /// When the kernel does not know how (before 5.0).
    pub fn set_gro(&self, on: bool) -> io::Result<()> {
        set_option(&self.0, libc::SOL_UDP, libc::UDP_GRO, on.into())
    }

    /// Whether the kernel can cut one call's content into datagrams (since 4.18).
    pub fn can_segment(&self) -> bool {
        // Zero means no segmentation: setting what is set already asks without changing anything.
        set_option(&self.0, libc::SOL_UDP, libc::UDP_SEGMENT, 0).is_ok()
    }
}

/// Segments that this kernel takes as one message; 1 when it can't cut. Which limit it has, only a try tells:
/// it does not depend on the path.
pub fn segments_max() -> usize {
    let tried = || -> io::Result<usize> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0).into())?;
        if !socket.can_segment() {
            return Ok(1);
        }
        let to = socket.local_addr()?.into();
        let message = Message { to: &to, data: &[0; SEGMENTS_MAX], segment: 1 };
        socket.send(&mut SendBatch::default(), std::iter::once(message)).map(|_| SEGMENTS_MAX)
    };
    tried().unwrap_or(SEGMENTS_OLD)
}

impl AsFd for UdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn set_option(socket: &Socket, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    let value: *const libc::c_int = &value;
    // SAFETY: the descriptor is open while borrowed; the kernel reads `length` bytes of an integer of that
    // size.
    match unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, value.cast(), length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Room for control messages of one datagram, aligned as the kernel wants it: two integers take 48 bytes.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; 64]);

impl Control {
    const EMPTY: Control = Control([0; 64]);
}

#[cfg(test)]
mod tests;
