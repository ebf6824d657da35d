//! Reno's congestion avoidance: one segment a window.
//!
//! Source: RFC 5681 3.1, the variant that counts bytes.

use super::input::Window;

/// Bytes delivered since the window last grew.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reno {
    counted: u64,
}

impl Reno {
    /// Grows the window by a segment for each window of bytes delivered.
    #[inline]
    pub fn avoid(&mut self, window: &mut Window, delivered: u64) {
        self.counted += delivered;
        if self.counted >= window.cwnd {
            self.counted -= window.cwnd;
            window.cwnd += window.mss;
        }
    }
}
