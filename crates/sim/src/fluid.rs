//! Background traffic as a fluid: rates that begin and end at set times (see `fabric::FluidFlow`).

use crate::run::{Control, Sim};
use fabric::{FluidFlow, NodeId, PortId};
use units::{Rate, Time};

/// IP protocol number of UDP.
const UDP: u8 = 17;

/// Fluid from one host to another.
#[derive(Clone, Copy, Debug)]
pub struct FluidSetup {
    /// Its source.
    pub from: u32,
    /// Its destination.
    pub to: u32,
    /// Rate of IP bytes.
    pub rate: Rate,
    /// IP bytes of the packets that it stands for.
    pub packet_bytes: u16,
    /// Port number at both ends: it takes the route that datagrams between these ports would take.
    pub port: u16,
    /// When it begins.
    pub start: Time,
    /// When it ends; without it, with the run.
    pub end: Option<Time>,
}

/// Why fluid can't flow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FluidError {
    /// The hosts are not connected.
    #[error("no way leads there")]
    NoRoute,
    /// A port on its way shares its line among several queues.
    #[error(
        "the port from {0} to {1} has classes or virtual output queues: fluid needs one queue a port, \
         with scheduler fifo and a static or shared buffer, or model packets"
    )]
    ManyQueues(String, String),
    /// A port on its way has no room for it.
    #[error("the port from {0} to {1} would get {2} of fluid in all, its link carries {3}: less is needed")]
    TooMuch(String, String, Rate, Rate),
}

impl Sim {
    /// Lets fluid flow from its start to its end. To be called before the run.
    ///
    /// # Errors
    /// When it can't: no route, several queues at a port, all fluid of a port together at its line rate or
    /// above.
    pub fn add_fluid(&mut self, setup: &FluidSetup) -> Result<(), FluidError> {
        let (from, to) = (NodeId(setup.from), NodeId(setup.to));
        let flow = FluidFlow {
            from,
            to,
            hash: self.net.fabric.flow_hash(from, to, setup.port, setup.port, UDP),
            rate: setup.rate,
            packet_bytes: setup.packet_bytes,
        };
        let (path, wire) = self.net.fabric.fluid_path(&flow).ok_or(FluidError::NoRoute)?;
        for port in path {
            self.check_fluid(port, wire)?;
        }
        let index = self.fluids.len() as u32;
        self.fluids.push(flow);
        self.schedule_control(setup.start, Control::Fluid(index, true));
        if let Some(end) = setup.end {
            self.schedule_control(end, Control::Fluid(index, false));
        }
        Ok(())
    }

    fn check_fluid(&mut self, port: PortId, wire: Rate) -> Result<(), FluidError> {
        let fabric = &self.net.fabric;
        let (a, b) = fabric.ends(port);
        let names = (self.name(a), self.name(b));
        if !fabric.takes_fluid(port) {
            return Err(FluidError::ManyQueues(names.0, names.1));
        }
        let line = fabric.rate(port);
        let planned = self.fluid_rates.entry(port).or_insert(0);
        *planned += wire.as_bps();
        if *planned >= line.as_bps() {
            return Err(FluidError::TooMuch(names.0, names.1, Rate::from_bps(*planned), line));
        }
        Ok(())
    }

    pub(crate) fn on_fluid(&mut self, index: u32, begins: bool) {
        let flow = self.fluids[index as usize];
        if begins {
            self.net.fabric.start_fluid(self.net.now, &flow);
        } else {
            self.net.fabric.stop_fluid(self.net.now, &flow);
        }
    }
}
