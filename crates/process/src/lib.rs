//! One participant of a distributed job, as a state machine free of I/O.
//!
//! A [`Process`] is driven by [`Event`]s and answers through a [`Context`]. It has no socket, no
//! thread, no clock of its own, and no randomness but the context's, so the same code runs in the
//! simulator, on sockets and under emulation.
//!
//! Order of calls: a driver delivers [`Event::Start`] first, then one event at a time; whatever the
//! process asks of its context takes effect before the next event is delivered. After
//! [`Context::finish`] a process may still get events (a late datagram, a peer's close).
//!
//! # Write your own job in fifty lines
//!
//! A job is a process for each host. In this one a host asks, and another answers. The feature `testing` has
//! a world in memory to try it in; the simulator and the live driver take the same processes.
//!
//! ```
//! use process::testing::{Network, World};
//! use process::{Addr, Context, Event, HostId, Payload, Process};
//! use units::Time;
//!
//! const PORT: u16 = 5000;
//!
//! /// Sends back whatever comes.
//! struct Echo;
//!
//! impl Process for Echo {
//!     fn handle(&mut self, event: Event, cx: &mut dyn Context) {
//!         match event {
//!             Event::Start => {
//!                 cx.bind(PORT);
//!                 cx.finish(); // A server has done its share when the others have.
//!             }
//!             Event::Datagram { from, port, data } => cx.send(port, from, data),
//!             _ => {}
//!         }
//!     }
//! }
//!
//! /// Asks `left` times, one question after the other.
//! struct Asker {
//!     server: Addr,
//!     left: u32,
//! }
//!
//! impl Process for Asker {
//!     fn handle(&mut self, event: Event, cx: &mut dyn Context) {
//!         match event {
//!             Event::Start => cx.bind(PORT),
//!             Event::Datagram { .. } => self.left -= 1,
//!             _ => {} // The timer has expired: question or answer was lost.
//!         }
//!         if self.left == 0 {
//!             cx.cancel_timer(0);
//!             return cx.finish();
//!         }
//!         cx.send(PORT, self.server, Payload::Zeros(100));
//!         cx.set_timer(0, Time::from_ms(1));
//!     }
//! }
//!
//! let mut world = World::new(Network { loss: 0.2, ..Network::default() }, 1);
//! let server = Addr { host: HostId(0), port: PORT };
//! world.add(server.host, Box::new(Echo));
//! world.add(HostId(1), Box::new(Asker { server, left: 100 }));
//! assert!(world.finish(Time::from_secs(1)), "the job ends");
//! assert!(world.now > Time::from_us(20).saturating_mul(100), "each question takes a round trip");
//! ```

mod context;
mod event;
mod hosts;
mod payload;
pub mod rng;
#[cfg(feature = "testing")]
pub mod testing;
mod train;
pub mod wire;

pub use context::{Context, Read};
pub use event::{Addr, CloseReason, Event, HostId, StreamId, TaskId};
pub use hosts::{Hosts, distinct};
pub use payload::Payload;
pub use train::Train;

/// A participant of a job: handles one event at a time.
pub trait Process: Send {
    /// Handles `event`; everything it wants done it asks of `cx`.
    fn handle(&mut self, event: Event, cx: &mut dyn Context);

    /// Handles datagrams that came together. Drivers that read several at once call it; for a process that
    /// does not care each is an event of its own. The time is the same for all of them.
    fn handle_train(&mut self, train: &Train<'_>, cx: &mut dyn Context) {
        train.events().for_each(|event| self.handle(event, cx));
    }
}
