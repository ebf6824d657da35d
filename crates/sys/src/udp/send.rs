//! Many datagrams a call: sendmmsg(2), and `UDP_SEGMENT` of udp(7), by which the kernel cuts one buffer into
//! datagrams of one size (GSO).

use super::{Control, Destination, UdpSocket};
use std::io;
use std::os::fd::AsRawFd;

/// What is sent to one destination.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// The receiver.
    pub to: &'a Destination,
    /// One datagram, or several behind one another.
    pub data: &'a [u8],
    /// Size of each datagram in bytes, the last may be shorter; 0: `data` is one datagram. At most
    /// [`super::segments_max`] datagrams and [`super::PAYLOAD_MAX`] bytes.
    pub segment: u16,
}

/// Memory for the headers of a call, used again and again.
#[derive(Default)]
pub struct SendBatch {
    headers: Vec<libc::mmsghdr>,
    vectors: Vec<libc::iovec>,
    controls: Vec<Control>,
}

// SAFETY: the pointers in it are set and used within `UdpSocket::send`, and mean nothing outside of it.
unsafe impl Send for SendBatch {}

impl UdpSocket {
    /// Sends messages in their order, up to the first that the kernel does not take; returns how many it
    /// took.
    ///
    /// # Errors
    /// That of the first message, when none was taken: `WouldBlock` when the socket's buffer is full.
    pub fn send<'a>(
        &self,
        batch: &mut SendBatch,
        messages: impl Iterator<Item = Message<'a>>,
    ) -> io::Result<usize> {
        batch.prepare(messages);
        if batch.headers.is_empty() {
            return Ok(0);
        }
        let count = batch.headers.len() as libc::c_uint;
        // SAFETY: `prepare` has filled `count` headers; what they point to is borrowed for `'a` or lies in
        // `batch`, whose vectors are not touched until the call returns. The kernel only reads it, but for
        // `msg_len`.
        let sent = unsafe { libc::sendmmsg(self.as_fd_raw(), batch.headers.as_mut_ptr(), count, 0) };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }

    fn as_fd_raw(&self) -> libc::c_int {
        self.0.as_raw_fd()
    }
}

impl SendBatch {
    fn prepare<'a>(&mut self, messages: impl Iterator<Item = Message<'a>>) {
        self.headers.clear();
        self.vectors.clear();
        self.controls.clear();
        for message in messages {
            let Message { to, data, segment } = message;
            self.vectors.push(libc::iovec { iov_base: data.as_ptr().cast_mut().cast(), iov_len: data.len() });
            self.controls.push(if segment == 0 { Control::EMPTY } else { segment_size(segment) });
            // SAFETY: a header of zeros is valid: no name, no vectors, no control messages.
            let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
            header.msg_hdr.msg_name = to.0.as_ptr().cast_mut().cast();
            header.msg_hdr.msg_namelen = to.0.len();
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_controllen = if segment == 0 { 0 } else { control_space() as _ };
            self.headers.push(header);
        }
        // Only now, when the vectors have stopped moving.
        let (vectors, controls) = (self.vectors.as_mut_ptr(), self.controls.as_mut_ptr());
        for (i, header) in self.headers.iter_mut().enumerate() {
            header.msg_hdr.msg_iov = vectors.wrapping_add(i);
            if header.msg_hdr.msg_controllen != 0 {
                header.msg_hdr.msg_control = controls.wrapping_add(i).cast();
            }
        }
    }
}

fn control_space() -> usize {
    // SAFETY: it only computes.
    unsafe { libc::CMSG_SPACE(size_of::<u16>() as u32) as usize }
}

/// The control message that asks for datagrams of `size` bytes (cmsg(3)).
fn segment_size(size: u16) -> Control {
    let mut control = Control::EMPTY;
    let header = libc::cmsghdr {
        // SAFETY: it only computes.
        cmsg_len: unsafe { libc::CMSG_LEN(size_of::<u16>() as u32) } as _,
        cmsg_level: libc::SOL_UDP,
        cmsg_type: libc::UDP_SEGMENT,
    };
    let start: *mut libc::cmsghdr = control.0.as_mut_ptr().cast();
    // SAFETY: `Control` is aligned for and larger than a header and an integer; `CMSG_DATA` points behind the
    // header.
    unsafe {
        start.write(header);
        libc::CMSG_DATA(start).cast::<u16>().write_unaligned(size);
    }
    control
}
