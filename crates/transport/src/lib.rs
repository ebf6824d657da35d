//! Transports as pure state machines: time is an argument, segments go in and come out.
//!
//! For each connection a driver calls, in this order, whenever something happens:
//! 1. [`tcp::Connection::handle_segment`], [`tcp::Connection::handle_timer`] or an application call
//!    (`write`, `read`, `close`, `abort`);
//! 2. [`tcp::Connection::poll_event`] until `None`;
//! 3. [`tcp::Connection::poll_transmit`] until `None`, or until the driver's own queue is full:
//!    asking again later is always allowed;
//! 4. [`tcp::Connection::poll_timer`] once: when to call `handle_timer` next.

mod cc;
pub mod tcp;

/// Bytes of an IPv4 and a UDP header: all that UDP needs from here.
pub const UDP_HEADERS: u32 = 28;
