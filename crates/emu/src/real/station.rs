//! A host that is a part of this machine: its own network, processes and mounts, and this machine's kernel.

use crate::console::Console;
use crate::error::Error;
use crate::guest::CONSOLE;
use crate::host::{self, Event, Host};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Child, ChildStdin};
use sys::child::exit_of;
use sys::network::{Tun, apart};

/// A host.
#[derive(Debug)]
pub struct Station {
    child: Child,
    exit: OwnedFd,
    input: ChildStdin,
    console: Console,
    /// Its network card.
    pub card: Tun,
    /// It is set up.
    pub ready: bool,
    /// It has ended by itself.
    pub ended: bool,
}

impl Station {
    /// Starts a host in its folder, where its [script](Host::init_here) is, on these processors.
    ///
    /// # Errors
    /// A folder that can't be used, or nobody may make networks here.
    pub fn start(folder: &Path, processors: &[usize]) -> Result<Station, Error> {
        let at = |error| Error::Folder { path: folder.to_owned(), error };
        // What it printed before it crashed stays.
        let kept = File::options().create(true).append(true).open(folder.join(CONSOLE)).map_err(at)?;
        let begin = Host::begin_here(processors);
        let (card, (mut child, printed)) = apart("eth0", || begin.start(folder)).map_err(Error::Apart)?;
        let input = child.stdin.take().expect("it reads from a pipe");
        let exit = exit_of(&child).map_err(Error::Apart)?;
        let console = Console::new(printed, kept);
        Ok(Station { child, exit, input, console, card, ready: false, ended: false })
    }

    /// What becomes readable when it says something, and when it has ended.
    pub fn signs(&self) -> [BorrowedFd<'_>; 2] {
        [self.console.fd(), self.exit.as_fd()]
    }

    /// What it has said since the last call.
    ///
    /// # Errors
    /// A file of what it prints that can't be written.
    pub fn listen(&mut self) -> io::Result<Vec<Event>> {
        let said = self.console.read()?;
        self.ended = !poll(&mut [PollFd::new(&self.exit, PollFlags::IN)], Some(&Default::default()))
            .is_ok_and(|ready| ready == 0);
        let events: Vec<Event> = said.iter().filter_map(|line| host::event(line)).collect();
        self.ready |= events.contains(&Event::Ready);
        Ok(events)
    }

    /// Lets its programs begin: the run has begun at this time of day, in nanoseconds since 1970.
    ///
    /// # Errors
    /// It is gone.
    pub fn begin(&mut self, time_of_day: u64) -> io::Result<()> {
        writeln!(self.input, "{time_of_day}")
    }
}

impl Drop for Station {
    fn drop(&mut self) {
        // Its first program ends with it, and with that all processes of the host.
        kill_process_group(Pid::from_child(&self.child), Signal::KILL).ok();
        self.child.wait().ok();
        // Its last words.
        self.console.read().ok();
    }
}
