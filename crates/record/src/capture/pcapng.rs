//! The three blocks of pcapng that a capture needs (draft-ietf-opsawg-pcapng): Section Header (section
//! 4.1), Interface Description (4.2) and Enhanced Packet (4.3). Little-endian.
//!
//! Own code because the usual crate writes neither a packet's direction nor its comments next to its time.
//!
//! Times are whole nanoseconds, rounded down: Wireshark counts a second in 64 bits of the resolution times
//! 10⁹, so picoseconds overflow it 18 ms after each full second. A packet that leaves less than a nanosecond
//! after another has its time, and follows it in the file.

use super::frame;
use super::packet::{Direction, Packet};

/// Larger than any header of ours; what follows is cut off.
const SNAP_LENGTH: u32 = 128;
const LINKTYPE_ETHERNET: u16 = 1;
/// Times are in units of 10⁻⁹ s.
const NANOSECONDS: u8 = 9;
const PS_PER_NS: u64 = 1000;

/// Options that any block may have (section 3.5).
const END_OF_OPTIONS: u16 = 0;
const COMMENT: u16 = 1;

/// What a file begins with: its section, and its one interface called `port`.
pub(super) fn head(port: &str) -> Vec<u8> {
    let mut out = Vec::new();
    block(&mut out, 0x0a0d_0d0a, |body| {
        body.extend(0x1a2b_3c4d_u32.to_le_bytes());
        body.extend(1_u16.to_le_bytes());
        body.extend(0_u16.to_le_bytes());
        // The section's length is not known.
        body.extend(u64::MAX.to_le_bytes());
        let userappl = 4;
        option(body, userappl, b"incast");
        option(body, END_OF_OPTIONS, &[]);
    });
    block(&mut out, 1, |body| {
        body.extend(LINKTYPE_ETHERNET.to_le_bytes());
        body.extend(0_u16.to_le_bytes());
        body.extend(SNAP_LENGTH.to_le_bytes());
        let (name, tsresol) = (2, 9);
        option(body, name, port.as_bytes());
        option(body, tsresol, &[NANOSECONDS]);
        option(body, END_OF_OPTIONS, &[]);
    });
    out
}

/// A packet's block.
pub(super) fn packet(packet: &Packet<'_>) -> Vec<u8> {
    let headers = frame::headers(packet);
    let time = packet.time.as_ps() / PS_PER_NS;
    let captured = headers.len() as u32;
    let mut out = Vec::with_capacity(160);
    block(&mut out, 6, |body| {
        body.extend(0_u32.to_le_bytes());
        body.extend(((time >> 32) as u32).to_le_bytes());
        body.extend((time as u32).to_le_bytes());
        body.extend(captured.to_le_bytes());
        body.extend((captured + packet.payload_bytes).to_le_bytes());
        padded(body, &headers);
        let flags = 2;
        let direction: u32 = match packet.direction {
            Direction::In => 0b01,
            Direction::Out => 0b10,
        };
        option(body, flags, &direction.to_le_bytes());
        if packet.retransmission {
            option(body, COMMENT, b"retransmission");
        }
        if let Some(why) = packet.dropped {
            option(body, COMMENT, format!("dropped: {why}").as_bytes());
        }
        option(body, END_OF_OPTIONS, &[]);
    });
    out
}

/// Type and length around a body (section 3.1).
fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend(kind.to_le_bytes());
    out.extend([0; 4]);
    body(out);
    let length = ((out.len() - start + 4) as u32).to_le_bytes();
    out.extend(length);
    out[start + 4..start + 8].copy_from_slice(&length);
}

/// An option: code, length, value (section 3.5). A value that is too long is cut.
fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
    out.extend(code.to_le_bytes());
    out.extend(length.to_le_bytes());
    padded(out, &value[..usize::from(length)]);
}

/// Bytes, filled up to a multiple of four.
fn padded(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend(bytes);
    out.resize(out.len() + bytes.len().next_multiple_of(4) - bytes.len(), 0);
}
