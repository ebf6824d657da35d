//! A simulated host: its NIC, what it listens to, its cores and disk.

use crate::receive::Received;
use std::collections::VecDeque;
use std::sync::Arc;
use transport::tcp;
use units::{Rate, Time};

/// A host's settings.
#[derive(Clone, Debug)]
pub struct HostConfig {
    /// Largest IP packet that it sends, in bytes.
    pub mtu: u32,
    /// Bytes in the NIC's queue beyond which flows wait their turn, as Linux's byte queue limits and
    /// small queues make them.
    pub nic_queue: u64,
    /// Cores, at least 1.
    pub cores: u32,
    /// Disk rate.
    pub disk: Rate,
    /// What a packet that comes takes of a core before its transport or process has it.
    pub packet_cost: Time,
    /// Zero: packets go ahead of computations. Otherwise they wait, while all cores compute, for the end of a time slice
    /// of this length.
    pub time_slice: Time,
    /// TCP's settings; `mss` is set from the MTU. Hosts alike share them.
    pub tcp: Arc<tcp::Config>,
}

/// IPv4 and TCP headers, without options.
const TCP_HEADERS: u32 = 40;
/// The timestamps option, padded (RFC 7323).
const TIMESTAMPS: u32 = 12;

impl HostConfig {
    /// Sets the largest segment that fits the MTU with the options that every segment carries.
    pub(crate) fn with_mss(mut self) -> HostConfig {
        let options = if self.tcp.timestamps { TIMESTAMPS } else { 0 };
        Arc::make_mut(&mut self.tcp).mss = self.advertised_mss().saturating_sub(options).max(1);
        self
    }

    /// What its MSS option says: options are not taken off there (RFC 9293, 3.7.1).
    pub(crate) fn advertised_mss(&self) -> u32 {
        self.mtu.saturating_sub(TCP_HEADERS)
    }

    /// Takes over the settings of `other` where they are alike.
    pub(crate) fn share(&mut self, other: &HostConfig) {
        if self.tcp == other.tcp {
            self.tcp = Arc::clone(&other.tcp);
        }
    }
}

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
    /// Of endpoints that are gone.
    pub past: Totals,
}

/// A host's transport totals.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub retransmits: u64,
    pub retransmitted_bytes: u64,
    pub timeouts: u64,
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
