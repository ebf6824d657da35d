//! A simulated host: its NIC, what it listens to, its cores and disk.

use crate::config::HostConfig;
use crate::received::Received;
use crate::records::HostDrops;
use fabric::PortId;
use std::collections::VecDeque;
use units::Time;

/// A host's state.
#[derive(Debug)]
pub(crate) struct Host {
    pub config: HostConfig,
    pub up: bool,
    /// Grows at each crash: work begun before belongs to nobody.
    pub life: u32,
    /// A flow may send while no more than this waits at the NIC.
    pub nic_limit: Time,
    /// Its NIC queues classes apart, for PFC.
    pub has_classes: bool,
    /// Endpoints that have something to send and wait for the NIC, round robin.
    pub ready: VecDeque<u32>,
    pub nic_pending: bool,
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
    pub(crate) fn new(config: HostConfig, nic_limit: Time) -> Host {
        Host {
            up: true,
            life: 0,
            nic_limit,
            has_classes: false,
            ready: VecDeque::new(),
            nic_pending: false,
            raw_waits: None,
            bound: Vec::new(),
            listening: Vec::new(),
            cores: vec![Time::ZERO; config.cores.max(1) as usize],
            busy_since: Time::ZERO,
            received: Received::default(),
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

    /// From this wait at the NIC on, a flow has to look closer.
    pub(crate) fn nic_threshold(&self) -> Time {
        if self.has_classes { Time::ZERO } else { self.nic_limit.saturating_add(Time::from_ps(1)) }
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
