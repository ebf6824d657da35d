//! What a network card does for its driver: checksums, and segments of a TCP packet that is longer than the
//! MTU (VIRTIO 1.2, section 5.1.6.2). Segments are those that Linux would have cut (net/ipv4/tcp_offload.c).

use crate::ip::{self, fold, sum};
use crate::vhost::ring::Wrong;
pub use sys::network::HEADER;

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`.
const NEEDS_SUM: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_NONE`, `_TCPV4`, `_ECN`.
const NONE: u8 = 0;
const TCP4: u8 = 1;
const ECN: u8 = 0x80;
/// Flags of TCP: FIN and PSH, which only the last segment has, and CWR, which only the first has.
const LAST: u8 = 0x01 | 0x08;
const FIRST: u8 = 0x80;
/// Bytes of a TCP header without options.
const TCP_HEADER: usize = 20;

/// Where in the header of TCP its fields are.
mod at {
    pub const SEQUENCE: usize = 4;
    pub const LENGTH: usize = 12;
    pub const FLAGS: usize = 13;
    pub const SUM: usize = 16;
}

/// The packets that one chain of descriptors stands for, ready to be sent.
#[derive(Debug)]
pub struct Packets {
    packet: Box<[u8]>,
    /// None: the packet itself.
    cut: Option<Cut>,
    /// Bytes of content that went into earlier ones; a packet that goes as it is has gone.
    gone: usize,
}

#[derive(Clone, Copy, Debug)]
struct Cut {
    /// Bytes of the IP header, and of both headers.
    ip: usize,
    headers: usize,
    /// Bytes of content of each but the last.
    size: usize,
}

impl Packets {
    /// Those of a packet with this header of virtio, which counts from `before` bytes before the packet.
    ///
    /// # Errors
    /// A header that does not go with the packet.
    pub fn of(header: &[u8; HEADER], before: usize, mut packet: Box<[u8]>) -> Result<Packets, Wrong> {
        let word = |at: usize| usize::from(u16::from_le_bytes([header[at], header[at + 1]]));
        let cut = match header[1] & !ECN {
            NONE => None,
            TCP4 => Some(Cut::of(&packet, word(4)).ok_or(Wrong::Offload)?),
            _ => return Err(Wrong::Offload),
        };
        if cut.is_none() && header[0] & NEEDS_SUM != 0 {
            let start = word(6).checked_sub(before).ok_or(Wrong::Offload)?;
            fill_sum(&mut packet, start, word(8)).ok_or(Wrong::Offload)?;
        }
        Ok(Packets { packet, cut, gone: 0 })
    }
}

/// Fills in a checksum, whose field has the sum of the pseudo header.
fn fill_sum(packet: &mut [u8], start: usize, offset: usize) -> Option<()> {
    let sum = !sum(packet.get(start..)?);
    // In UDP zero would mean that there is none, and both are the same number.
    let sum = if sum == 0 { !0 } else { sum };
    packet.get_mut(start + offset..start + offset + 2)?.copy_from_slice(&sum.to_be_bytes());
    Some(())
}

impl Cut {
    fn of(packet: &[u8], size: usize) -> Option<Cut> {
        let first = *packet.first()?;
        let ip = usize::from(first & 15) * 4;
        let is_tcp = first >> 4 == 4 && ip >= ip::HEADER && *packet.get(9)? == ip::TCP;
        let tcp = usize::from(*packet.get(ip + at::LENGTH)? >> 4) * 4;
        let headers = ip + tcp;
        let is_good = is_tcp && tcp >= TCP_HEADER && headers < packet.len() && size > 0;
        is_good.then_some(Cut { ip, headers, size })
    }

    /// The segment whose content begins at byte `begin` of the packet's, and follows `before` others.
    fn segment(self, packet: &[u8], begin: usize, before: usize) -> Box<[u8]> {
        let Cut { ip, headers, size } = self;
        let content = &packet[headers + begin..];
        let is_last = content.len() <= size;
        let mut segment = Vec::with_capacity(headers + content.len().min(size));
        segment.extend_from_slice(&packet[..headers]);
        segment.extend_from_slice(&content[..content.len().min(size)]);
        let bytes = segment.len();
        set(&mut segment, 2, bytes as u16);
        let number = u16::from_be_bytes([segment[4], segment[5]]).wrapping_add(before as u16);
        set(&mut segment, 4, number);
        set(&mut segment, 10, 0);
        let header = !sum(&segment[..ip]);
        set(&mut segment, 10, header);
        let tcp = &mut segment[ip..];
        let first = [0, 1, 2, 3].map(|at| tcp[at::SEQUENCE + at]);
        let sequence = u32::from_be_bytes(first).wrapping_add(begin as u32);
        tcp[at::SEQUENCE..at::SEQUENCE + 4].copy_from_slice(&sequence.to_be_bytes());
        tcp[at::FLAGS] &= !(if is_last { 0 } else { LAST } | if begin == 0 { 0 } else { FIRST });
        set(tcp, at::SUM, 0);
        // The pseudo header: both addresses, the protocol, the length.
        let pseudo = u32::from(sum(&segment[12..20])) + u32::from(ip::TCP) + (bytes - ip) as u32;
        let whole = !fold(pseudo + u32::from(sum(&segment[ip..])));
        set(&mut segment, ip + at::SUM, whole);
        segment.into()
    }
}

fn set(bytes: &mut [u8], at: usize, word: u16) {
    bytes[at..at + 2].copy_from_slice(&word.to_be_bytes());
}

impl Iterator for Packets {
    type Item = Box<[u8]>;

    fn next(&mut self) -> Option<Box<[u8]>> {
        let Some(cut) = self.cut else {
            return (std::mem::replace(&mut self.gone, 1) == 0).then(|| std::mem::take(&mut self.packet));
        };
        if cut.headers + self.gone >= self.packet.len() {
            return None;
        }
        let segment = cut.segment(&self.packet, self.gone, self.gone / cut.size);
        self.gone += cut.size;
        Some(segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vhost::device::ETHERNET;
    use std::iter::repeat_n;

    /// IP and TCP with 12 bytes of options, FIN, PSH and CWR, and so much content.
    fn long(content: usize) -> Vec<u8> {
        let mut packet = vec![0x45, 2, 0, 0, 0xff, 0xff, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        packet.extend([0x13, 0x89, 0, 80, 0xff, 0xff, 0xff, 0xf0, 0, 0, 0, 1, 0x80, 0x99, 1, 0, 0, 0, 0, 0]);
        packet.extend(repeat_n(1, 12));
        packet.extend((0..content).map(|at| at as u8));
        packet
    }

    fn header(flags: u8, kind: u8, size: u16, start: u16, offset: u16) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        (header[0], header[1]) = (flags, kind);
        for (at, word) in [(4, size), (6, start), (8, offset)] {
            header[at..at + 2].copy_from_slice(&word.to_le_bytes());
        }
        header
    }

    /// Whether both checksums of a TCP packet are right.
    fn is_right(packet: &[u8]) -> bool {
        let pseudo = u32::from(sum(&packet[12..20])) + 6 + (packet.len() - 20) as u32;
        sum(&packet[..20]) == 0xffff && fold(pseudo + u32::from(sum(&packet[20..]))) == 0xffff
    }

    #[test]
    fn segments_are_the_packet_in_parts() {
        for content in [1, 1447, 1448, 1449, 64_000] {
            let packet = long(content);
            let packets =
                Packets::of(&header(1, TCP4 | ECN, 1448, 0, 0), ETHERNET, packet.clone().into()).unwrap();
            let segments: Vec<_> = packets.collect();
            assert_eq!(segments.len(), content.div_ceil(1448));
            let joined: Vec<u8> = segments.iter().flat_map(|segment| segment[52..].to_vec()).collect();
            assert_eq!(joined, packet[52..]);
            for (at, segment) in segments.iter().enumerate() {
                assert!(is_right(segment));
                assert_eq!(usize::from(u16::from_be_bytes([segment[2], segment[3]])), segment.len());
                assert_eq!(u16::from_be_bytes([segment[4], segment[5]]), 0xffffu16.wrapping_add(at as u16));
                let sequence = u32::from_be_bytes([segment[24], segment[25], segment[26], segment[27]]);
                assert_eq!(sequence, 0xffff_fff0u32.wrapping_add(1448 * at as u32));
                let last = at + 1 == segments.len();
                let flags = 0x10 | if last { LAST } else { 0 } | if at == 0 { FIRST } else { 0 };
                assert_eq!(segment[33], flags, "segment {at} of {content} bytes");
            }
        }
    }

    #[test]
    fn a_checksum_is_filled_in() {
        // Of an odd number of bytes too.
        for content in [10, 11] {
            let mut packet = long(content);
            let bytes = packet.len() as u16;
            packet[2..4].copy_from_slice(&bytes.to_be_bytes());
            let ip = !sum(&packet[..20]);
            packet[10..12].copy_from_slice(&ip.to_be_bytes());
            let pseudo = fold(u32::from(sum(&packet[12..20])) + 6 + u32::from(bytes - 20));
            packet[36..38].copy_from_slice(&pseudo.to_be_bytes());
            let mut packets = Packets::of(&header(1, NONE, 0, 34, 16), ETHERNET, packet.into()).unwrap();
            assert!(is_right(&packets.next().unwrap()));
            assert!(packets.next().is_none());
        }
    }

    #[test]
    fn what_needs_nothing_goes_as_it_is() {
        let packet: Box<[u8]> = long(100).into();
        let mut packets = Packets::of(&[0; HEADER], 0, packet.clone()).unwrap();
        assert_eq!((packets.next(), packets.next()), (Some(packet), None));
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let of =
            |header: [u8; HEADER], packet: Vec<u8>| Packets::of(&header, ETHERNET, packet.into()).map(drop);
        let cut = header(1, TCP4, 1448, 0, 0);
        assert_eq!(of(cut, long(1)), Ok(()));
        assert_eq!(of(header(1, TCP4, 0, 0, 0), long(1)), Err(Wrong::Offload));
        assert_eq!(of(header(1, 3, 1448, 0, 0), long(1)), Err(Wrong::Offload));
        // No content, no headers, another protocol, another version, headers that are too short or too long.
        assert_eq!(of(cut, long(0)), Err(Wrong::Offload));
        assert_eq!(of(cut, Vec::new()), Err(Wrong::Offload));
        for (at, byte) in [(9, 17), (0, 0x65), (0, 0x44), (32, 0x40), (32, 0xf0)] {
            let mut packet = long(1);
            packet[at] = byte;
            assert_eq!(of(cut, packet), Err(Wrong::Offload), "byte {at}");
        }
        // A checksum outside of the packet, or in front of it.
        for (start, offset) in [(13, 0), (34, 60), (14 + 54, 0), (14 + 52, 0), (u16::MAX, u16::MAX)] {
            assert_eq!(of(header(1, NONE, 0, start, offset), long(1)), Err(Wrong::Offload), "{start}");
        }
    }
}
