//! A host's settings: network card, cores, disk and TCP.

use process::rng;
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use transport::tcp::{self, Span};
use units::{Problem, Rate, Time};

/// A host's settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostConfig {
    /// Largest IP packet that it sends, in bytes.
    pub mtu: u32,
    /// Bytes in the NIC's queue beyond which flows wait their turn, as Linux's byte queue limits and
    /// small queues make them.
    pub nic_queue: u64,
    /// Cores, at least 1.
    pub cores: u32,
    /// Disk rate, reads and writes together.
    pub disk: Rate,
    /// What a packet that comes takes of a core before its transport or process has it.
    #[serde(default)]
    pub packet_cost: Time,
    /// Each packet is late by a random time up to this, behind those before it.
    #[serde(default)]
    pub packet_jitter: Time,
    /// Zero: packets go ahead of computations. Otherwise they wait, while all cores compute, for the end of a
    /// time slice of this length.
    #[serde(default)]
    pub time_slice: Time,
    /// Settings of the kernel, where the host is emulated.
    #[serde(default)]
    pub kernel: Kernel,
    /// TCP's settings; `mss` is set from the MTU. Hosts alike share them.
    pub tcp: Arc<tcp::Config>,
}

/// Settings of the kernel of a host that is not simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// Jobs of all kinds run on it as on a real host.
    pub emulated: bool,
    /// Memory in bytes.
    pub memory: u64,
    /// The network card interrupts no sooner than this after the last time.
    pub moderation: Time,
    /// Packets that the network card keeps between two interrupts at most.
    #[serde(default = "receive_ring")]
    pub receive_ring: u32,
    /// TCP hands its network card several segments at a time.
    pub gso: bool,
    /// The network card cuts them (TCP segmentation offload).
    #[serde(default)]
    pub tso: bool,
    /// Speed of its processor, as a multiple of this machine's; none: computing takes no time.
    #[serde(default)]
    pub cpu_rate: Option<f64>,
    /// It computes for so long of real time without waiting at most.
    #[serde(default = "patience")]
    pub patience: Time,
    /// What sysctl(8) is to set, beyond what follows from the host's other settings.
    pub sysctl: BTreeMap<String, String>,
}

/// The greatest ring of the kernel's driver.
fn receive_ring() -> u32 {
    256
}

fn patience() -> Time {
    Time::from_secs(60)
}

impl Default for Kernel {
    /// A simulated host; a kernel with 64 MiB, interrupted for each packet.
    fn default() -> Kernel {
        Kernel {
            emulated: false,
            memory: 64 << 20,
            moderation: Time::ZERO,
            receive_ring: receive_ring(),
            gso: true,
            tso: false,
            cpu_rate: None,
            patience: patience(),
            sysctl: BTreeMap::new(),
        }
    }
}

/// Cores of a host at most.
const CORES_MAX: u32 = 4096;
/// What a packet takes at a host, a time slice, and the time between interrupts, at most.
const PACKET_WAIT_MAX: Time = Time::from_secs(1);
/// IPv4 and TCP headers, without options.
const TCP_HEADERS: u32 = 40;
/// The timestamps option, padded (RFC 7323).
const TIMESTAMPS: u32 = 12;

impl Default for HostConfig {
    /// A host of eight cores whose disk reads and writes 2 GB/s.
    fn default() -> HostConfig {
        HostConfig {
            mtu: 1500,
            nic_queue: 64_000,
            cores: 8,
            disk: Rate::from_gbps(16),
            packet_cost: Time::ZERO,
            packet_jitter: Time::ZERO,
            time_slice: Time::ZERO,
            kernel: Kernel::default(),
            tcp: Arc::default(),
        }
    }
}

impl HostConfig {
    /// The settings of the host `name`, with the times drawn that differ from host to host.
    ///
    /// # Errors
    /// The first setting that can't be as it is.
    pub fn of_host(&self, name: &str, seed: u64) -> Result<HostConfig, Problem> {
        self.check()?;
        let mut own = self.clone();
        let tcp = Arc::make_mut(&mut own.tcp);
        draw(tcp, name, seed).and_then(|()| tcp.check()).map_err(|problem| problem.within("tcp"))?;
        tcp.rack &= tcp.sack;
        tcp.tail_loss_probe &= tcp.rack;
        Ok(own)
    }

    fn check(&self) -> Result<(), Problem> {
        if !(68..=65_535).contains(&self.mtu) {
            return Err(Problem::new("mtu", format!("{} B: 68 B to 65535 B are allowed", self.mtu)));
        }
        if !(1..=CORES_MAX).contains(&self.cores) {
            return Err(Problem::new("cores", format!("{}: 1 to {CORES_MAX} are allowed", self.cores)));
        }
        if self.disk.as_bps() < 1_000 {
            return Err(Problem::new("disk", format!("{}: at least 1 kbps", self.disk)));
        }
        let short = |field: &'static str, time: Time| match time {
            time if time > PACKET_WAIT_MAX => {
                Err(Problem::new(field, format!("{time}: at most {PACKET_WAIT_MAX}")))
            }
            _ => Ok(()),
        };
        short("packet_cost", self.packet_cost)?;
        short("packet_jitter", self.packet_jitter)?;
        short("time_slice", self.time_slice)?;
        let kernel = |problem: Problem| problem.within("kernel");
        short("moderation", self.kernel.moderation).map_err(kernel)?;
        match self.kernel.receive_ring {
            packets if (1..=receive_ring()).contains(&packets) => Ok(()),
            packets => Err(kernel(Problem::new("receive_ring", format!("{packets}: 1 to 256 are allowed")))),
        }
    }

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

/// Draws the host's own retransmission timeouts, and the phase of its clock.
fn draw(tcp: &mut tcp::Config, host: &str, seed: u64) -> Result<(), Problem> {
    let mut draw = rng::stream(seed, &format!("retransmission timers of {host}"));
    let mut time = |span: Span, field: &'static str| match span {
        Span::Fixed(time) => Ok(time),
        Span::Uniform(from, to) if from <= to => {
            Ok(Time::from_ps(draw.random_range(from.as_ps()..=to.as_ps())))
        }
        Span::Uniform(from, to) => {
            Err(Problem::new(field, format!("from {from} to {to}: the first is the smaller")))
        }
        Span::AboveMin(_) => Err(Problem::new(field, "only rto_max can be so much above rto_min")),
    };
    let (initial, min) = (time(tcp.rto_initial, "rto_initial")?, time(tcp.rto_min, "rto_min")?);
    let max = match tcp.rto_max {
        Span::AboveMin(more) => min.saturating_add(more),
        other => time(other, "rto_max")?,
    };
    (tcp.rto_initial, tcp.rto_min, tcp.rto_max) = (initial.into(), min.into(), max.into());
    tcp.tick_phase = match tcp.clock_tick.as_ps() {
        0 => Time::ZERO,
        ps => Time::from_ps(rng::stream(seed, &format!("clock of {host}")).random_range(0..ps)),
    };
    Ok(())
}
