//! Reading a stream at one's own pace, in pieces that are worth an event.
//!
//! A reader that takes whatever is there is told of every packet. This reader waits a moment after a short
//! read, as long as a Linux scheduler tick, and takes what has come meanwhile. Between reads the receive
//! buffer fills, and its window holds the sender back.

use process::{Context, StreamId};
use units::Time;

/// Read at most at a time.
pub(crate) const QUANTUM: u64 = 1 << 20;
/// Time after a short read.
pub(crate) const TICK: Time = Time::from_ms(1);

/// How a stream is being read.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// A tick is awaited.
    waiting: bool,
    /// The peer has finished and all is read.
    pub ended: bool,
}

impl Pace {
    /// Reads up to `max` bytes, unless a tick is awaited; asks for a tick on `timer` when that was all there
    /// was.
    pub(crate) fn read(&mut self, stream: StreamId, max: u64, timer: u64, cx: &mut dyn Context) -> u64 {
        if self.waiting || self.ended || max == 0 {
            return 0;
        }
        let max = max.min(QUANTUM);
        let read = cx.read(stream, max);
        self.ended = read.end;
        let n = read.len();
        if n > 0 && n < max && !read.end {
            self.waiting = true;
            cx.set_timer(timer, TICK);
        }
        n
    }

    /// The tick has come.
    pub(crate) fn tick(&mut self) {
        self.waiting = false;
    }
}
