//! A memory server: keeps the pages of programs that run on other hosts ([`farmem::wire`]), within bounds.
//!
//! One thread, one epoll(7). A program that waits for a page waits for this thread too. As long as the last
//! request is younger than `SPIN_NS`, the thread polls for the next one instead of sleeping, because being
//! woken takes longer than an answer. Not here: the meaning of messages, and the stored pages (`farmem`).
//!
//! A program that proves that it knows the key learns how much memory is free:
//!
//! ```
//! use farmem::wire::{CHALLENGE, HEAD, Key, Ticket, WELCOME, client::Greeting};
//! use memserver::{Server, Settings};
//! use rustix::process::{Signal, getpid, kill_process};
//! use std::io::{Read, Write};
//! use std::{error::Error, net::SocketAddr, net::TcpStream, thread, time::Duration};
//!
//! fn free_memory(server: SocketAddr, key: Key) -> Result<u64, Box<dyn Error + Send + Sync>> {
//!     let mut stream = TcpStream::connect(server)?;
//!     let mut greeting = Greeting::new(key, [3; 16], Ticket::NEW);
//!     let (mut challenge, mut answer) = ([0; CHALLENGE], [0; HEAD + WELCOME]);
//!     stream.write_all(&greeting.hello())?;
//!     stream.read_exact(&mut challenge)?;
//!     stream.write_all(&greeting.prove(&challenge)?)?;
//!     stream.read_exact(&mut answer)?;
//!     Ok(greeting.welcomed(answer.last_chunk().expect("it follows the head"))?.free)
//! }
//!
//! let (key, memory, timeout) = (Key([1; 16]), 1 << 20, Duration::from_secs(60));
//! let settings = Settings { memory, client_memory: memory, connections: 4, timeout };
//! let server = Server::listen("127.0.0.1:0".parse()?, key, [2; 16], settings)?;
//! let at = server.address()?;
//! // The program asks, and its signal then ends the server.
//! let program = thread::spawn(move || (free_memory(at, key), kill_process(getpid(), Signal::TERM)));
//! server.run(&mut |line| println!("{line}"))?;
//! let (free, _) = program.join().expect("no panic");
//! assert_eq!(free?, memory);
//! # Ok::<(), Box<dyn Error + Send + Sync>>(())
//! ```

mod connection;
mod door;

use connection::{Connection, Turn};
use door::Door;
use farmem::wire::Key;
use farmem::wire::session::House;
use socket2::Socket;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use sys::cpu::monotonic_ns;
use sys::epoll::Epoll;
use sys::signal::Requests;
use units::Time;

/// How long after a request the next one is looked for without sleeping.
const SPIN_NS: u64 = 100_000;
/// How often the one that asked last is looked after before all others are.
const LOOKS: u32 = 16;
/// How often what has a time is looked after.
const TICK: Duration = Duration::from_secs(1);
/// Bytes that are read at once.
const INPUT: usize = 256 << 10;

const LISTENER: u64 = 0;
const SIGNALS: u64 = 1;

/// What a server may use.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bytes for pages.
    pub memory: u64,
    /// How many of them one client may have.
    pub client_memory: u64,
    /// Connections at a time.
    pub connections: usize,
    /// A client that can't be reached for so long is gone, and its memory is free. At least 1 s.
    pub timeout: Duration,
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address can't be had.
    #[error("{0}: {1}")]
    Listen(SocketAddr, io::Error),
    /// The system fails.
    #[error("{0}")]
    System(#[from] io::Error),
}

/// A server that listens.
pub struct Server {
    door: Door,
    house: House,
    settings: Settings,
    epoll: Epoll,
    signals: Requests,
    connections: BTreeMap<u64, Connection>,
    next: u64,
    /// Connections that may have more to read: nothing tells so again.
    busy: Vec<u64>,
    /// The connection that asked last, and when.
    last: Option<(u64, u64)>,
    input: Box<[u8]>,
}

impl Server {
    /// Listens at an address; `secret` is random, and another one each time. Requests to end count from here
    /// on: whoever learns the address may ask for it at once.
    ///
    /// # Errors
    /// When the address can't be had.
    pub fn listen(at: SocketAddr, key: Key, secret: [u8; 16], settings: Settings) -> Result<Server, Error> {
        let door = Door::open(at, settings.timeout).map_err(|error| Error::Listen(at, error))?;
        let epoll = Epoll::new()?;
        epoll.add(&door, LISTENER)?;
        let signals = Requests::catch()?;
        epoll.add(&signals, SIGNALS)?;
        Ok(Server {
            door,
            house: House::new(key, secret, settings.memory, settings.client_memory),
            settings,
            epoll,
            signals,
            connections: BTreeMap::new(),
            next: SIGNALS + 1,
            busy: Vec::new(),
            last: None,
            input: vec![0; INPUT].into_boxed_slice(),
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// None that a correct program sees.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.door.address()
    }

    /// Serves until a signal asks it to end (SIGINT, SIGTERM), and tells what happens in lines of text.
    ///
    /// # Errors
    /// When the system fails.
    pub fn run(mut self, tell: &mut dyn FnMut(&str)) -> Result<(), Error> {
        let mut ticked = 0;
        loop {
            let now = monotonic_ns();
            let asked = self.last.filter(|(_, when)| now < when + SPIN_NS);
            if let Some((client, _)) = asked {
                (0..LOOKS).for_each(|_| self.serve(client, now, tell));
            }
            for client in std::mem::take(&mut self.busy) {
                self.serve(client, now, tell);
            }
            let sleeps = asked.is_none() && self.busy.is_empty();
            if self.look(if sleeps { TICK } else { Duration::ZERO }, now, tell)? && self.signals.take() {
                return Ok(());
            }
            if now - ticked > TICK.as_nanos() as u64 {
                ticked = now;
                self.tick(now, tell);
            }
        }
    }

    /// Waits for at most `timeout`, and looks after all who are ready; whether a signal has come.
    fn look(&mut self, timeout: Duration, now: u64, tell: &mut dyn FnMut(&str)) -> io::Result<bool> {
        let ready: Vec<u64> = self.epoll.wait(Some(timeout))?.map(|ready| ready.token).collect();
        let now = if ready.is_empty() { now } else { monotonic_ns() };
        for token in &ready {
            match *token {
                LISTENER => self.accept(now, tell),
                SIGNALS => {}
                client => self.serve(client, now, tell),
            }
        }
        Ok(ready.contains(&SIGNALS))
    }

    fn accept(&mut self, now: u64, tell: &mut dyn FnMut(&str)) {
        while let Some((socket, peer)) = self.door.next() {
            if self.connections.len() >= self.settings.connections {
                tell(&format!("{peer}: refused, {} connections are all", self.settings.connections));
                continue;
            }
            if let Err(error) = self.enter(socket, peer, now) {
                tell(&format!("{peer}: {error}"));
            }
        }
    }

    fn enter(&mut self, socket: Socket, peer: SocketAddr, now: u64) -> io::Result<()> {
        self.epoll.add(&socket, self.next)?;
        self.connections.insert(self.next, Connection::new(socket, peer, now));
        self.next += 1;
        Ok(())
    }

    fn serve(&mut self, client: u64, now: u64, tell: &mut dyn FnMut(&str)) {
        let Some(connection) = self.connections.get_mut(&client) else { return };
        let was_known = connection.is_known();
        match connection.turn(&mut self.house, Time::from_ns(now), &mut self.input) {
            Turn::Idle => {}
            done @ (Turn::Served | Turn::More) => {
                self.last = Some((client, now));
                if matches!(done, Turn::More) && !self.busy.contains(&client) {
                    self.busy.push(client);
                }
                if !was_known && connection.is_known() {
                    tell(&format!("{}: served", connection.peer()));
                }
            }
            Turn::Over(why) => {
                tell(&format!("{}: {why}", connection.peer()));
                self.leave(client);
            }
        }
    }

    fn leave(&mut self, client: u64) {
        self.connections.remove(&client);
        self.last = self.last.filter(|(last, _)| *last != client);
    }

    fn tick(&mut self, now: u64, tell: &mut dyn FnMut(&str)) {
        self.house.tick(Time::from_ns(now));
        let late = self.connections.iter().filter(|(_, each)| each.is_late(now));
        for client in late.map(|(client, _)| *client).collect::<Vec<_>>() {
            if let Some(connection) = self.connections.get(&client) {
                tell(&format!("{}: {}", connection.peer(), connection.end(&io::ErrorKind::TimedOut.into())));
            }
            self.leave(client);
        }
    }
}
