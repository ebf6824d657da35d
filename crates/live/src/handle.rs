//! How a member that runs is told what goes on outside of its job, from any thread.

use crate::table::HostAddress;
use process::HostId;
use socket2::{Domain, Protocol, Socket, Type};
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use sys::waker::Waker;

/// What a member can be told.
#[derive(Clone, Debug)]
pub(crate) enum Command {
    Stop,
    Lost(HostId),
    Moved(HostAddress),
}

#[derive(Debug)]
struct Shared {
    commands: Mutex<VecDeque<Command>>,
    waker: Waker,
}

/// Tells a running member something.
#[derive(Clone, Debug)]
pub struct Handle(Arc<Shared>);

impl Handle {
    pub(crate) fn new() -> io::Result<Handle> {
        Ok(Handle(Arc::new(Shared { commands: Mutex::default(), waker: Waker::new()? })))
    }

    /// The run is over: the member closes its books and reports.
    pub fn stop(&self) {
        self.tell(Command::Stop);
    }

    /// The first datagram that comes to `address` says that the run is over.
    ///
    /// # Errors
    /// An address that can't be had.
    pub fn stop_by_datagram(&self, address: SocketAddr) -> io::Result<()> {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        socket.bind(&address.into())?;
        let handle = self.clone();
        thread::spawn(move || {
            if socket.recv(&mut []).is_ok() {
                handle.stop();
            }
        });
        Ok(())
    }

    /// A host is gone: processes get [`process::Event::PeerLost`].
    pub fn lost(&self, host: HostId) {
        self.tell(Command::Lost(host));
    }

    /// A host has come back, or moved: what is sent to it goes there from now on.
    pub fn moved(&self, host: HostAddress) {
        self.tell(Command::Moved(host));
    }

    fn tell(&self, command: Command) {
        self.0.commands.lock().unwrap_or_else(PoisonError::into_inner).push_back(command);
        self.0.waker.wake();
    }

    pub(crate) fn waker(&self) -> &Waker {
        &self.0.waker
    }

    pub(crate) fn take(&self) -> VecDeque<Command> {
        self.0.waker.reset();
        std::mem::take(&mut *self.0.commands.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
