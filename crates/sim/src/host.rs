//! A simulated host: its ports, what it listens to, its cores and disk.

use crate::config::HostConfig;
use crate::received::Received;
use crate::records::HostDrops;
use fabric::PortId;
use process::rng;
use rand_pcg::Pcg64;
use std::collections::VecDeque;
use units::{Bytes, Rate, Time};

/// A host's state.
#[derive(Debug)]
pub(crate) struct Host {
    pub config: HostConfig,
    pub up: bool,
    /// Grows at each crash: work begun before belongs to nobody.
    pub life: u32,
    pub first_port: PortId,
    /// By port, from the first on: the loopback is the last.
    nics: Vec<Nic>,
    /// A packet of a host that is not simulated waits there for its turn: the port and its class.
    pub raw_waits: Option<(PortId, u8)>,
    /// (port, process).
    pub bound: Vec<(u16, u32)>,
    pub listening: Vec<(u16, u32)>,
    /// When each core is free.
    pub cores: Vec<Time>,
    /// Since then all cores have computed, if they do now.
    pub busy_since: Time,
    pub received: Received,
    /// What draws how long a packet takes, if that differs.
    pub chance: Option<Box<Pcg64>>,
    pub disk_free: Time,
    /// Speed of cores and disk in millionths of normal.
    pub speed: u64,
    pub core_busy: Time,
    pub disk_busy: Time,
    pub crashes: u64,
    pub drops: HostDrops,
    /// Of endpoints that are gone.
    pub past: Totals,
}

/// A port of a host, at which endpoints take turns.
#[derive(Debug, Default)]
pub(crate) struct Nic {
    /// A flow may send while no more than this waits here.
    limit: Time,
    /// Classes queue apart, for PFC.
    pub has_classes: bool,
    /// Endpoints that have something to send and wait, round robin.
    pub ready: VecDeque<u32>,
    /// It will be called when there is room.
    pub pending: bool,
}

impl Nic {
    pub(crate) fn new(rate: Rate, queue: u64, has_classes: bool) -> Nic {
        let mut nic = Nic { has_classes, ..Nic::default() };
        nic.set_limit(rate, queue);
        nic
    }

    /// The port has this rate, and flows wait while more than `queue` bytes do.
    pub(crate) fn set_limit(&mut self, rate: Rate, queue: u64) {
        self.limit = rate.time_for(Bytes::new(queue));
    }

    /// Whether a flow has to wait when so much is before it.
    pub(crate) fn is_full(&self, backlog: Time) -> bool {
        backlog > self.limit
    }

    /// From this wait on, a flow has to look closer.
    pub(crate) fn threshold(&self) -> Time {
        if self.has_classes { Time::ZERO } else { self.limit.saturating_add(Time::from_ps(1)) }
    }

    /// How long it takes from such a wait until half of the queue is gone.
    pub(crate) fn time_to_half(&self, backlog: Time) -> Time {
        backlog.saturating_sub(Time::from_ps(self.limit.as_ps() / 2))
    }
}

/// What a host's transports and processes were given. Apart from [`Host`], because each packet adds to it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    pub packets: u64,
    pub bytes: u64,
}

impl Taken {
    #[inline(always)]
    pub(crate) fn add(&mut self, bytes: u16) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}

/// A host's transport totals.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub retransmits: u64,
    pub retransmitted_bytes: u64,
    pub timeouts: u64,
}

impl Totals {
    pub(crate) fn add(&mut self, other: &Totals) {
        self.retransmits += other.retransmits;
        self.retransmitted_bytes += other.retransmitted_bytes;
        self.timeouts += other.timeouts;
    }
}

/// Normal [`Host::speed`].
pub(crate) const NORMAL: u64 = 1_000_000;

impl Host {
    /// The host `name` of a run with `seed`.
    pub(crate) fn new(
        (name, seed): (&str, u64),
        config: HostConfig,
        first_port: PortId,
        nics: Vec<Nic>,
    ) -> Host {
        let draws = config.packet_jitter != Time::ZERO;
        let chance = draws.then(|| Box::new(rng::stream(seed, &format!("packets of {name}"))));
        Host {
            up: true,
            life: 0,
            first_port,
            nics,
            raw_waits: None,
            bound: Vec::new(),
            listening: Vec::new(),
            cores: vec![Time::ZERO; config.cores.max(1) as usize],
            busy_since: Time::ZERO,
            received: Received::default(),
            chance,
            disk_free: Time::ZERO,
            speed: NORMAL,
            core_busy: Time::ZERO,
            disk_busy: Time::ZERO,
            crashes: 0,
            drops: HostDrops::default(),
            past: Totals::default(),
            config,
        }
    }

    pub(crate) fn nic(&self, port: PortId) -> &Nic {
        &self.nics[(port.0 - self.first_port.0) as usize]
    }

    pub(crate) fn nic_mut(&mut self, port: PortId) -> &mut Nic {
        &mut self.nics[(port.0 - self.first_port.0) as usize]
    }

    /// Endpoint `id` waits for a turn no more.
    #[cold]
    pub(crate) fn forget_turn(&mut self, id: u32) {
        self.nics.iter_mut().for_each(|nic| nic.ready.retain(|waiting| *waiting != id));
    }

    /// Nobody waits for a turn any more.
    pub(crate) fn forget_turns(&mut self) {
        self.nics.iter_mut().for_each(|nic| nic.ready.clear());
    }

    pub(crate) fn process_bound(&self, port: u16) -> Option<u32> {
        find(&self.bound, port)
    }

    pub(crate) fn process_listening(&self, port: u16) -> Option<u32> {
        find(&self.listening, port)
    }
}

/// The last one registered counts.
fn find(ports: &[(u16, u32)], port: u16) -> Option<u32> {
    ports.iter().rev().find(|(p, _)| *p == port).map(|(_, process)| *process)
}
