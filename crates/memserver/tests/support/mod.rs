//! A server in a thread of its own, and a client that speaks the protocol over the loopback.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use farmem::wire::client::{Client, Coming, Greeting};
use farmem::wire::{CHALLENGE, HEAD, Key, LENGTH, Lengths, PAGE, TICKET, Ticket, WELCOME, lengths};
use memserver::{Error, Server, Settings};
use socket2::{Domain, Socket, Type};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;
use std::time::Duration;

pub const KEY: Key = Key(*b"0123456789abcdef");

/// Longer than any answer takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server that runs.
pub struct Running {
    pub at: SocketAddr,
    lines: Receiver<String>,
    pub thread: JoinHandle<Result<(), Error>>,
}

impl Running {
    /// With memory for so many pages, of which a client may have some.
    pub fn with(pages: u64, each: u64, connections: usize) -> Running {
        let (memory, client_memory) = (pages * PAGE as u64, each * PAGE as u64);
        let settings = Settings { memory, client_memory, connections, timeout: PATIENCE };
        let ((found, at), (tell, lines)) = (mpsc::channel(), mpsc::channel());
        let thread = std::thread::spawn(move || {
            let at = "127.0.0.1:0".parse().expect("an address");
            let server = Server::listen(at, KEY, [9; 16], settings)?;
            found.send(server.address()?).expect("the test waits for it");
            server.run(&mut |line| drop(tell.send(line.to_owned())))
        });
        Running { at: at.recv().expect("it listens"), lines, thread }
    }

    /// With room for all.
    pub fn large() -> Running {
        Running::with(1 << 16, 1 << 16, 64)
    }

    /// The next line that ends so.
    pub fn says(&self, end: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("it never said: {end}"));
            if line.ends_with(end) {
                return line;
            }
        }
    }
}

/// A connection that nothing was said on.
pub fn connect(at: SocketAddr) -> Socket {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.connect(&at.into()).expect("the server listens");
    socket.set_tcp_nodelay(true).expect("it can be set");
    socket.set_read_timeout(Some(PATIENCE)).expect("it can be set");
    socket
}

/// All that comes until the server closes.
pub fn rest(socket: &Socket) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut socket = socket;
    socket.read_to_end(&mut bytes).map(|_| bytes)
}

/// A client that the server knows.
pub struct Program {
    pub socket: Socket,
    pub client: Client,
}

impl Program {
    pub fn new(at: SocketAddr) -> Program {
        Program::with(at, KEY, Ticket::NEW).expect("the server has room")
    }

    /// Or why the server refuses it.
    pub fn with(at: SocketAddr, key: Key, ticket: Ticket) -> Result<Program, String> {
        let mut program = Program { socket: connect(at), client: Client::default() };
        let mut greeting = Greeting::new(key, [3; 16], ticket);
        program.send(&greeting.hello());
        let proof = greeting.prove(&program.take::<CHALLENGE>()).expect("a challenge");
        program.send(&proof);
        let head = program.take::<HEAD>();
        match program.client.handle(&head).expect("a head") {
            Coming::Welcome => {
                greeting.welcomed(&program.take::<WELCOME>()).expect("it knows the key");
                Ok(program)
            }
            _ => Err(program.refusal(&head)),
        }
    }

    pub fn send(&mut self, bytes: &[u8]) {
        (&self.socket).write_all(bytes).expect("it is connected");
    }

    pub fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        (&self.socket).read_exact(&mut bytes).expect("as much comes");
        bytes
    }

    /// The server says that it does not go on; why.
    pub fn refusal(&mut self, head: &[u8; HEAD]) -> String {
        assert!(Client::is_refused(head), "{head:?}");
        String::from_utf8(rest(&self.socket).expect("the server closes")).expect("text")
    }

    pub fn write(&mut self, page: u64, pages: &[&[u8]]) {
        let mut message = self.client.write(page, pages.len() as u32).to_vec();
        lengths::put(pages.iter().map(|page| page.len()), &mut message);
        pages.iter().for_each(|page| message.extend(*page));
        self.send(&message);
    }

    /// Or why they don't come.
    pub fn read(&mut self, page: u64, count: u32) -> Result<Vec<Vec<u8>>, String> {
        let asked = self.client.read(page, count);
        self.send(&asked);
        self.come()
    }

    /// The pages that were asked for first.
    pub fn come(&mut self) -> Result<Vec<Vec<u8>>, String> {
        let head = self.take::<HEAD>();
        let Coming::Pages { count, .. } = self.client.handle(&head).expect("a head") else {
            return Err(self.refusal(&head));
        };
        let mut told = vec![0; count as usize * LENGTH];
        (&self.socket).read_exact(&mut told).expect("the lengths come");
        let mut pages = Vec::new();
        for length in Lengths::read(&told).expect("lengths").iter() {
            let mut page = vec![0; length];
            (&self.socket).read_exact(&mut page).expect("the page comes");
            pages.push(page);
        }
        Ok(pages)
    }

    pub fn share(&mut self) -> Ticket {
        let asked = self.client.share();
        self.send(&asked);
        let head = self.take::<HEAD>();
        assert_eq!(self.client.handle(&head), Ok(Coming::Ticket));
        Ticket(self.take::<TICKET>())
    }
}
