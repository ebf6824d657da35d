//! What a capture is told of a packet.

use units::Time;

/// A packet that passed the port, or was dropped there.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// When.
    pub time: Time,
    /// Which way, seen from the port's node.
    pub direction: Direction,
    /// The sender.
    pub from: Endpoint,
    /// The receiver.
    pub to: Endpoint,
    /// 802.1p class; above 0 the frame has an 802.1Q tag with it.
    pub class: u8,
    /// ECN field of the IP header.
    pub ecn: Ecn,
    /// Bytes after the TCP or UDP header.
    pub payload_bytes: u32,
    /// What the packet carries.
    pub transport: Transport<'a>,
    /// Sent again: noted in a comment, since Wireshark can only guess it.
    pub retransmission: bool,
    /// Why it was dropped and where (`tail drop at leaf0:host3, queue 150000 B`), if it was.
    pub dropped: Option<&'a str>,
}

/// Which way a packet passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the peer.
    In,
    /// To the peer.
    Out,
}

/// A socket's address. Host `n` has the IP address 10.0.0.1 + n and the MAC address 02:00 followed by n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Index of the host in the run.
    pub host: u32,
    /// TCP or UDP port.
    pub port: u16,
}

/// RFC 3168, section 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable.
    NotEct = 0b00,
    /// ECN-capable, ECT(1).
    Ect1 = 0b01,
    /// ECN-capable, ECT(0).
    Ect0 = 0b10,
    /// Congestion experienced.
    Ce = 0b11,
}

/// What an IP packet carries.
#[derive(Clone, Copy, Debug)]
pub enum Transport<'a> {
    /// A datagram.
    Udp,
    /// A segment.
    Tcp(Tcp<'a>),
    /// A whole IP packet with its own header, of a host that is not simulated.
    Raw(&'a [u8]),
}

/// A TCP header (RFC 9293, section 3.1).
#[derive(Clone, Copy, Debug, Default)]
pub struct Tcp<'a> {
    /// Present: the segment is a SYN and offers these.
    pub syn: Option<SynOptions>,
    /// FIN.
    pub fin: bool,
    /// RST.
    pub rst: bool,
    /// PSH.
    pub psh: bool,
    /// Present: ACK, and the next sequence number that is expected.
    pub ack: Option<u32>,
    /// ECN-Echo.
    pub ece: bool,
    /// Congestion window reduced.
    pub cwr: bool,
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Receive window in bytes.
    pub window_bytes: u32,
    /// The sender's window scale, as its SYN offered it; a SYN's own window is not scaled (RFC 7323).
    pub window_shift: u8,
    /// Selective acknowledgements (first byte, byte after the last); as many as fit are written (RFC 2018).
    pub sack: &'a [(u32, u32)],
    /// Timestamps option: value and echo reply (RFC 7323).
    pub timestamps: Option<(u32, u32)>,
}

/// Options of a SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SynOptions {
    /// Largest segment that the sender takes.
    pub mss: u16,
    /// SACK permitted.
    pub sack_permitted: bool,
    /// Window scale, if offered.
    pub window_shift: Option<u8>,
}
