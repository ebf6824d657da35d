//! One participant of a distributed job, as a state machine free of I/O.
//!
//! A [`Process`] is driven by [`Event`]s and answers through a [`Context`]. It has no socket, no
//! thread, no clock of its own, and no randomness but the context's, so the same code runs in the
//! simulator, on sockets and under emulation.
//!
//! Order of calls: a driver delivers [`Event::Start`] first, then one event at a time; whatever the
//! process asks of its context takes effect before the next event is delivered. After
//! [`Context::finish`] a process may still get events (a late datagram, a peer's close).

mod context;
mod event;
mod hosts;
mod payload;
pub mod rng;
mod train;
pub mod wire;

pub use context::{Context, Read};
pub use event::{Addr, CloseReason, Event, HostId, StreamId, TaskId};
pub use hosts::Hosts;
pub use payload::Payload;
pub use train::Train;

/// A participant of a job: handles one event at a time.
pub trait Process: Send {
    /// Handles `event`; everything it wants done it asks of `cx`.
    fn handle(&mut self, event: Event, cx: &mut dyn Context);

    /// Handles datagrams that came together. Drivers that read several at once call it; for a process that does
    /// not care each is an event of its own. The time is the same for all of them.
    fn handle_train(&mut self, train: &Train<'_>, cx: &mut dyn Context) {
        train.events().for_each(|event| self.handle(event, cx));
    }
}
