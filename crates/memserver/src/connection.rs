//! One client's connection: received data that is not yet processed, and data waiting to be sent.

use farmem::wire::session::{House, OUT_MAX, Session};
use socket2::Socket;
use std::io::{self, Read};
use std::net::{Shutdown, SocketAddr};
use units::Time;

/// Readings of a turn at most: others want to be served too.
const READINGS: usize = 8;
/// How long a client may be unknown.
const PATIENCE_NS: u64 = 10_000_000_000;

/// What a turn has brought.
pub(crate) enum Turn {
    /// There was nothing.
    Idle,
    /// What there was is done.
    Served,
    /// There may be more.
    More,
    /// The connection has ended; why.
    Over(String),
}

/// A connection.
pub(crate) struct Connection {
    socket: Socket,
    peer: SocketAddr,
    since_ns: u64,
    session: Session,
    /// What came and is not done with: a part of a message, and more only while too much waits to be sent.
    left: Vec<u8>,
    out: Vec<u8>,
    /// Bytes of it that are sent.
    sent: usize,
}

impl Connection {
    pub(crate) fn new(socket: Socket, peer: SocketAddr, since_ns: u64) -> Connection {
        let (left, out) = (Vec::new(), Vec::new());
        Connection { socket, peer, since_ns, session: Session::default(), left, out, sent: 0 }
    }

    pub(crate) fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Whether its time is over to prove that it knows the key, or to leave after it was refused.
    pub(crate) fn is_late(&self, now: u64) -> bool {
        !self.is_known() && now > self.since_ns + PATIENCE_NS
    }

    pub(crate) fn is_known(&self) -> bool {
        self.session.is_known()
    }

    /// Reads and answers what there is.
    pub(crate) fn turn(&mut self, house: &mut House, now: Time, input: &mut [u8]) -> Turn {
        let mut served = false;
        for _ in 0..READINGS {
            match self.step(house, now, input) {
                Ok(true) => served = true,
                Ok(false) => return if served { Turn::Served } else { Turn::Idle },
                Err(error) => return Turn::Over(self.end(&error)),
            }
        }
        Turn::More
    }

    /// What is said of its end.
    pub(crate) fn end(&self, error: &io::Error) -> String {
        match (self.session.refused(), error.kind()) {
            (Some(why), _) => format!("refused: {why}"),
            (None, io::ErrorKind::UnexpectedEof) if self.is_known() => "ended".to_owned(),
            (None, io::ErrorKind::UnexpectedEof) => "left without the key".to_owned(),
            (None, io::ErrorKind::TimedOut) if !self.is_known() => "said nothing for 10 s".to_owned(),
            (None, _) => format!("lost: {error}"),
        }
    }

    /// One reading and its answer; whether there may be more.
    fn step(&mut self, house: &mut House, now: Time, input: &mut [u8]) -> io::Result<bool> {
        let sent = self.send()?;
        if self.out.len() - self.sent > OUT_MAX {
            return Ok(sent);
        }
        let before = self.left.len();
        input[..before].copy_from_slice(&self.left);
        let came = match (&self.socket).read(&mut input[before..]) {
            Ok(0) if before < input.len() => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(came) => came,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        if came == 0 && before == 0 {
            return Ok(sent);
        }
        let all = &input[..before + came];
        let was_refused = self.session.refused().is_some();
        let done = self.session.handle(house, now, all, &mut self.out);
        self.left.clear();
        self.left.extend(&all[done..]);
        self.send()?;
        if self.session.refused().is_some() && !was_refused {
            // An end that closes while something comes takes back what the other end has not yet read: it is
            // to read why, and leave.
            self.since_ns = now.as_ps() / 1000;
            self.socket.shutdown(Shutdown::Write)?;
        }
        Ok(came > 0 || done > 0)
    }

    /// Sends what waits; whether anything was sent.
    fn send(&mut self) -> io::Result<bool> {
        let before = self.sent;
        while self.sent < self.out.len() {
            match self.socket.send_with_flags(&self.out[self.sent..], sys::tcp::NO_SIGNAL) {
                Ok(bytes) => self.sent += bytes,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(self.sent > before),
                Err(error) => return Err(error),
            }
        }
        let sent = self.sent > before;
        self.out.clear();
        self.sent = 0;
        Ok(sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_ten_seconds_to_prove_that_it_knows_the_key() {
        let socket = Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
        let peer = "127.0.0.1:1".parse().expect("an address");
        let connection = Connection::new(socket, peer, 5);
        assert!(!connection.is_late(5 + PATIENCE_NS) && connection.is_late(6 + PATIENCE_NS));
        let why = |kind: io::ErrorKind| connection.end(&kind.into());
        assert_eq!(why(io::ErrorKind::TimedOut), "said nothing for 10 s");
        assert_eq!(why(io::ErrorKind::UnexpectedEof), "left without the key");
        assert!(why(io::ErrorKind::ConnectionReset).starts_with("lost: "));
    }
}
