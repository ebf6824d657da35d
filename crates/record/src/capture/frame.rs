//! Headers as on the wire: Ethernet II with an 802.1Q tag where there is a class, IPv4 (RFC 791), TCP
//! (RFC 9293, options of RFC 2018 and RFC 7323 laid out as Linux does) or UDP (RFC 768).
//!
//! Checksums are right for a payload of zeros, which adds nothing to them.

use super::packet::{Endpoint, Packet, Tcp, Transport};

const TAG: u16 = 0x8100;
const IPV4: u16 = 0x0800;
const IP_HEADER: usize = 20;
const TCP_HEADER: usize = 20;
const TCP_OPTIONS_MAX: usize = 40;
const UDP_HEADER: usize = 8;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;
const TTL: u8 = 64;
const DO_NOT_FRAGMENT: u16 = 0x4000;

/// All headers of a packet, Ethernet's first.
pub(super) fn headers(packet: &Packet<'_>) -> Vec<u8> {
    let (protocol, segment) = match &packet.transport {
        Transport::Raw(whole) => {
            let mut out = Vec::with_capacity(18 + whole.len());
            ethernet(&mut out, packet);
            out.extend_from_slice(whole);
            return out;
        }
        Transport::Tcp(header) => (PROTOCOL_TCP, tcp(packet, header)),
        Transport::Udp => (PROTOCOL_UDP, udp(packet)),
    };
    let mut out = Vec::with_capacity(112);
    ethernet(&mut out, packet);
    ipv4(&mut out, packet, protocol, segment.len());
    out.extend(segment);
    out
}

fn ethernet(out: &mut Vec<u8>, packet: &Packet<'_>) {
    out.extend(mac(packet.to));
    out.extend(mac(packet.from));
    if packet.class > 0 {
        out.extend(TAG.to_be_bytes());
        // Priority; no VLAN.
        out.extend((u16::from(packet.class & 7) << 13).to_be_bytes());
    }
    out.extend(IPV4.to_be_bytes());
}

fn ipv4(out: &mut Vec<u8>, packet: &Packet<'_>, protocol: u8, segment_header: usize) {
    let start = out.len();
    out.push(0x45);
    out.push(packet.ecn as u8);
    out.extend(length(IP_HEADER + segment_header, packet.payload_bytes).to_be_bytes());
    // No identification: the packet is never a fragment (RFC 6864).
    out.extend(0_u16.to_be_bytes());
    out.extend(DO_NOT_FRAGMENT.to_be_bytes());
    out.extend([TTL, protocol, 0, 0]);
    out.extend(address(packet.from));
    out.extend(address(packet.to));
    let sum = !fold(sum(&out[start..]));
    out[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
}

fn udp(packet: &Packet<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(UDP_HEADER);
    out.extend(packet.from.port.to_be_bytes());
    out.extend(packet.to.port.to_be_bytes());
    out.extend(length(UDP_HEADER, packet.payload_bytes).to_be_bytes());
    out.extend([0; 2]);
    let sum = match transport_checksum(packet, PROTOCOL_UDP, &out) {
        // Zero would say that there is no checksum.
        0 => u16::MAX,
        sum => sum,
    };
    out[6..8].copy_from_slice(&sum.to_be_bytes());
    out
}

fn tcp(packet: &Packet<'_>, header: &Tcp<'_>) -> Vec<u8> {
    let options = options(header);
    let words = (TCP_HEADER + options.len()) / 4;
    let window = header.window_bytes >> if header.syn.is_some() { 0 } else { header.window_shift };
    let mut out = Vec::with_capacity(words * 4);
    out.extend(packet.from.port.to_be_bytes());
    out.extend(packet.to.port.to_be_bytes());
    out.extend(header.seq.to_be_bytes());
    out.extend(header.ack.unwrap_or(0).to_be_bytes());
    out.push((words as u8) << 4);
    out.push(flags(header));
    out.extend(u16::try_from(window).unwrap_or(u16::MAX).to_be_bytes());
    // Checksum, urgent pointer.
    out.extend([0; 4]);
    out.extend(options);
    let sum = transport_checksum(packet, PROTOCOL_TCP, &out);
    out[16..18].copy_from_slice(&sum.to_be_bytes());
    out
}

fn flags(header: &Tcp<'_>) -> u8 {
    let bits = [
        header.fin,
        header.syn.is_some(),
        header.rst,
        header.psh,
        header.ack.is_some(),
        // URG.
        false,
        header.ece,
        header.cwr,
    ];
    bits.iter().enumerate().fold(0, |flags, (place, &set)| flags | u8::from(set) << place)
}

/// TCP's options, a multiple of four bytes long.
fn options(header: &Tcp<'_>) -> Vec<u8> {
    const NOP: u8 = 1;
    let (mss, window_scale, sack_permitted, sack, timestamps) = (2, 3, 4, 5, 8);
    let mut out = Vec::with_capacity(TCP_OPTIONS_MAX);
    if let Some(syn) = header.syn {
        out.extend([mss, 4]);
        out.extend(syn.mss.to_be_bytes());
        if syn.sack_permitted {
            out.extend([NOP, NOP, sack_permitted, 2]);
        }
        if let Some(shift) = syn.window_shift {
            out.extend([NOP, window_scale, 3, shift]);
        }
    }
    if let Some((value, echo)) = header.timestamps {
        out.extend([NOP, NOP, timestamps, 10]);
        out.extend(value.to_be_bytes());
        out.extend(echo.to_be_bytes());
    }
    let blocks = header.sack.len().min((TCP_OPTIONS_MAX - out.len()).saturating_sub(4) / 8);
    if blocks > 0 {
        out.extend([NOP, NOP, sack, 2 + 8 * blocks as u8]);
        for (first, end) in &header.sack[..blocks] {
            out.extend(first.to_be_bytes());
            out.extend(end.to_be_bytes());
        }
    }
    out
}

/// A length field; 0, as for segments that a network card will split, when it doesn't fit.
fn length(headers: usize, payload_bytes: u32) -> u16 {
    u16::try_from(headers + payload_bytes as usize).unwrap_or(0)
}

/// Over the pseudo-header, `header` (its own checksum zero) and a payload of zeros.
fn transport_checksum(packet: &Packet<'_>, protocol: u8, header: &[u8]) -> u16 {
    let length = header.len() as u32 + packet.payload_bytes;
    let pseudo = sum(&address(packet.from)) + sum(&address(packet.to)) + u32::from(protocol);
    !fold(pseudo + (length >> 16) + (length & 0xffff) + sum(header))
}

/// Ones' complement sum of 16-bit words, not folded (RFC 1071). `bytes` is of even length.
fn sum(bytes: &[u8]) -> u32 {
    bytes.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum()
}

fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    sum as u16
}

/// 10.0.0.1 for host 0 and so on.
fn address(of: Endpoint) -> [u8; 4] {
    let [_, b, c, d] = of.host.wrapping_add(1).to_be_bytes();
    [10, b, c, d]
}

/// Locally administered.
fn mac(of: Endpoint) -> [u8; 6] {
    let [a, b, c, d] = of.host.to_be_bytes();
    [2, 0, a, b, c, d]
}
