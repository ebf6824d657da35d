//! The connection to a memory server. Whatever is wrong with it ends the program, with a message.
//!
//! A thread that waits polls for a while before it sleeps, because being woken takes longer than an
//! answer of a near server: as long as that helps. Pages: tcp(7), sendmsg(2), poll(2).

use crate::config::MemoryServer;
use crate::raw;
use farmem::wire::client::{Client, Coming, Greeting};
use farmem::wire::{CHALLENGE, HEAD, NONCE, TEXT_MAX, Ticket, WELCOME};
use socket2::{Domain, MsgHdr, Protocol, Socket, TcpKeepalive, Type};
use std::io::{self, ErrorKind, IoSlice, Read};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::time::Duration;
use sys::cpu::monotonic_ns;

/// Longest time that is waited without sleeping.
const SPIN_MAX_NS: u64 = 100_000;
/// Pieces of one call that sends (`IOV_MAX`).
const PIECES: usize = 1024;

const SECOND: Duration = Duration::from_secs(1);
/// How often a server that says nothing is asked whether it is there; the most that the kernel takes.
const ASKED: u32 = 127;

/// A connection that the server welcomed.
pub(super) struct Link {
    socket: Socket,
    at: SocketAddr,
    timeout_ms: u64,
    spin_ns: std::cell::Cell<u64>,
}

/// Since when nothing has come or gone.
pub(super) struct Waiting {
    since_ns: u64,
    slept: bool,
}

impl Waiting {
    pub(super) fn begin() -> Waiting {
        Waiting { since_ns: monotonic_ns(), slept: false }
    }
}

fn die(at: SocketAddr, what: &str) -> ! {
    raw::die(&format!("the memory server at {at}: {what}"))
}

fn nonce() -> [u8; NONCE] {
    let mut nonce = [0; NONCE];
    // SAFETY: the kernel writes so many bytes at most.
    let got = unsafe { libc::getrandom(nonce.as_mut_ptr().cast(), NONCE, 0) };
    if got == NONCE as isize { nonce } else { raw::die("the kernel has no random numbers") }
}

fn connect(server: &MemoryServer) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(server.at), Type::STREAM.cloexec(), Some(Protocol::TCP))?;
    let timeout = Duration::from_millis(server.timeout_ms);
    socket.connect_timeout(&server.at.into(), timeout)?;
    socket.set_tcp_nodelay(true)?;
    socket.set_nonblocking(true)?;
    // A server that gave this program up while it could not be reached says so only when it hears from it. A
    // program that waits for an answer that was lost has nothing to send. The kernel asks for longer than the
    // time that this program itself waits.
    let every = (timeout / (ASKED / 2)).max(SECOND);
    socket
        .set_tcp_keepalive(&TcpKeepalive::new().with_time(SECOND).with_interval(every).with_retries(ASKED))?;
    Ok(socket)
}

impl Link {
    /// Connects, and goes on with the memory of this ticket.
    pub(super) fn open(server: &MemoryServer, ticket: Ticket) -> Link {
        let socket = connect(server).unwrap_or_else(|error| {
            die(server.at, &format!("it can't be reached ({error}). Does incast farmem serve run there?"))
        });
        let spin_ns = std::cell::Cell::new(SPIN_MAX_NS);
        let link = Link { socket, at: server.at, timeout_ms: server.timeout_ms, spin_ns };
        let mut greeting = Greeting::new(server.key, nonce(), ticket);
        link.send_all(&greeting.hello());
        let proof = greeting.prove(&link.receive_all::<CHALLENGE>());
        link.send_all(&proof.unwrap_or_else(|wrong| link.over(&wrong.to_string())));
        match Client::default().handle(&link.receive_all::<HEAD>()) {
            Ok(Coming::Welcome) => {}
            Ok(Coming::Refused(text)) => link.refused(&[], text as usize),
            _ => link.over("it said what it was not asked for"),
        }
        let welcome = greeting.welcomed(&link.receive_all::<WELCOME>());
        if let Err(wrong) = welcome {
            link.over(&wrong.to_string());
        }
        link
    }

    /// Sends what the kernel takes; how much.
    pub(super) fn send(&self, pieces: &[IoSlice<'_>]) -> usize {
        let message = MsgHdr::new().with_buffers(&pieces[..pieces.len().min(PIECES)]);
        match self.socket.sendmsg(&message, sys::tcp::NO_SIGNAL) {
            Ok(sent) => sent,
            Err(error) if is_later(&error) => 0,
            // It may have said why before it went.
            Err(error) => {
                self.expect_nothing();
                self.lost(&error)
            }
        }
    }

    /// Takes what has come; how much.
    pub(super) fn receive(&self, room: &mut [u8]) -> usize {
        if room.is_empty() {
            return 0;
        }
        match (&self.socket).read(room) {
            Ok(0) => self.over("it has closed the connection: what this process had there is lost"),
            Ok(came) => came,
            Err(error) if is_later(&error) => 0,
            Err(error) => self.lost(&error),
        }
    }

    /// Nothing was asked for: if something comes, it says why the server does not go on.
    pub(super) fn expect_nothing(&self) {
        let mut head = [0; HEAD];
        if let Ok(HEAD) = (&self.socket).read(&mut head) {
            match Client::default().handle(&head) {
                Ok(Coming::Refused(text)) => self.refused(&[], text as usize),
                _ => self.over("it said what it was not asked for"),
            }
        }
    }

    /// Between two tries: `progress` says whether the last one brought anything, `sending` whether room to
    /// send is waited for too.
    pub(super) fn wait(&self, waiting: &mut Waiting, progress: bool, sending: bool) {
        let now = monotonic_ns();
        if progress {
            if !waiting.slept {
                self.spin_ns.set((2 * self.spin_ns.get()).clamp(1000, SPIN_MAX_NS));
            }
            *waiting = Waiting { since_ns: now, slept: false };
            return;
        }
        if now < waiting.since_ns + self.spin_ns.get() {
            std::hint::spin_loop();
            return;
        }
        if !waiting.slept {
            self.spin_ns.set(self.spin_ns.get() / 2);
        }
        waiting.slept = true;
        let left_ms = self.patience(waiting);
        let events = libc::POLLIN | if sending { libc::POLLOUT } else { 0 };
        let mut fd = libc::pollfd { fd: self.socket.as_raw_fd(), events, revents: 0 };
        // SAFETY: one descriptor, which is open.
        unsafe { libc::poll(&mut fd, 1, i32::try_from(left_ms).unwrap_or(i32::MAX)) };
    }

    /// How many ms more an answer may take.
    pub(super) fn patience(&self, waiting: &Waiting) -> u64 {
        let now = monotonic_ns();
        let left_ms = (waiting.since_ns / 1_000_000 + self.timeout_ms).saturating_sub(now / 1_000_000);
        if left_ms == 0 {
            self.over(&format!(
                "it has not answered for {} ms (--timeout): what this process had there is lost",
                self.timeout_ms
            ));
        }
        left_ms
    }

    /// For poll(2).
    pub(super) fn socket(&self) -> i32 {
        self.socket.as_raw_fd()
    }

    pub(super) fn send_all(&self, mut bytes: &[u8]) {
        let mut waiting = Waiting::begin();
        while !bytes.is_empty() {
            let sent = self.send(&[IoSlice::new(bytes)]);
            bytes = &bytes[sent..];
            self.wait(&mut waiting, sent > 0, true);
        }
    }

    fn receive_all<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }

    fn fill(&self, bytes: &mut [u8]) {
        let (mut came, mut waiting) = (0, Waiting::begin());
        while came < bytes.len() {
            let more = self.receive(&mut bytes[came..]);
            came += more;
            self.wait(&mut waiting, more > 0, false);
        }
    }

    /// The server says why it does not go on, in a text of so many bytes, of which some have come.
    pub(super) fn refused(&self, came: &[u8], bytes: usize) -> ! {
        let mut text = [0; TEXT_MAX as usize];
        let text = &mut text[..bytes];
        let has = came.len().min(bytes);
        text[..has].copy_from_slice(&came[..has]);
        self.fill(&mut text[has..]);
        self.over(&String::from_utf8_lossy(text))
    }

    fn lost(&self, error: &io::Error) -> ! {
        self.over(&format!("the connection is lost ({error}): what this process had there is lost"))
    }

    /// It can't be gone on with.
    pub(super) fn over(&self, why: &str) -> ! {
        die(self.at, why)
    }
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
