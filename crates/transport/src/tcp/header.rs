//! A TCP header as the simulator carries it: fields, not bytes on a wire.
//!
//! Not a codec: a capture or a live driver writes the options from these fields.
//! Source: RFC 9293 3.1, RFC 7323 (timestamps, window scale), RFC 2018 (SACK).

use std::ops::BitOr;

/// IPv4 and TCP header without options, in bytes.
const PLAIN_BYTES: u32 = 40;
/// Timestamps option with its padding, in bytes.
pub const TIMESTAMPS_BYTES: u32 = 12;

/// The control bits of a segment.
///
/// Two of the eight carry what an option says in a real header: see [`Flags::TIMESTAMPS`] and
/// [`Flags::SACK_PERMITTED`]. [`Flags::wire`] takes them off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// No flag.
    pub const NONE: Flags = Flags(0);
    /// No more data from the sender.
    pub const FIN: Flags = Flags(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Flags = Flags(0x02);
    /// Reset.
    pub const RST: Flags = Flags(0x04);
    /// Push.
    pub const PSH: Flags = Flags(0x08);
    /// The acknowledgement field is valid.
    pub const ACK: Flags = Flags(0x10);
    /// The segment carries timestamps. It sits where URG does, which is never used.
    pub const TIMESTAMPS: Flags = Flags(0x20);
    /// Congestion experienced echo.
    pub const ECE: Flags = Flags(0x40);
    /// Congestion window reduced.
    pub const CWR: Flags = Flags(0x80);
    /// On a SYN only: SACK is permitted. It sits where PSH does, which means nothing on a SYN.
    pub const SACK_PERMITTED: Flags = Flags::PSH;

    /// The bits as stored.
    pub const fn bits(self) -> u8 {
        self.0
    }
    /// Flags from bits as stored.
    pub const fn from_bits(bits: u8) -> Flags {
        Flags(bits)
    }
    /// Whether all of `other` are set.
    #[inline]
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
    /// Whether any of `other` is set.
    #[inline]
    pub const fn intersects(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }
    /// The flags byte of a real header, for captures.
    pub const fn wire(self) -> u8 {
        let bits = self.0 & !Flags::TIMESTAMPS.0;
        if self.contains(Flags::SYN) { bits & !Flags::SACK_PERMITTED.0 } else { bits }
    }
    /// `self` or `other`, when `condition` holds.
    #[inline]
    pub(crate) const fn with(self, other: Flags, condition: bool) -> Flags {
        Flags(self.0 | (other.0 * condition as u8))
    }
}

impl BitOr for Flags {
    type Output = Flags;
    #[inline]
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// What is known of a segment and not in its other fields: how many SACK blocks come with it, whether it
/// repeats data, and for a SYN how it left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notes(u8);

impl Notes {
    /// An ordinary segment.
    pub const NONE: Notes = Notes(0);
    /// It repeats what was sent before. The two ends don't look at it; captures tell it.
    pub const RETRANSMISSION: Notes = Notes(0x80);
    /// On a SYN only: it left as ECN-capable, which its IP header says.
    pub const ECT: Notes = Notes(0x40);
    /// The bits that count SACK blocks.
    const SACK_COUNT: u8 = 0x07;

    /// So many SACK blocks, at most four.
    #[inline]
    pub const fn sack(count: u8) -> Notes {
        Notes(count & Notes::SACK_COUNT)
    }
    /// SACK blocks that come with the segment.
    #[inline]
    pub const fn sack_count(self) -> u8 {
        self.0 & Notes::SACK_COUNT
    }
    /// Whether `other`, one of the constants, is noted.
    #[inline]
    pub const fn contains(self, other: Notes) -> bool {
        self.0 & other.0 != 0
    }
    /// `self` or `other`, when `condition` holds.
    pub(crate) const fn with(self, other: Notes, condition: bool) -> Notes {
        Notes(self.0 | (other.0 * condition as u8))
    }
}

/// The fields of a segment that the two ends act on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Next sequence number that the sender expects.
    pub ack: u32,
    /// Receive window in bytes, already scaled.
    pub window: u32,
    /// Timestamp value in microseconds.
    pub ts_val: u32,
    /// Timestamp echo reply in microseconds.
    pub ts_ecr: u32,
    /// Payload in bytes.
    pub len: u16,
    /// Control bits.
    pub flags: Flags,
    /// What else there is to know of the segment.
    pub notes: Notes,
}

impl Header {
    /// Length of the IP packet in bytes: IPv4 and TCP headers, options with padding, payload.
    ///
    /// A SYN carries MSS and window scale, and SACK-permitted and timestamps when they are on,
    /// laid out as Linux does.
    #[inline]
    pub fn bytes(&self) -> u32 {
        let timestamps = self.flags.contains(Flags::TIMESTAMPS);
        if self.flags.contains(Flags::SYN) {
            return PLAIN_BYTES + syn_options(timestamps, self.flags.contains(Flags::SACK_PERMITTED));
        }
        let options = if timestamps { TIMESTAMPS_BYTES } else { 0 };
        let bytes = PLAIN_BYTES + u32::from(self.len) + options;
        match self.notes.sack_count() {
            0 => bytes,
            count => bytes + 4 + 8 * u32::from(count),
        }
    }

    /// Sequence numbers that the segment takes: payload, SYN and FIN.
    pub fn sequence_length(&self) -> u32 {
        u32::from(self.len)
            + u32::from(self.flags.contains(Flags::SYN))
            + u32::from(self.flags.contains(Flags::FIN))
    }

    /// The reset with which a host answers `self` when no connection is there for it (RFC 9293 3.5.2);
    /// none when it is a reset itself.
    pub fn refusal(&self) -> Option<Header> {
        if self.flags.contains(Flags::RST) {
            return None;
        }
        let ack = self.seq.wrapping_add(self.sequence_length());
        let header = if self.flags.contains(Flags::ACK) {
            Header { seq: self.ack, flags: Flags::RST, ..Header::default() }
        } else {
            Header { ack, flags: Flags::RST | Flags::ACK, ..Header::default() }
        };
        Some(header)
    }
}

/// Bytes of a SYN's options.
fn syn_options(timestamps: bool, sack: bool) -> u32 {
    const MSS: u32 = 4;
    const WINDOW_SCALE: u32 = 4;
    // SACK-permitted takes the two bytes that would pad the timestamps, or two of its own and two of padding.
    MSS + WINDOW_SCALE
        + match (timestamps, sack) {
            (true, _) => TIMESTAMPS_BYTES,
            (false, true) => 4,
            (false, false) => 0,
        }
}

/// A range of sequence numbers that the receiver holds beyond a gap: `start` up to, not including, `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// First sequence number.
    pub start: u32,
    /// The sequence number after the last.
    pub end: u32,
}

/// A segment to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transmit {
    /// Its header.
    pub header: Header,
    /// Length of the IP packet.
    pub bytes: u16,
    /// Send it as ECN-capable, ECT(0).
    pub ect: bool,
}

impl Transmit {
    /// The segment with this header.
    pub fn new(header: Header, ect: bool) -> Transmit {
        Transmit { header, bytes: header.bytes() as u16, ect }
    }

    /// Whether it repeats what was sent before.
    pub fn is_retransmission(&self) -> bool {
        self.header.notes.contains(Notes::RETRANSMISSION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_24_bytes() {
        assert_eq!(std::mem::size_of::<Header>(), 24);
    }

    #[test]
    fn lengths_count_the_options() {
        let data = Header { len: 1460, flags: Flags::ACK, ..Header::default() };
        assert_eq!(data.bytes(), 1500);
        let stamped = Header { len: 1448, flags: Flags::ACK | Flags::TIMESTAMPS, ..Header::default() };
        assert_eq!(stamped.bytes(), 1500);
        let sacked =
            Header { flags: Flags::ACK | Flags::TIMESTAMPS, notes: Notes::sack(3), ..Header::default() };
        assert_eq!(sacked.bytes(), 40 + 12 + 28);
        let syn = Header { flags: Flags::SYN, ..Header::default() };
        assert_eq!(syn.bytes(), 48);
        // What Linux sends by default: 60 bytes.
        let linux = Header { flags: Flags::SYN | Flags::SACK_PERMITTED | Flags::TIMESTAMPS, ..syn };
        assert_eq!(linux.bytes(), 60);
    }

    #[test]
    fn a_capture_sees_only_real_flags() {
        assert_eq!((Flags::SYN | Flags::SACK_PERMITTED | Flags::TIMESTAMPS).wire(), 0x02);
        assert_eq!((Flags::ACK | Flags::PSH | Flags::TIMESTAMPS).wire(), 0x18);
    }

    #[test]
    fn a_reset_is_not_answered_with_a_reset() {
        let syn = Header { seq: 7, flags: Flags::SYN, ..Header::default() };
        let reset = syn.refusal().expect("a SYN is refused");
        assert_eq!((reset.ack, reset.flags), (8, Flags::RST | Flags::ACK));
        assert_eq!(reset.refusal(), None);
    }
}
