//! Transports as pure state machines: time is an argument, segments go in and come out.
//!
//! For each connection a driver calls, in this order, whenever something happens:
//! 1. [`tcp::Connection::handle_segment`], [`tcp::Connection::handle_timer`] or an application call
//!    (`write`, `read`, `close`, `abort`);
//! 2. [`tcp::Connection::poll_event`] until `None`;
//! 3. [`tcp::Connection::poll_transmit`] until `None`, or until the driver's own queue is full:
//!    asking again later is always allowed;
//! 4. [`tcp::Connection::poll_timer`] once: when to call `handle_timer` next.
//!
//! Two ends and a network that takes a millisecond:
//!
//! ```
//! use std::sync::Arc;
//! use transport::tcp::{Config, Connection, Event};
//! use units::Time;
//!
//! let config = Arc::new(Config::default());
//! let mut ends = [Connection::client(&config, 1), Connection::server(&config, 2)];
//! let (mut now, mut got) = (Time::ZERO, 0);
//! ends[0].write(100_000);
//! ends[0].close();
//! while !ends[0].is_closed() {
//!     for side in [0, 1] {
//!         while let Some(transmit) = ends[side].poll_transmit(now) {
//!             ends[1 - side].handle_segment(now, &transmit.header, &[], false);
//!         }
//!     }
//!     while let Some(event) = ends[1].poll_event() {
//!         if event == Event::Readable {
//!             got += ends[1].read(now, u64::MAX);
//!         }
//!         if ends[1].at_end() {
//!             ends[1].close();
//!         }
//!     }
//!     while ends[0].poll_event().is_some() {}
//!     now += Time::from_ms(1);
//!     ends.iter_mut().filter(|end| end.poll_timer() <= now).for_each(|end| end.handle_timer(now));
//! }
//! assert_eq!(got, 100_000);
//! ```

mod cc;
pub mod tcp;

/// Bytes of an IPv4 and a UDP header: all that UDP needs from here.
pub const UDP_HEADERS: u32 = 28;
