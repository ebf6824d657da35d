//! A network of a child's own, and the device by which it reaches others: network_namespaces(7), the
//! kernel's Documentation/networking/tuntap.rst.

use rustix::fs::{Mode, OFlags, open};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// Bytes in front of each packet: virtio's header with the number of buffers (`virtio_net_hdr_v1`).
pub const HEADER: usize = 12;

/// The other side of a network device: what is sent there is read here. Several segments of TCP may come as
/// one packet, without checksums: then the header says so.
#[derive(Debug)]
pub struct Tun(File);

impl Tun {
    /// Makes a device of this name in the calling thread's network.
    fn create(name: &str) -> io::Result<Tun> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(open("/dev/net/tun", flags, Mode::empty())?);
        // SAFETY: a structure of integers may be zero.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        if name.len() >= request.ifr_name.len() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        request.ifr_name.iter_mut().zip(name.bytes()).for_each(|(to, byte)| *to = byte as libc::c_char);
        let flags = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
        request.ifr_ifru.ifru_flags = flags as libc::c_short;
        let header = HEADER as libc::c_int;
        let offloads = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO_ECN;
        let fd = file.as_raw_fd();
        // SAFETY: each request reads and writes the structure or number that it is given, and nothing else.
        let failed = unsafe {
            libc::ioctl(fd, libc::TUNSETIFF, &raw mut request) == -1
                || libc::ioctl(fd, libc::TUNSETVNETHDRSZ, &raw const header) == -1
                || libc::ioctl(fd, libc::TUNSETOFFLOAD, libc::c_ulong::from(offloads)) == -1
        };
        if failed { Err(io::Error::last_os_error()) } else { Ok(Tun(file)) }
    }

    /// The next packet, its header first and then from its IP header on: its bytes in `into`, if there is
    /// one.
    ///
    /// # Errors
    /// What the kernel says; a device that is down has nothing to read.
    pub fn receive(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        match self.0.read(into) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Hands a packet, from its IP header on, to the device's network; whether that took it.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn send(&mut self, packet: &[u8]) -> io::Result<bool> {
        match self.0.write_vectored(&[IoSlice::new(&[0; HEADER]), IoSlice::new(packet)]) {
            Ok(_) => Ok(true),
            // It is down, there is no memory, or it is no packet.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EIO | libc::ENOBUFS | libc::EINVAL)) => {
                Ok(false)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Does something in a new network, which has nothing but a device of this name: a child that it starts
/// stays there.
///
/// # Errors
/// What the kernel says: without its administrator's rights nobody makes a network.
pub fn apart<T>(device: &str, then: impl FnOnce() -> io::Result<T>) -> io::Result<(Tun, T)> {
    let home = open("/proc/thread-self/ns/net", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    // SAFETY: the flag is about networks; no descriptor that others use is taken away.
    unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
    let done = Tun::create(device).and_then(|tun| Ok((tun, then()?)));
    move_into_link_name_space(home.as_fd(), Some(LinkNameSpaceType::Network))?;
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_child_has_a_network_of_its_own() {
        let before = std::fs::read_link("/proc/thread-self/ns/net").unwrap();
        let child = || Command::new("readlink").arg("/proc/self/ns/net").output();
        match apart("eth0", child) {
            Ok((mut tun, output)) => {
                assert_ne!(String::from_utf8_lossy(&output.stdout).trim(), before.to_string_lossy());
                // It is down: nobody says anything, and nobody hears.
                assert_eq!(tun.receive(&mut [0; 2048]).ok().flatten(), None);
                assert!(!tun.send(&[0x45; 40]).unwrap());
            }
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied),
        }
        assert_eq!(std::fs::read_link("/proc/thread-self/ns/net").unwrap(), before);
    }
}
