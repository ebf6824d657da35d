//! Priority-based flow control, the receiving side: what a switch holds per ingress port and class, and
//! when it asks the peer to pause.
//!
//! Source: IEEE 802.1Qbb (802.1Q clause 36). The standard leaves thresholds to the switch; these are those of
//! shared-memory switches as SONiC sets them (`BUFFER_PROFILE` of a lossless priority group): an ingress
//! group takes shared memory up to its XOFF threshold, then headroom for what is still on its way, and
//! frees headroom first. The PAUSE frames themselves are in `pause.rs`.

use crate::buffer::Pool;
use crate::config::{Framing, PfcConfig, Xoff};
use crate::ids::PortId;
use crate::peak::{Level, Peak};
use crate::topology::LinkProps;
use units::{Bytes, Time};

/// Memory held for one ingress port and class.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Group {
    /// All memory held, headroom included.
    pub held: u64,
    /// The part of it that is headroom.
    pub headroom: u64,
    /// The peer has been asked to pause and not yet to go on.
    pub xoff: bool,
    pub held_max: Peak,
    pub headroom_max: Peak,
}

/// The ingress side of a switch.
#[derive(Debug)]
pub(crate) struct Pfc {
    pub config: PfcConfig,
    /// Index of the switch's pool.
    pub pool: u32,
    /// The switch's first port.
    pub first: u32,
    /// The next poll of the watchdog; zero when none is asked for.
    pub poll_at: Time,
    groups: Vec<Group>,
    headroom: u64,
    /// Headroom that nobody holds.
    headroom_left: u64,
    headroom_max: Peak,
}

impl Pfc {
    pub(crate) fn new(config: PfcConfig, pool: u32, first: u32, ports: u32) -> Pfc {
        let headroom = config.headroom_total(ports).get();
        Pfc {
            headroom,
            headroom_left: headroom,
            headroom_max: Peak::default(),
            groups: vec![Group::default(); ports as usize * 8],
            poll_at: Time::ZERO,
            config,
            pool,
            first,
        }
    }

    /// Whether packets of `class` are not to be lost.
    pub(crate) fn covers(&self, class: u8) -> bool {
        self.config.covers(class)
    }

    /// The switch's ports.
    pub(crate) fn ports(&self) -> impl Iterator<Item = PortId> + use<> {
        (self.first..self.first + self.groups.len() as u32 / 8).map(PortId)
    }

    /// What has come in by the switch's port `own`.
    pub(crate) fn group(&self, own: PortId, class: u8) -> &Group {
        &self.groups[self.slot(own, class)]
    }

    /// The switch's headroom, and how much of it is in use.
    pub(crate) fn headroom(&self) -> (u64, Level) {
        (self.headroom, self.headroom_max.level(self.headroom - self.headroom_left))
    }

    /// Begins a new interval for the watermark of all headroom.
    pub(crate) fn restart_headroom_watermark(&mut self) {
        self.headroom_max.restart(self.headroom - self.headroom_left);
    }

    /// Begins a new interval for the watermarks of the groups of the switch's port `own`.
    pub(crate) fn restart_watermarks(&mut self, own: PortId) {
        let first = self.slot(own, 0);
        for group in &mut self.groups[first..first + 8] {
            group.held_max.restart(group.held);
            group.headroom_max.restart(group.headroom);
        }
    }

    fn slot(&self, own: PortId, class: u8) -> usize {
        (own.0 - self.first) as usize * 8 + usize::from(class)
    }

    /// Takes `cells` for a packet that came in by `own`: whether there was room, and whether the peer is to
    /// pause from now on. The packet that goes over the threshold is the first in the headroom.
    pub(crate) fn take(&mut self, own: PortId, class: u8, cells: u64, pool: &mut Pool) -> (bool, bool) {
        let slot = self.slot(own, class);
        let group = &mut self.groups[slot];
        let below = !group.xoff && pool.take_below(&self.config.xoff, group.held, cells);
        let room =
            below || (group.headroom + cells <= self.config.headroom.get() && cells <= self.headroom_left);
        // A port that holds nothing could never say that the peer may go on.
        let begins = !below && !group.xoff && (room || group.held > 0);
        group.xoff |= begins;
        if !room {
            return (false, begins);
        }
        if !below {
            group.headroom += cells;
            self.headroom_left -= cells;
            group.headroom_max.note(group.headroom);
            self.headroom_max.note(self.headroom - self.headroom_left);
        }
        group.held += cells;
        group.held_max.note(group.held);
        (true, begins)
    }

    /// A packet of `cells` goes through without waiting: its memory is taken and given back at once. False,
    /// with nothing done, when the peer would have to know of it, or has been asked to pause.
    pub(crate) fn pass(&mut self, own: PortId, class: u8, cells: u64, pool: &Pool) -> bool {
        let slot = self.slot(own, class);
        let group = &mut self.groups[slot];
        let passes = !group.xoff && pool.is_below(&self.config.xoff, group.held, cells);
        if passes {
            group.held_max.note(group.held + cells);
        }
        passes
    }

    /// Gives back `cells` of a packet that came in by `own`; whether the peer may go on from now on.
    pub(crate) fn give(&mut self, own: PortId, class: u8, cells: u64, pool: &mut Pool) -> bool {
        let slot = self.slot(own, class);
        let group = &mut self.groups[slot];
        let from_headroom = group.headroom.min(cells);
        group.headroom -= from_headroom;
        self.headroom_left += from_headroom;
        let rest = cells - from_headroom;
        pool.give(group.held - group.headroom - from_headroom, rest);
        group.held -= cells;
        // All headroom is free again when the peer goes on, or the next XOFF could come too late.
        let xon =
            group.headroom == 0 && group.held <= self.config.xon.get().min(pool.limit(&self.config.xoff));
        let ends = group.xoff && xon;
        group.xoff &= !ends;
        ends
    }
}

impl PfcConfig {
    /// Whether packets of `class` are not to be lost.
    pub fn covers(&self, class: u8) -> bool {
        self.classes & (1 << class) != 0
    }

    /// Memory set aside as headroom on a switch with so many ports.
    pub fn headroom_total(&self, ports: u32) -> Bytes {
        let groups = u64::from(ports) * u64::from(self.classes.count_ones());
        self.headroom_pool.unwrap_or(Bytes::new(self.headroom.get().saturating_mul(groups)))
    }
}

/// The headroom that suffices for packets that come by the link `from_peer`, in bytes of memory given in
/// multiples of `cell`; `to_peer` is the way that PAUSE frames take.
///
/// After the packet that goes over the threshold there comes what the peer sends until it has stopped: while
/// a packet on the way to it ends, the PAUSE frame is sent, both propagation delays pass, and the packet that
/// it was sending ends. `2 × rate × delay + 3 MTU + 1 PAUSE frame` where both directions are alike.
pub fn headroom_needed(from_peer: LinkProps, to_peer: LinkProps, framing: Framing, cell: Bytes) -> Bytes {
    let packet = |link: LinkProps| u64::from(framing.wire_bytes(link.mtu.min(65_535) as u16));
    let pause = u64::from(framing.wire_bytes(0));
    let until_paused = to_peer.rate.time_for(Bytes::new(packet(to_peer) + pause)) + to_peer.delay;
    let time = (until_paused + from_peer.delay).as_ps();
    let flying = (u128::from(from_peer.rate.as_bps()) * u128::from(time)).div_ceil(8_000_000_000_000);
    let wire = flying as u64 + 2 * packet(from_peer);
    Bytes::new(in_memory(wire, u64::from(from_peer.mtu), framing, cell.get().max(1)))
}

/// The most memory that packets of up to `mtu` take that fill `wire` bytes of a link.
///
/// Worst is a packet that needs one cell more by a byte. Up to `min_payload` the wire costs the same, so the
/// most cells are worst; above it `(k + 1) cell / (k cell + 1 + overhead)` only rises or only falls with `k`,
/// so one of its ends is.
fn in_memory(wire: u64, mtu: u64, framing: Framing, cell: u64) -> u64 {
    let mtu = mtu.clamp(1, 65_535);
    let full = (mtu - 1) / cell;
    let padded = u64::from(framing.min_payload).saturating_sub(1) / cell;
    let memory = |cells: u64| {
        let bytes = cells.min(full) * cell + 1;
        let on_wire = u64::from(framing.wire_bytes(bytes as u16));
        (wire * bytes.next_multiple_of(cell)).div_ceil(on_wire)
    };
    [padded, padded + 1, full].map(memory).into_iter().fold(0, u64::max)
}

impl Xoff {
    /// The threshold while `free` bytes of the shared memory are free.
    pub(crate) fn threshold(&self, free: u64) -> u64 {
        match self {
            Xoff::Static { limit } => limit.get(),
            Xoff::Dynamic { alpha } => (alpha * free as f64) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pfc(xoff: Xoff) -> (Pfc, Pool) {
        let config = PfcConfig {
            classes: 1 << 3,
            xoff,
            xon: Bytes::new(2_000),
            headroom: Bytes::new(3_000),
            ..PfcConfig::default()
        };
        let pool = Pool::new(Bytes::new(20_000), 1.0, Bytes::new(0), Bytes::new(1), 4);
        (Pfc::new(config, 0, 0, 2), pool)
    }

    #[test]
    fn xoff_above_the_threshold_xon_below_the_other() {
        let (mut pfc, mut pool) = pfc(Xoff::Static { limit: Bytes::new(5_000) });
        let port = PortId(1);
        for _ in 0..5 {
            assert_eq!(pfc.take(port, 3, 1_000, &mut pool), (true, false));
        }
        assert_eq!(pfc.take(port, 3, 1_000, &mut pool), (true, true), "5 kB are the threshold");
        assert_eq!(pfc.take(port, 3, 1_000, &mut pool), (true, false), "said once");
        assert_eq!((pfc.group(port, 3).headroom, pool.used()), (2_000, 5_000));
        // Headroom is free first; nothing is said until 2 kB are left.
        for held in [6_000, 5_000, 4_000, 3_000] {
            assert!(!pfc.give(port, 3, 1_000, &mut pool));
            assert_eq!(pfc.group(port, 3).held, held);
        }
        assert!(pfc.give(port, 3, 1_000, &mut pool));
        assert!(!pfc.give(port, 3, 1_000, &mut pool));
    }

    #[test]
    fn headroom_is_each_groups_own_and_ends() {
        let (mut pfc, mut pool) = pfc(Xoff::Static { limit: Bytes::new(0) });
        for port in [PortId(0), PortId(1)] {
            assert_eq!(pfc.take(port, 3, 1_500, &mut pool), (true, true));
            assert_eq!(pfc.take(port, 3, 1_500, &mut pool), (true, false));
            assert_eq!(pfc.take(port, 3, 1, &mut pool), (false, false));
        }
        assert_eq!(pool.used(), 0);
    }

    #[test]
    fn a_dynamic_threshold_falls_with_the_memory_that_is_free() {
        // alpha 1: half of the memory for one group (Choudhury & Hahne).
        let (mut pfc, mut pool) = pfc(Xoff::Dynamic { alpha: 1.0 });
        let mut held = 0;
        while pfc.take(PortId(0), 3, 100, &mut pool) == (true, false) {
            held += 100;
        }
        assert_eq!(held, 10_000);
    }

    #[test]
    fn the_headroom_of_a_link_is_what_the_formula_says() {
        let link = LinkProps { rate: units::Rate::from_gbps(100), delay: Time::from_ns(1_500), mtu: 1500 };
        let bytes = headroom_needed(link, link, Framing::ETHERNET, Bytes::new(1));
        // 2 × 100 Gb/s × 1.5 µs + 3 × 1538 B + 84 B on the wire; less in memory, which holds no framing.
        let wire = 2 * 18_750 + 3 * 1_538 + 84;
        assert!((wire - 2_000..=wire).contains(&bytes.get()), "{bytes} of {wire}");
    }

    #[test]
    fn no_size_of_packets_takes_more_memory_than_the_worst() {
        let wire = 1_000_000u64;
        for (overhead, min_payload) in [(38, 46), (0, 0), (38, 0), (500, 46), (0, 1_400)] {
            let framing = Framing { overhead, min_payload };
            for (mtu, cell) in
                [(1_500, 1), (1_500, 208), (1_500, 1_500), (1_500, 4_096), (9_000, 256), (40, 64)]
            {
                let memory = |bytes: u64| {
                    (wire * bytes.next_multiple_of(cell))
                        .div_ceil(u64::from(framing.wire_bytes(bytes as u16)))
                };
                let worst = (1..=mtu).map(memory).max();
                assert_eq!(Some(in_memory(wire, mtu, framing, cell)), worst, "{framing:?} {mtu} {cell}");
            }
        }
    }
}
