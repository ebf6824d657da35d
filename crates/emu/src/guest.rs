//! A guest: Linux as a program, whose clock and network card are ours.

use crate::calendar::protocol::{self, Op};
use crate::calendar::shared::{GUEST, Page};
use crate::console::Console;
use crate::error::Error;
use crate::meter::Meter;
use crate::patience::Patience;
use crate::processor::Processor;
use crate::vhost::device::{Device, RECEIVE, Said, TRANSMIT};
use crate::vhost::wire;
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;
use sys::child::Begin;

/// The sockets that a guest opens, in its own folder: their names are the same for all guests, because the
/// kernel mixes its command line into its random numbers.
pub const TIME_SOCKET: &str = "time";
/// See [`TIME_SOCKET`].
pub const NET_SOCKET: &str = "net";
/// The file of all that a guest prints, in its folder.
pub const CONSOLE: &str = "console";

/// The folder of what a kernel notes of itself, in its folder; it goes with the guest, as the sockets do.
pub const NOTES: &str = "notes";

/// A guest boots for so long by its clock, in nanoseconds, and a run begins when all clocks show that.
pub const BOOT: u64 = 1_000_000_000;
/// The time of day when all runs begin, in nanoseconds since 1970: 1 January 2020.
pub const TIME_OF_DAY: u64 = 1_577_836_800_000_000_000;

/// How a guest's turn ended.
#[derive(Debug)]
pub enum Turn {
    /// It waits, for a time or for ever. It may have something to send, which it had by its clock.
    Waits {
        /// When it wants to run next.
        due: Option<u64>,
        /// It has something to send.
        sends: bool,
    },
    /// It has something to send, and goes on once the message is [answered](Guest::answer): so does a guest
    /// whose computing takes time.
    Sends(wire::Message),
    /// Its kernel has ended.
    Ended,
}

/// A network card.
#[derive(Clone, Copy, Debug)]
pub struct Card {
    /// The address of its network card.
    pub mac: [u8; 6],
    /// The longest IP packet that it sends, in bytes.
    pub mtu: u16,
    /// Nanoseconds between two interrupts, at least.
    pub moderation: u64,
    /// Packets that it keeps between two interrupts at most.
    pub receive_ring: u32,
    /// It cuts segments, and fills in checksums.
    pub offloads: bool,
}

/// A running guest. All times are by the clock that all guests of a run share, in nanoseconds.
#[derive(Debug)]
pub struct Guest {
    /// As the topology names it.
    pub name: String,
    folder: PathBuf,
    /// When it began to boot.
    begun: u64,
    child: Child,
    exit: OwnedFd,
    time: UnixStream,
    page: Page,
    net: UnixListener,
    console: Console,
    /// What identifies its network card, and how that behaves.
    pub card: Card,
    /// The card, once it has opened it.
    pub device: Option<Device>,
    /// Its processor, if that has a [speed](Guest::charge).
    pub processor: Option<Processor>,
    /// It runs for so long without waiting at most.
    patience: Patience,
    /// What its first program has said since it was last [asked](Guest::said).
    said: Vec<String>,
}

impl Guest {
    /// Starts a guest in its folder, to be up when all clocks show `up`. It stands still until it
    /// [boots](Guest::boot).
    ///
    /// # Errors
    /// A folder without room for sockets, or a kernel that does not start or knows no time travel.
    pub fn start(
        (name, up): (&str, u64),
        begin: &Begin,
        folder: &Path,
        card: Card,
        patience: Patience,
    ) -> Result<Guest, Error> {
        let at = |error| Error::Folder { path: folder.to_owned(), error };
        let listener = listen(folder, TIME_SOCKET).map_err(at)?;
        let net = listen(folder, NET_SOCKET).map_err(at)?;
        let begun = up - BOOT;
        // What it printed before it crashed stays.
        let kept = File::options().create(true).append(true).open(folder.join(CONSOLE)).map_err(at)?;
        let (child, printed) = begin.start(folder).map_err(Error::Start)?;
        let child = Ends(Some(child));
        let broken = |error| Error::Broken { name: name.to_owned(), error };
        let exit = child.exit().map_err(Error::Start)?;
        let mut console = Console::new(printed, kept);
        let ready = patience.wait([listener.as_fd(), exit.as_fd()]).map_err(|error| {
            if error.kind() == io::ErrorKind::ConnectionAborted { Error::Stopped } else { broken(error) }
        })?;
        if !ready[0] {
            console.read().ok();
            let (name, said) = (name.to_owned(), std::fs::read(folder.join(CONSOLE)).map_err(at)?);
            // What the C library says of a call that is refused.
            let may_not_trace = said.windows(8).any(|word| word == b"ptrace: ");
            return Err(if may_not_trace { Error::NoPtrace { name } } else { Error::NoTimeTravel { name } });
        }
        let mut time = accept(&listener, patience.limit).map_err(broken)?;
        let started = protocol::receive(&mut time).map_err(broken)?;
        if started.op != Op::Start {
            return Err(broken(io::ErrorKind::InvalidData.into()));
        }
        let page = Page::new(begun).map_err(Error::Start)?;
        page.let_send_later(true);
        // The second descriptor would be for a log that no kernel writes yet.
        let fds = [page.file().as_fd(), page.file().as_fd()];
        let answer = protocol::Message { op: Op::Ack, seq: started.seq, time: GUEST.into() };
        protocol::send(&time, answer, &fds).map_err(broken)?;
        Ok(Guest {
            name: name.to_owned(),
            folder: folder.to_owned(),
            begun,
            child: child.keep(),
            exit,
            time,
            page,
            net,
            console,
            device: None,
            processor: None,
            card,
            patience,
            said: Vec::new(),
        })
    }

    /// Gives its processor a speed, as a multiple of this machine's: what it computes takes time.
    ///
    /// # Errors
    /// Processor time can't be counted here.
    pub fn charge(&mut self, rate: f64) -> Result<(), Error> {
        self.page.let_send_later(false);
        self.processor = Some(Processor::new(Meter::of(self.child.id()).map_err(Error::Meter)?, rate));
        Ok(())
    }

    /// Lets it boot: it runs alone until it is to be up; when it wants to run next.
    ///
    /// # Errors
    /// A guest that ends before.
    pub fn boot(&mut self) -> Result<Option<u64>, Error> {
        let due = self.settle()?;
        self.alone(due, self.begun + BOOT)
    }

    /// Lets it go on alone, from what it waits for until its clock shows `end`; when it wants to run next.
    ///
    /// # Errors
    /// A guest that ends before.
    pub fn alone(&mut self, mut due: Option<u64>, end: u64) -> Result<Option<u64>, Error> {
        while let Some(at) = due.filter(|at| *at < end) {
            self.wake(at, at)?;
            due = self.settle()?;
        }
        Ok(due)
    }

    /// Lets it run until it waits; what it says to the network is lost.
    fn settle(&mut self) -> Result<Option<u64>, Error> {
        loop {
            match self.turn()? {
                Turn::Waits { due, sends } => {
                    if sends {
                        self.lose()?;
                    }
                    return Ok(due);
                }
                Turn::Sends(message) => {
                    self.lose()?;
                    self.answer(&message, self.page.now())?;
                }
                Turn::Ended => return Err(Error::Boot { name: self.name.clone() }),
            }
        }
    }

    /// Loses what it has to send.
    fn lose(&mut self) -> Result<(), Error> {
        let Some(device) = &mut self.device else { return Ok(()) };
        while let Some(taken) = device.take().map_err(|wrong| damaged(&self.name, wrong))? {
            device.sent(taken.head).map_err(|wrong| damaged(&self.name, wrong))?;
        }
        Ok(())
    }

    /// Lets it go on at `now`, which it had waited for. It may move its clock on as long as it is before
    /// `free_until`.
    ///
    /// # Errors
    /// A guest that is gone.
    pub fn wake(&mut self, now: u64, free_until: u64) -> Result<(), Error> {
        // All that happens at this nanosecond is a turn.
        self.page.run(now, free_until.max(now + 1));
        // Its own clock began with it. A time that it asked for may be any.
        let run = protocol::Message { op: Op::Run, seq: 0, time: now.saturating_sub(self.begun) };
        protocol::send(&self.time, run, &[]).map_err(|error| self.broken(error))
    }

    /// Lets it run until it waits, or has something to send.
    ///
    /// # Errors
    /// A guest that says what can't be meant, or that neither waits nor ends.
    pub fn turn(&mut self) -> Result<Turn, Error> {
        self.listen().map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
                Error::Spins { name: self.name.clone(), patience: self.patience.limit }
            }
            io::ErrorKind::ConnectionAborted => Error::Stopped,
            _ => self.broken(error),
        })
    }

    fn listen(&mut self) -> io::Result<Turn> {
        loop {
            let net = self.device.as_ref().map_or(self.net.as_fd(), |device| device.socket().as_fd());
            // A console that is over is always readable.
            let console = if self.console.over { self.exit.as_fd() } else { self.console.fd() };
            let [time, net, exit, printed] =
                self.patience.wait([self.time.as_fd(), net, self.exit.as_fd(), console])?;
            if printed {
                let said = self.console.read()?;
                self.said.extend(said);
            }
            let turn = match (time, net, exit) {
                (_, true, _) => self.hear(),
                (true, _, _) => self.answer_time(),
                (_, _, true) => return Ok(Turn::Ended),
                _ => Ok(None),
            };
            match turn {
                Ok(None) => {}
                Ok(Some(turn)) => return Ok(turn),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Turn::Ended),
                Err(error) => return Err(error),
            }
        }
    }

    /// Answers what it asks its calendar.
    fn answer_time(&mut self) -> io::Result<Option<Turn>> {
        let message = protocol::receive(&mut self.time)?;
        let time = match message.op {
            Op::Wait => {
                let sends = self.page.take_filled(TRANSMIT as u32);
                return Ok(Some(Turn::Waits { due: self.request(), sends }));
            }
            Op::Get => self.page.now().saturating_sub(self.begun),
            Op::GetTimeOfDay => TIME_OF_DAY - BOOT + self.begun,
            _ => 0,
        };
        protocol::send(&self.time, protocol::Message { op: Op::Ack, seq: message.seq, time }, &[])?;
        Ok(None)
    }

    /// Reads from its network card; what it sends is for our caller.
    fn hear(&mut self) -> io::Result<Option<Turn>> {
        let Some(device) = &mut self.device else {
            let socket = accept(&self.net, self.patience.limit)?;
            self.device = Some(Device::new(socket, self.card.mac, self.card.mtu, self.card.offloads));
            return Ok(None);
        };
        let (message, said) = device.receive()?;
        if said == Said::Transmit {
            return Ok(Some(Turn::Sends(message)));
        }
        device.answer(&message)?;
        Ok(None)
    }

    /// When it wants to run next.
    fn request(&self) -> Option<u64> {
        // Those that sleep for ever ask for the end of time.
        self.page.request().filter(|time| *time < i64::MAX as u64)
    }

    /// What its first program has said since the last call.
    pub fn said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.said)
    }

    /// Its clock, while it runs.
    pub fn now(&self) -> u64 {
        self.page.now()
    }

    /// Answers what [`Turn::Sends`] said; from now on its clock is free until another time.
    ///
    /// # Errors
    /// A guest that is gone.
    pub fn answer(&mut self, message: &wire::Message, free_until: u64) -> Result<(), Error> {
        self.page.limit(free_until);
        match self.device.as_mut().map(|device| device.answer(message)) {
            Some(Err(error)) => Err(self.broken(error)),
            _ => Ok(()),
        }
    }

    /// Interrupts it when it runs next, for packets that it has received, or for those that have left.
    pub fn interrupt(&self, received: bool) {
        self.page.call(if received { RECEIVE } else { TRANSMIT } as u32);
    }

    fn broken(&self, error: io::Error) -> Error {
        Error::Broken { name: self.name.clone(), error }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        end(&mut self.child);
        // Its last words: why its kernel could not go on.
        self.console.read().ok();
        // What can't be removed is in the run's own folder, and the next run there removes it.
        std::fs::remove_dir_all(self.folder.join(NOTES)).ok();
        for socket in [TIME_SOCKET, NET_SOCKET] {
            std::fs::remove_file(self.folder.join(socket)).ok();
        }
    }
}

/// Of a queue that can't be.
pub(crate) fn damaged(name: &str, wrong: crate::vhost::ring::Wrong) -> Error {
    Error::Queue { name: name.to_owned(), wrong }
}

/// A process that ends with this value.
struct Ends(Option<Child>);

impl Ends {
    fn exit(&self) -> io::Result<OwnedFd> {
        sys::child::exit_of(self.0.as_ref().expect("it is kept no more than once"))
    }

    fn keep(mut self) -> Child {
        self.0.take().expect("it is kept no more than once")
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.as_mut().into_iter().for_each(end);
    }
}

/// Kills a guest's kernel and its programs, which are processes of its group.
fn end(child: &mut Child) {
    // It may have ended already.
    kill_process_group(Pid::from_child(child), Signal::KILL).ok();
    child.wait().ok();
}

/// A socket in a folder, however long the folder's path is: a socket's may have 107 bytes.
fn listen(folder: &Path, socket: &str) -> io::Result<UnixListener> {
    let folder = File::open(folder)?;
    UnixListener::bind(format!("/proc/self/fd/{}/{socket}", folder.as_raw_fd()))
}

/// A connection on which nobody is waited for longer than `patience`.
fn accept(listener: &UnixListener, patience: Duration) -> io::Result<UnixStream> {
    let (socket, _) = listener.accept()?;
    socket.set_read_timeout(Some(patience))?;
    socket.set_write_timeout(Some(patience))?;
    Ok(socket)
}
