//! Many datagrams a call: recvmmsg(2), and `UDP_GRO` of udp(7), by which the kernel hands over several
//! datagrams of one sender in one buffer.

use super::{Control, UdpSocket};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::AsRawFd;

/// Buffers for one call.
pub struct RecvBatch {
    headers: Vec<libc::mmsghdr>,
    vectors: Vec<libc::iovec>,
    names: Vec<libc::sockaddr_storage>,
    controls: Vec<Control>,
    data: Vec<u8>,
    size: usize,
    /// From one buffer to the next.
    stride: usize,
    filled: usize,
}

// SAFETY: the pointers in it are set again by each `UdpSocket::recv`, and point into its own vectors.
unsafe impl Send for RecvBatch {}

/// What came in one buffer.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// The sender; `None` for what is neither IPv4 nor IPv6.
    pub from: Option<SocketAddr>,
    /// Content of all its datagrams.
    pub data: &'a [u8],
    /// Size of each datagram but the last in bytes, at least 1.
    pub segment: usize,
    /// The buffer was too small: the rest is lost.
    pub truncated: bool,
    /// Datagrams that the socket had no room for since it was made, modulo 2³²; `None` while there is none.
    pub overflows: Option<u32>,
}

impl<'a> Received<'a> {
    /// The datagrams in it: one, or several where the kernel has joined them. One of no bytes counts.
    pub fn segments(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        let count = self.data.len().div_ceil(self.segment).max(1);
        let (data, segment) = (self.data, self.segment);
        (0..count).map(move |i| &data[i * segment..data.len().min((i + 1) * segment)])
    }
}

impl RecvBatch {
    /// Room for `count` buffers of `size` bytes each.
    ///
    /// # Panics
    /// When one of them is 0.
    pub fn new(count: usize, size: usize) -> RecvBatch {
        assert!(count > 0 && size > 0, "a batch has room for something");
        // SAFETY: integers and null pointers only.
        let (header, name) = unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        // Buffers a power of two apart would share the same few places of a cache.
        let stride = size + size / 8;
        RecvBatch {
            headers: vec![header; count],
            vectors: vec![libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; count],
            names: vec![name; count],
            controls: vec![Control::EMPTY; count],
            data: vec![0; count * stride],
            size,
            stride,
            filled: 0,
        }
    }

    /// Buffers that one call can fill.
    pub fn capacity(&self) -> usize {
        self.headers.len()
    }

    /// What the last call has brought, in order.
    pub fn iter(&self) -> impl Iterator<Item = Received<'_>> {
        (0..self.filled).map(|i| self.get(i))
    }

    fn get(&self, i: usize) -> Received<'_> {
        let header = &self.headers[i];
        let length = (header.msg_len as usize).min(self.size);
        let data = &self.data[i * self.stride..][..length];
        let (segment, overflows) = read_controls(&header.msg_hdr);
        Received {
            from: address(&self.names[i], header.msg_hdr.msg_namelen),
            data,
            segment: segment.unwrap_or(length).max(1),
            truncated: header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
            overflows,
        }
    }

    /// Points every header at its buffers; the kernel has changed lengths in those it filled.
    fn prepare(&mut self) {
        let data = self.data.as_mut_ptr();
        let (vectors, names) = (self.vectors.as_mut_ptr(), self.names.as_mut_ptr());
        let controls = self.controls.as_mut_ptr();
        for (i, header) in self.headers.iter_mut().enumerate() {
            self.vectors[i].iov_base = data.wrapping_add(i * self.stride).cast();
            self.vectors[i].iov_len = self.size;
            let header = &mut header.msg_hdr;
            header.msg_name = names.wrapping_add(i).cast();
            header.msg_namelen = size_of::<libc::sockaddr_storage>() as _;
            header.msg_iov = vectors.wrapping_add(i);
            header.msg_iovlen = 1;
            header.msg_control = controls.wrapping_add(i).cast();
            header.msg_controllen = size_of::<Control>() as _;
            header.msg_flags = 0;
        }
    }
}

impl UdpSocket {
    /// Takes what has come, without waiting; returns how many buffers were filled.
    ///
    /// # Errors
    /// `WouldBlock` when nothing is there.
    pub fn recv(&self, batch: &mut RecvBatch) -> io::Result<usize> {
        batch.filled = 0;
        batch.prepare();
        let count = batch.headers.len() as libc::c_uint;
        // SAFETY: `prepare` has pointed `count` headers at memory of the lengths they say, all of it owned by
        // `batch`, which is borrowed mutably; the kernel writes no further.
        let filled = unsafe {
            libc::recvmmsg(
                self.0.as_raw_fd(),
                batch.headers.as_mut_ptr(),
                count,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        };
        batch.filled = usize::try_from(filled).map_err(|_| io::Error::last_os_error())?;
        Ok(batch.filled)
    }
}

/// Size of segments, and overflows, from the control messages (cmsg(3)).
fn read_controls(header: &libc::msghdr) -> (Option<usize>, Option<u32>) {
    let (mut segment, mut overflows) = (None, None);
    // SAFETY: `header` is one that the kernel has filled: `msg_control` points into the batch's own controls,
    // and `msg_controllen` says how much of it is valid, which the macros keep to.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(header) };
    // SAFETY: as above; the macros return null at the end.
    while let Some(control) = unsafe { next.as_ref() } {
        // SAFETY: both messages carry an integer of four bytes.
        let value = || unsafe { libc::CMSG_DATA(control).cast::<u32>().read_unaligned() };
        match (control.cmsg_level, control.cmsg_type) {
            (libc::SOL_UDP, libc::UDP_GRO) => {
                segment = usize::try_from(value()).ok().filter(|size| *size > 0)
            }
            (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => overflows = Some(value()),
            _ => {}
        }
        // SAFETY: as above.
        next = unsafe { libc::CMSG_NXTHDR(header, control) };
    }
    (segment, overflows)
}

/// A socket address in Rust's form.
fn address(name: &libc::sockaddr_storage, length: libc::socklen_t) -> Option<SocketAddr> {
    let storage: *const libc::sockaddr_storage = name;
    match i32::from(name.ss_family) {
        libc::AF_INET if length as usize >= size_of::<libc::sockaddr_in>() => {
            // SAFETY: storage is larger than and aligned for every kind of address, and the family says which
            // it is.
            let v4 = unsafe { &*storage.cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
            Some((ip, u16::from_be(v4.sin_port)).into())
        }
        libc::AF_INET6 if length as usize >= size_of::<libc::sockaddr_in6>() => {
            // SAFETY: as above.
            let v6 = unsafe { &*storage.cast::<libc::sockaddr_in6>() };
            let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
            let (port, scope) = (u16::from_be(v6.sin6_port), v6.sin6_scope_id);
            Some(SocketAddrV6::new(ip, port, 0, scope).into())
        }
        _ => None,
    }
}
