//! Packets as cells: ATM adaptation layer 5 (ITU-T I.363.5) over cells of 53 bytes (I.361).
//!
//! A packet with its encapsulation (RFC 2684) and the trailer of 8 bytes is padded to whole payloads of 48
//! bytes. Of the rate of a line by SONET or SDH (STS-3c, STM-1 and their multiples) 26/27 are for cells: 260
//! of 270 columns.

use units::{Bytes, Rate, Time};

/// Bytes of a cell on the wire.
pub(crate) const CELL: u32 = 53;
/// Bytes of a packet that a cell carries.
const PAYLOAD: u32 = 48;
/// Bytes of AAL5's trailer.
const TRAILER: u32 = 8;

/// Cells that carry an IP packet of `bytes` behind `encapsulation` more.
pub(crate) fn cells(bytes: u16, encapsulation: u32) -> u32 {
    (u32::from(bytes) + encapsulation + TRAILER).div_ceil(PAYLOAD)
}

/// What of a line's rate carries cells.
pub(crate) fn cell_rate(line: Rate, sonet: bool) -> Rate {
    let bps = u128::from(line.as_bps()) * 26 / 27;
    if sonet { Rate::from_bps(bps as u64) } else { line }
}

/// How long a cell takes, rounded up to a picosecond: all times on links of cells are multiples of it.
pub(crate) fn cell_time(rate: Rate) -> Time {
    rate.time_for(Bytes::new(u64::from(CELL)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_in_cells_with_llc_snap() {
        // An acknowledgement of 40 bytes: 56 of two payloads. With VC multiplexing: 48 of one.
        assert_eq!((cells(40, 8), cells(40, 0)), (2, 1));
        // 8 KB and headers; the default MTU of RFC 2225.
        assert_eq!((cells(8192 + 40, 8), cells(9180, 8)), (172, 192));
    }

    #[test]
    fn an_oc3_carries_353_208_cells_a_second() {
        let rate = cell_rate(Rate::from_bps(155_520_000), true);
        assert_eq!(rate, Rate::from_bps(149_760_000));
        assert_eq!(cell_time(rate).as_ps(), 2_831_197);
        assert_eq!(rate.as_bps() / 8 / u64::from(CELL), 353_207);
        assert_eq!(cell_rate(rate, false), rate);
    }
}
