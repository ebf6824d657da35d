//! What the hosts of a simulated network that are not simulated have in common, whatever their clock.

use crate::error::Error;
use crate::host::{Event, Host};
use crate::real::Lateness;
use process::HostId;
use sim::{Pause, Sim};
use std::path::Path;
use units::Time;

/// Linux hosts on a simulated network.
pub trait Lab {
    /// Starts hosts that are to be up now, each in its folder within `all`.
    ///
    /// # Errors
    /// A host that does not come up.
    fn start(&mut self, sim: &mut Sim, hosts: &[&Host], all: &Path) -> Result<(), Error>;

    /// Runs up to `events` events of the simulation; hosts go on meanwhile. Comes back earlier when one has
    /// said something ([`Lab::take_events`]) or is missing ([`Lab::take_restarted`]).
    ///
    /// # Errors
    /// A host that can't go on.
    fn run(&mut self, sim: &mut Sim, events: u64) -> Result<Pause, Error>;

    /// What hosts have said since the last call.
    fn take_events(&mut self) -> Vec<(HostId, Event)>;

    /// Hosts that have come back after a crash since the last call: each is to be started again.
    fn take_restarted(&mut self) -> Vec<HostId>;

    /// A host that has ended by itself.
    fn ended(&self) -> Option<HostId>;

    /// Gives a host a packet that comes from nowhere, when that can be without anybody's clock being beyond.
    fn give(&mut self, sim: &mut Sim, host: HostId, packet: &[u8]);

    /// Gives a host a packet that comes from nowhere, and lets it go on without network for `time` at most,
    /// until it says `last`.
    ///
    /// # Errors
    /// A host that can't go on.
    fn tell(
        &mut self,
        sim: &mut Sim,
        host: HostId,
        message: (&[u8], &dyn Fn(Event) -> bool),
        time: Time,
    ) -> Result<(), Error>;

    /// Which Linux the hosts have, if that is known.
    fn linux(&self) -> Option<String>;

    /// How late packets came, where that can be.
    fn lateness(&self) -> Option<Lateness> {
        None
    }
}
