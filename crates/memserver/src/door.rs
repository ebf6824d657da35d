//! Where clients connect: listen(2), accept(2), and the settings of their sockets (tcp(7)).

use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 128;
/// How often a silent client is asked whether it is still there: the first time when half of the time is over
/// after which it is gone.
const ASKED: u32 = 3;
/// The kernel counts that time in whole ones of these.
const LEAST: Duration = Duration::from_secs(1);

/// A socket that listens.
pub(crate) struct Door {
    socket: Socket,
    timeout: Duration,
}

impl Door {
    /// Clients that can't be reached for `timeout` are gone.
    pub(crate) fn open(at: SocketAddr, timeout: Duration) -> io::Result<Door> {
        let socket = Socket::new(Domain::for_address(at), Type::STREAM.cloexec(), Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        socket.set_nonblocking(true)?;
        socket.bind(&at.into())?;
        socket.listen(BACKLOG)?;
        Ok(Door { socket, timeout })
    }

    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()?.as_socket().ok_or_else(|| io::ErrorKind::Unsupported.into())
    }

    /// Somebody who has come; nobody when all of them are in, or this process has no descriptors left.
    pub(crate) fn next(&self) -> Option<(Socket, SocketAddr)> {
        loop {
            match self.socket.accept() {
                Ok((socket, peer)) => {
                    if let (Ok(()), Some(peer)) = (set(&socket, self.timeout), peer.as_socket()) {
                        return Some((socket, peer));
                    }
                }
                // One that was gone before it was accepted.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => return None,
            }
        }
    }
}

fn set(socket: &Socket, timeout: Duration) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    socket.set_tcp_nodelay(true)?;
    let (silent, every) = ((timeout / 2).max(LEAST), (timeout / (2 * ASKED)).max(LEAST));
    socket
        .set_tcp_keepalive(&TcpKeepalive::new().with_time(silent).with_interval(every).with_retries(ASKED))?;
    // Of what was sent to it and not acknowledged, questions among it.
    socket.set_tcp_user_timeout(Some(timeout))
}

impl AsFd for Door {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
