//! What a connection tells its driver.

/// Why a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// Both ends sent all they had and know that it arrived.
    Finished,
    /// The peer answered the SYN with a reset.
    Refused,
    /// The peer reset the connection.
    Reset,
    /// The peer did not answer any more.
    TimedOut,
}

/// Something that the driver passes on to the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake is complete.
    Opened,
    /// There is data to read, or the end of the stream, where there was nothing.
    Readable,
    /// There is room in the send buffer again after a write was cut short.
    Writable,
    /// The connection is over. A local `abort` is not reported.
    Closed(CloseReason),
}

/// The events that wait to be polled, each at most once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Events {
    pending: u8,
    reason: CloseReason,
}

const OPENED: u8 = 1;
const READABLE: u8 = 2;
const WRITABLE: u8 = 4;
const CLOSED: u8 = 8;

impl Events {
    pub fn new() -> Events {
        Events { pending: 0, reason: CloseReason::Finished }
    }
    pub fn push(&mut self, event: Event) {
        self.pending |= match event {
            Event::Opened => OPENED,
            Event::Readable => READABLE,
            Event::Writable => WRITABLE,
            Event::Closed(reason) => {
                self.reason = reason;
                CLOSED
            }
        };
    }
    #[inline]
    pub fn is_pending(&self) -> bool {
        self.pending != 0
    }
    #[inline]
    pub fn pop(&mut self) -> Option<Event> {
        if self.pending == 0 { None } else { self.pop_slow() }
    }
    fn pop_slow(&mut self) -> Option<Event> {
        let first = self.pending & self.pending.wrapping_neg();
        self.pending &= !first;
        Some(match first {
            OPENED => Event::Opened,
            READABLE => Event::Readable,
            WRITABLE => Event::Writable,
            _ => Event::Closed(self.reason),
        })
    }
    pub fn clear(&mut self) {
        self.pending = 0;
    }
}
