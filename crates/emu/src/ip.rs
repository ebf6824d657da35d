//! What a switch reads of an IPv4 packet, and the one field that it writes: RFC 791, RFC 3168.

use crate::host::host_of;
use fabric::Ecn;
use sim::RawPacket;
use std::net::Ipv4Addr;
use units::Time;

/// Bytes of a header without options.
pub(crate) const HEADER: usize = 20;
pub(crate) const TCP: u8 = 6;
const UDP: u8 = 17;
/// More hosts than this address has before it are in no network.
const NOBODY: Ipv4Addr = Ipv4Addr::new(10, 255, 255, 254);

/// Of an IPv4 header and the ports behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// Destination.
    pub to: Ipv4Addr,
    /// Protocol number.
    pub protocol: u8,
    /// Ports of TCP and UDP, zero otherwise and in later fragments.
    pub ports: (u16, u16),
    /// ECN field; ECT(1) counts as ECT(0).
    pub ecn: Ecn,
    /// The six bits of the DS field (RFC 2474).
    pub dscp: u8,
}

/// Reads a packet; `None` for one that is not IPv4.
pub fn read(packet: &[u8]) -> Option<Fields> {
    let header = packet.get(..HEADER)?;
    let header_len = usize::from(header[0] & 15) * 4;
    if header[0] >> 4 != 4 || header_len < HEADER {
        return None;
    }
    let ecn = match header[1] & 3 {
        0 => Ecn::NotEct,
        3 => Ecn::Ce,
        _ => Ecn::Ect0,
    };
    let later_fragment = u16::from_be_bytes([header[6], header[7]]) & 0x1fff != 0;
    let ports = match (header[9], packet.get(header_len..header_len + 4)) {
        (TCP | UDP, Some(ports)) if !later_fragment => {
            (u16::from_be_bytes([ports[0], ports[1]]), u16::from_be_bytes([ports[2], ports[3]]))
        }
        _ => (0, 0),
    };
    let to = Ipv4Addr::new(header[16], header[17], header[18], header[19]);
    Some(Fields { to, protocol: header[9], ports, ecn, dscp: header[1] >> 2 })
}

/// A packet as the network of so many hosts carries it, if it is for one of them.
pub fn on_network(data: Box<[u8]>, hosts: usize, late: Time) -> Option<RawPacket> {
    let Fields { to, protocol, ports, ecn, dscp } = read(&data)?;
    // The class of 802.1p that switches give a precedence of IP (RFC 2474, 4.2.2).
    Some(RawPacket { to: host_of(to, hosts)?, ports, protocol, class: dscp >> 3, ecn, data, late })
}

/// Marks a packet: CE, and the header's checksum with it (RFC 1624, equation 3).
pub fn mark(packet: &mut [u8]) {
    let Some(header) = packet.get_mut(..HEADER).filter(|header| header[0] >> 4 == 4) else { return };
    let before = u16::from_be_bytes([header[0], header[1]]);
    header[1] |= 3;
    let after = u16::from_be_bytes([header[0], header[1]]);
    let sum = u16::from_be_bytes([header[10], header[11]]);
    let new = fold(u32::from(!sum) + u32::from(!before) + u32::from(after));
    header[10..12].copy_from_slice(&(!new).to_be_bytes());
}

/// A datagram without content to a port of `to`: UDP without a checksum (RFC 768), from an address that no
/// host has.
pub fn datagram(to: Ipv4Addr, port: u16) -> [u8; HEADER + 8] {
    let mut packet = [0; HEADER + 8];
    packet[0] = 0x45;
    packet[3] = (HEADER + 8) as u8;
    packet[8] = 64;
    packet[9] = UDP;
    packet[12..16].copy_from_slice(&NOBODY.octets());
    packet[16..20].copy_from_slice(&to.octets());
    packet[HEADER..HEADER + 2].copy_from_slice(&port.to_be_bytes());
    packet[HEADER + 2..HEADER + 4].copy_from_slice(&port.to_be_bytes());
    packet[HEADER + 5] = 8;
    let sum = !sum(&packet[..HEADER]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// The sum of the words of at most 64 KiB, in ones' complement (RFC 1071).
pub(crate) fn sum(bytes: &[u8]) -> u16 {
    let (words, odd) = bytes.as_chunks();
    let words = words.iter().map(|word| u32::from(u16::from_be_bytes(*word)));
    fold(words.sum::<u32>() + odd.first().map_or(0, |byte| u32::from(*byte) << 8))
}

/// The ones' complement sum of a sum's upper and lower words.
pub(crate) fn fold(sum: u32) -> u16 {
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of RFC 1071's usual example, with ECT(0), and ports 5001 and 80.
    const PACKET: [u8; 24] = [
        0x45, 0x02, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x06, 0xb8, 0x6a, 0xc0, 0xa8, 0x00, 0x01, 0xc0,
        0xa8, 0x00, 0xc7, 0x13, 0x89, 0x00, 0x50,
    ];

    #[test]
    fn the_fields_of_a_packet() {
        let fields = read(&PACKET).unwrap();
        assert_eq!(fields.to, Ipv4Addr::new(192, 168, 0, 199));
        assert_eq!((fields.protocol, fields.ports, fields.ecn), (TCP, (5001, 80), Ecn::Ect0));
    }

    #[test]
    fn a_mark_keeps_the_checksum_right() {
        let mut packet = PACKET;
        assert_eq!(sum(&packet[..HEADER]), 0xffff);
        mark(&mut packet);
        assert_eq!((read(&packet).unwrap().ecn, sum(&packet[..HEADER])), (Ecn::Ce, 0xffff));
    }

    #[test]
    fn a_datagram_is_read_as_one() {
        let packet = datagram(Ipv4Addr::new(10, 0, 0, 7), 9);
        let fields = read(&packet).unwrap();
        assert_eq!((fields.to, fields.protocol, fields.ports), (Ipv4Addr::new(10, 0, 0, 7), UDP, (9, 9)));
        assert_eq!(sum(&packet[..HEADER]), 0xffff);
    }

    #[test]
    fn what_is_no_packet_is_none() {
        for len in 0..HEADER {
            assert_eq!(read(&PACKET[..len]), None);
        }
        assert_eq!(read(&[0x60; 40]), None);
        assert_eq!(read(&[0x41; 40]), None);
    }
}
