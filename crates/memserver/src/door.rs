//! Where clients come in: listen(2), accept(2), and what their sockets are set to (tcp(7)).

use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 128;
/// Of a client that is silent: after this it is asked whether it is still there.
const SILENT: Duration = Duration::from_secs(30);
/// After this, one that does not answer is gone, and its memory is free.
const GONE: Duration = Duration::from_secs(60);

/// A socket that listens.
pub(crate) struct Door(Socket);

impl Door {
    pub(crate) fn open(at: SocketAddr) -> io::Result<Door> {
        let socket = Socket::new(Domain::for_address(at), Type::STREAM.cloexec(), Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        socket.set_nonblocking(true)?;
        socket.bind(&at.into())?;
        socket.listen(BACKLOG)?;
        Ok(Door(socket))
    }

    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()?.as_socket().ok_or_else(|| io::ErrorKind::Unsupported.into())
    }

    /// Somebody who has come; nobody when all of them are in, or this process has no descriptors left.
    pub(crate) fn next(&self) -> Option<(Socket, SocketAddr)> {
        loop {
            match self.0.accept() {
                Ok((socket, peer)) => {
                    if let (Ok(()), Some(peer)) = (set(&socket), peer.as_socket()) {
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

fn set(socket: &Socket) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    socket.set_tcp_nodelay(true)?;
    let every = Duration::from_secs(10);
    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(SILENT).with_interval(every).with_retries(3))?;
    socket.set_tcp_user_timeout(Some(GONE))
}

impl AsFd for Door {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
